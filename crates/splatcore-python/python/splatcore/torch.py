"""Differentiable rendering of torch tensors in the processor's memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.function import once_differentiable

from . import Camera, Renderer, Scene

__all__ = ["render"]


def render(
    means: torch.Tensor,
    scales: torch.Tensor,
    rotations: torch.Tensor,
    opacities: torch.Tensor,
    sh: torch.Tensor,
    camera: Camera,
    *,
    background: tuple[float, float, float] = (0.0, 0.0, 0.0),
    sh_degree: int | None = None,
    antialiased: bool = False,
    pipeline: str = "auto",
    threads: int | None = None,
) -> torch.Tensor:
    """Renders Gaussians to an image, float32 ``[height, width, 3]``.

    The tensors are those of ``splatcore.Scene``: float32 on the CPU, ``means`` ``[n, 3]``,
    ``scales`` ``[n, 3]`` as logarithms, ``rotations`` ``[n, 4]`` as quaternions w, x, y, z of any
    length but zero, ``opacities`` ``[n]`` before the sigmoid, ``sh`` ``[n, k, 3]``. They are copied.
    Gradients flow to all five, once: not through gradients. Camera and background have none.

    Raises TypeError and ValueError for tensors of another kind, shape or device.
    """
    tensors = {
        "means": means,
        "scales": scales,
        "rotations": rotations,
        "opacities": opacities,
        "sh": sh,
    }
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} must be a torch.Tensor, found {type(tensor).__name__}")
        if tensor.dtype != torch.float32:
            raise TypeError(f"{name} must be torch.float32, found {tensor.dtype}; use .float()")
        if tensor.device.type != "cpu":
            raise ValueError(f"{name} must be on the CPU, found {tensor.device}; use .cpu()")
    options: dict[str, Any] = {
        "background": background,
        "sh_degree": sh_degree,
        "antialiased": antialiased,
        "pipeline": pipeline,
    }
    image: torch.Tensor = _Render.apply(*tensors.values(), camera, options, threads)
    return image


class _Render(torch.autograd.Function):
    """The image of five tensors, and their gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        means: torch.Tensor,
        scales: torch.Tensor,
        rotations: torch.Tensor,
        opacities: torch.Tensor,
        sh: torch.Tensor,
        camera: Camera,
        options: dict[str, Any],
        threads: int | None,
    ) -> torch.Tensor:
        tensors = (means, scales, rotations, opacities, sh)
        scene = Scene(*(tensor.detach().numpy() for tensor in tensors))
        renderer = Renderer(scene, "cpu", threads=threads)
        ctx.rendered = (renderer, camera, options)
        return torch.from_numpy(renderer.render(camera, **options).image)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, image_gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        renderer, camera, options = ctx.rendered
        found = renderer.gradients(camera, image_gradient.contiguous().numpy(), **options)
        arrays = (found.means, found.scales, found.rotations, found.opacities, found.sh)
        gradients = [
            torch.from_numpy(array) if needed else None
            for array, needed in zip(arrays, ctx.needs_input_grad)
        ]
        return (*gradients, None, None, None)
