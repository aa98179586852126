"""``fused_ssim`` on splatcore's kernels."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from . import _checks
from ._native import call

__all__ = ["fused_ssim"]

REACH = 5  # pixels from the window's centre to its edge


def fused_ssim(img1: Tensor, img2: Tensor, padding: str = "same", train: bool = True) -> Tensor:
    """The mean structural similarity of two batches of images, ``[B, C, H, W]``: a scalar.

    Wang et al. 2004: a window of 11x11 pixels, sigma 1.5, constants 0.01^2 and 0.03^2. ``padding``
    "same": outside of the image is zero; "valid": only windows inside the image, which is then 11
    pixels or more a side. The gradient is that of ``img1``, if ``train``; ``img2`` must not require
    one.
    """
    images = {"img1": img1, "img2": img2}
    _checks.same_kind(images)
    _checks.last("img1", img1, -1, -1, -1, -1)
    _checks.shape("img1", img1, *img1.shape[-4:])
    _checks.shape("img2", img2, *img1.shape)
    _checks.choice("padding", padding, ("same", "valid"))
    _checks.no_gradient({"img2": img2}, "the gradient is that of img1; exchange the two")
    if img1.numel() == 0:
        raise ValueError(f"img1 must not be empty, found shape {list(img1.shape)}")
    if padding == "valid" and min(img1.shape[-2:]) <= 2 * REACH:
        raise ValueError(f"img1 must have 11x11 pixels or more, found {list(img1.shape[-2:])}")
    similarity: Tensor = _Similarity.apply(img1, img2, padding, train)
    return similarity.mean()


class _Similarity(torch.autograd.Function):
    """The similarity of each window."""

    @staticmethod
    def forward(ctx: Any, img1: Tensor, img2: Tensor, padding: str, train: bool) -> Tensor:
        img1, img2 = img1.contiguous(), img2.contiguous()
        b, c, h, w = img1.shape
        cut = 2 * REACH if padding == "valid" else 0
        found = img1.new_zeros(b, c, h - cut, w - cut)
        partials = img1.new_zeros(3, b, c, h, w) if train and ctx.needs_input_grad[0] else None
        call("ssim_fwd", img1.device, img1, img2, padding, found, partials)
        ctx.save_for_backward(img1, img2, partials)
        ctx.padding = padding
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, v_map: Tensor) -> tuple[Optional[Tensor], ...]:
        img1, img2, partials = ctx.saved_tensors
        if partials is None:
            raise RuntimeError("fused_ssim: train=False keeps nothing for a gradient")
        v_img1 = torch.zeros_like(img1)
        v_map = v_map.contiguous()
        call("ssim_bwd", img1.device, img1, img2, ctx.padding, partials, v_map, v_img1)
        return v_img1, None, None, None
