"""Checks of arguments. Each error names the argument, what was expected and what was found."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import Any

import torch

FLOATS = (torch.float32, torch.float64)
# What native functions take for a size.
MAX = 2**31 - 1


def same_kind(
    named: Mapping[str, torch.Tensor | None], optional: Collection[str] = frozenset()
) -> None:
    """Demands tensors of one float type on one device, those of the first one. Those that are
    ``optional`` may be None.

    Raises TypeError for other objects and types, ValueError for other devices.
    """
    first: str | None = None
    for name, tensor in named.items():
        if tensor is None and name in optional:
            continue
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, found {type(tensor).__name__}")
        if tensor.layout != torch.strided:
            raise TypeError(f"{name} must be a dense tensor, found {tensor.layout}")
        if first is None:
            _kind(name, tensor)
            first, dtype, device = name, tensor.dtype, tensor.device
        elif tensor.dtype != dtype:
            raise TypeError(f"{name} must be {dtype} as {first} is, found {tensor.dtype}")
        elif tensor.device != device:
            raise ValueError(f"{name} must be on {device} as {first} is, found {tensor.device}")


def _kind(name: str, tensor: torch.Tensor) -> None:
    if tensor.dtype not in FLOATS:
        raise TypeError(f"{name} must be torch.float32 or float64, found {tensor.dtype}")
    if tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(f"{name} must be on the CPU or a CUDA device, found {tensor.device}")
    if tensor.device.type == "cuda" and tensor.dtype != torch.float32:
        raise TypeError(f"{name} must be torch.float32 on a card, found {tensor.dtype}")


def integer(name: str, tensor: torch.Tensor, dtype: torch.dtype, device: torch.device) -> None:
    """Demands a tensor of a type other than float, on the device of the others."""
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, found {type(tensor).__name__}")
    if tensor.dtype != dtype:
        raise TypeError(f"{name} must be {dtype}, found {tensor.dtype}")
    if tensor.device != device:
        raise ValueError(
            f"{name} must be on {device} as the other tensors are, found {tensor.device}"
        )


def shape(name: str, tensor: torch.Tensor, *expected: int) -> None:
    """Demands a shape. Raises ValueError."""
    if tuple(tensor.shape) != expected:
        raise ValueError(f"{name} must have shape {list(expected)}, found {list(tensor.shape)}")


def last(name: str, tensor: torch.Tensor, *expected: int) -> None:
    """Demands the last dimensions, after any number of others; -1 is any size."""
    found = tuple(tensor.shape)[-len(expected) :] if expected else ()
    fits = len(found) == len(expected) and all(e in (-1, f) for e, f in zip(expected, found))
    if not fits:
        wanted = ", ".join("n" if size < 0 else str(size) for size in expected)
        raise ValueError(f"{name} must have shape [..., {wanted}], found {list(tensor.shape)}")


def size(name: str, value: Any) -> int:
    """An image's side in pixels. Raises TypeError and ValueError."""
    try:
        number = value.__index__()
    except AttributeError:
        raise TypeError(f"{name} must be an int, found {type(value).__name__}") from None
    if number < 1:
        raise ValueError(f"{name} must be positive, found {number}")
    if number > MAX:
        raise ValueError(f"{name} must be {MAX} at most, found {number}")
    return int(number)


def number(name: str, value: Any) -> float:
    """A number that is not NaN. Raises TypeError and ValueError."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"{name} must be a number, found {value!r}") from None
    if math.isnan(found):
        raise ValueError(f"{name} must be a number, found {found}")
    return found


def choice(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """One of a few words. Raises ValueError."""
    if value not in allowed:
        expected = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} must be one of {expected}, found {value!r}")
    return str(value)


def finite(named: Mapping[str, torch.Tensor | None], wanted: bool | None) -> None:
    """Refuses NaN and infinity with ValueError; ``wanted`` None: on the CPU only."""
    for name, tensor in named.items():
        if tensor is None or not (tensor.device.type == "cpu" if wanted is None else wanted):
            continue
        tensor = tensor.detach()
        if tensor.numel() > 0 and tensor.data_ptr() == 0:
            raise ValueError(f"{name} must have memory, found a tensor whose memory was freed")
        # A sum is finite if all are, unless it overflows: then every value is looked at.
        if not bool(torch.isfinite(tensor.sum())) and not bool(torch.isfinite(tensor).all()):
            place = (~torch.isfinite(tensor)).nonzero()[0].tolist()
            value = tensor[tuple(place)].item()
            raise ValueError(f"{name} must be finite, found {value} at {place}")


def no_gradient(named: Mapping[str, torch.Tensor], why: str) -> None:
    """Refuses tensors that require a gradient which nothing computes."""
    for name, tensor in named.items():
        if tensor.requires_grad:
            raise ValueError(f"{name} requires a gradient, and has none: {why}")


def contiguous(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """A copy on the same device if the tensor's memory has gaps, else the tensor."""
    return None if tensor is None else tensor.contiguous()
