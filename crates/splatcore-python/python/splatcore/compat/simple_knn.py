"""``simple_knn`` on splatcore's kernels: ``from simple_knn._C import distCUDA2``."""

from __future__ import annotations

import torch
from torch import Tensor

from . import _checks
from ._native import call

__all__ = ["distCUDA2"]


@torch.no_grad()
def distCUDA2(points: Tensor) -> Tensor:
    """Mean squared distance of each point to its three nearest others, ``[N]``.

    ``points`` ``[N, 3]``, on the CPU too. With fewer than 4 points the mean is over those there
    are; a lone point gets 0.
    """
    _checks.same_kind({"points": points})
    _checks.last("points", points, -1, 3)
    _checks.shape("points", points, points.shape[0], 3)
    _checks.finite({"points": points}, None)
    points = points.contiguous()
    found = points.new_zeros(points.shape[0])
    if points.shape[0] > 0:
        call("nearest_neighbours", points.device, points, found)
    return found
