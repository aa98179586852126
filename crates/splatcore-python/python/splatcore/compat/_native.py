"""The native functions, called on the tensors' own device and stream."""

from __future__ import annotations

from typing import Any

import torch

from .._splatcore import tensors as _tensors

# Quicker than to make a torch.cuda.Stream, which has the same number; not in every version.
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


def stream_of(device: torch.device) -> int:
    """The number of a CUDA device's current stream."""
    if _raw_stream is not None and device.index is not None:
        return int(_raw_stream(device.index))
    return int(torch.cuda.current_stream(device).cuda_stream)


def call(name: str, device: torch.device, *arguments: Any) -> Any:
    """Calls ``splatcore._splatcore.tensors.name``, which writes its results into arguments.

    Leading dimensions are folded there. What is written must not require a gradient.
    """
    function = getattr(_tensors, name)
    if device.type == "cuda":
        return function(*arguments, stream=stream_of(device))
    return function(*arguments)
