"""The native functions with results allocated by torch and with gsplat's shapes.

``...`` are batch dimensions, any number of them. Tensors are contiguous. Nothing here has a
gradient: ``_functions`` does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple, Optional, Union

import torch
from torch import Tensor

from .._splatcore.tensors import Cameras as Lenses
from .._splatcore.tensors import Totals
from ._native import call

MaybeTensor = Optional[Tensor]
CAMERA_MODELS = ("pinhole", "ortho", "fisheye")
# A name of these, or cameras through which the unscented transform projects.
Model = Union[str, Lenses]


class Camera(NamedTuple):
    """What a projection takes besides tensors: pixels, world units, names."""

    width: int
    height: int
    eps2d: float
    near_plane: float
    far_plane: float
    radius_clip: float
    model: Model
    radius_rule: str


class Projected(NamedTuple):
    """Splats in the images of C cameras. A splat that is not drawn has radii 0 and zeros."""

    radii: Tensor  # int32 [..., C, N, 2]
    means2d: Tensor  # [..., C, N, 2], pixels
    depths: Tensor  # [..., C, N]
    conics: Tensor  # [..., C, N, 3]: xx, xy, yy of the inverse covariance
    compensations: MaybeTensor  # [..., C, N]


class Gaussians(NamedTuple):
    """Either covars or quats and scales are given."""

    means: Tensor  # [..., N, 3]
    covars: MaybeTensor  # [..., N, 6], upper triangles
    quats: MaybeTensor  # [..., N, 4], w first
    scales: MaybeTensor  # [..., N, 3]


class Cameras(NamedTuple):
    viewmats: Tensor  # [..., C, 4, 4], world to camera
    Ks: Tensor  # [..., C, 3, 3], pixels


class Counted:
    """What a projection finds besides splats, if it is asked to: how many tiles each touches, and
    how many splats are drawn."""

    __slots__ = ("_totals", "counts", "exact_tiles", "order", "ordered", "tile_size")

    def __init__(self, tile_size: int, exact_tiles: bool, ordered: bool) -> None:
        self.tile_size = tile_size
        self.exact_tiles = exact_tiles
        # Splats are drawn as they are projected: a card sorts them by depth while Python goes on.
        self.ordered = ordered
        self.counts: MaybeTensor = None  # int32 [..., C, N]
        self.order: MaybeTensor = None  # int32 [2, C * N]
        self._totals: Union[tuple[int, int], Totals] = (0, 0)

    def found(self, counts: Tensor, totals: Union[tuple[int, int], Totals]) -> None:
        """Takes the counts, their sum and the number of drawn splats, which may be on their way."""
        self.counts, self._totals = counts, totals

    def totals(self) -> tuple[int, int]:
        """The sum of the counts, and the number of splats whose radii are positive. On a card the
        only wait in a forward pass: the later they are asked for, the more work lies in front of
        the card meanwhile."""
        if not isinstance(self._totals, tuple):
            self._totals = self._totals.wait()
        return self._totals


def project_forward(
    gaussians: Gaussians,
    opacities: MaybeTensor,
    cameras: Cameras,
    camera: Camera,
    compensate: bool,
    counted: Optional[Counted] = None,
) -> Projected:
    """EWA projection (Zwicker et al. 2001, Kerbl et al. 2023) of N Gaussians into C cameras, or the
    unscented one (Wu et al. 2025)."""
    means = gaussians.means
    *batch, n, _ = means.shape
    shape = (*batch, cameras.viewmats.shape[-3], n)
    new = means.new_empty
    # torch reads sides apart in two thirds of the time that it takes for a tuple.
    radii = new(*shape, 2, dtype=torch.int32)
    means2d, depths, conics = new(*shape, 2), new(*shape), new(*shape, 3)
    compensations = new(*shape) if compensate else None
    given = (*gaussians, opacities, *cameras, *camera)
    splats = (radii, means2d, depths, conics, compensations)
    if counted is not None:
        counts = new(*shape, dtype=torch.int32)
        totals: Union[tuple[int, int], Totals] = (0, 0)
        if radii.numel() > 0:
            tiles = (counted.tile_size, counted.exact_tiles)
            if counted.ordered and means.is_cuda:
                counted.order = new(2, counts.numel(), dtype=torch.int32)
            written = (*splats, counts, counted.order)
            totals = call("splats_fwd", means.device, *given, *tiles, *written)
        counted.found(counts, totals)
    elif radii.numel() > 0:
        call("projection_fwd", means.device, *given, *splats)
    return Projected(radii, means2d, depths, conics, compensations)


def list_drawn(radii: Tensor, drawn: int) -> tuple[Tensor, Tensor]:
    """The places, int64 ``[drawn]`` in ascending order, of splats that are drawn, of radii ``[...,
    N, 2]``, and their images."""
    new = radii.new_empty
    rows, images = new(drawn, dtype=torch.int64), new(drawn, dtype=torch.int64)
    if drawn > 0:
        call("list_drawn", radii.device, radii, radii.shape[-2], rows, images)
    return rows, images


def gather_rows(
    rows: Tensor, leading: int, floats: Sequence[Tensor], ints: Sequence[Tensor]
) -> tuple[list[Tensor], list[Tensor]]:
    """Rows int64 ``[n]`` of tensors, whose first ``leading`` dimensions are counted as one."""
    n, count = rows.shape[0], math.prod(floats[0].shape[:leading])
    packed: list[Tensor] = []
    arguments: list[Tensor] = []
    for part in (*floats, *ints):
        packed.append(part.new_empty(n, *part.shape[leading:]))
        arguments += (part.contiguous(), packed[-1])
    if n > 0:
        call("gather_rows", rows.device, rows, count, len(floats), *arguments)
    return packed[: len(floats)], packed[len(floats) :]


def scatter_rows(
    rows: Tensor, shape: tuple[int, ...], floats: Sequence[Tensor], ints: Sequence[Tensor] = ()
) -> list[Tensor]:
    """Tensors ``[*shape, ...]`` with contiguous packed rows ``[n, ...]`` at their places, and zeros.

    First those of floats, then those of int32."""
    packed = (*floats, *ints)
    found = [part.new_empty(*shape, *part.shape[1:]) for part in packed]
    if packed and math.prod(shape) > 0:
        pairs = [tensor for pair in zip(packed, found) for tensor in pair]
        call("scatter_rows", rows.device, rows, math.prod(shape), len(floats), *pairs)
    return found


def running_sums(counts: Tensor) -> tuple[Tensor, int]:
    """Inclusive cumulative sums of all counts, int64, and the last of them. Waits for a card."""
    ends = counts.view(-1).cumsum(0, dtype=torch.int64)
    return ends, int(ends[-1]) if ends.numel() > 0 else 0


class ProjectionGradients(NamedTuple):
    """Of the tensors of those names, in their shapes; None where it is not wanted."""

    means: Tensor
    covars: MaybeTensor
    quats: MaybeTensor
    scales: MaybeTensor
    viewmats: MaybeTensor
    Ks: MaybeTensor


def project_backward(
    gaussians: Gaussians,
    cameras: Cameras,
    camera: tuple[int, int, float, Model],
    projected: tuple[Tensor, Tensor, MaybeTensor],
    upstream: tuple[Tensor, MaybeTensor, Tensor, MaybeTensor],
    wanted: tuple[bool, bool],
) -> ProjectionGradients:
    """Gradients of a projection.

    ``camera``: width, height, eps2d, model. ``projected``: radii, conics, compensations.
    ``upstream``: gradients of means2d, depths, conics, compensations. ``wanted``: whether those of
    viewmats and Ks are.
    """
    radii, conics, compensations = projected
    new = torch.empty_like if radii.numel() > 0 else torch.zeros_like
    parts = [None if part is None else new(part) for part in gaussians]
    parts += [new(part) if want else None for part, want in zip(cameras, wanted)]
    if radii.numel() > 0:
        call(
            "projection_bwd",
            radii.device,
            *gaussians,
            *cameras,
            *camera,
            radii,
            conics,
            compensations,
            *upstream,
            *parts,
        )
    return ProjectionGradients(*parts)  # type: ignore[arg-type]


def covariances_forward(
    quats: Tensor, scales: Tensor, covar: bool, preci: bool, triu: bool
) -> tuple[MaybeTensor, MaybeTensor]:
    """Covariances and precisions of ``[..., 4]`` quaternions and ``[..., 3]`` scales."""
    shape = tuple(quats.shape[:-1]) + ((6,) if triu else (3, 3))
    covars = quats.new_empty(shape) if covar else None
    precis = quats.new_empty(shape) if preci else None
    if quats.numel() > 0 and (covar or preci):
        call("quat_scale_to_covar_preci_fwd", quats.device, quats, scales, triu, covars, precis)
    return covars, precis


def covariances_backward(
    quats: Tensor, scales: Tensor, triu: bool, v_covars: MaybeTensor, v_precis: MaybeTensor
) -> tuple[Tensor, Tensor]:
    """Gradients of quats and scales."""
    v_quats, v_scales = torch.zeros_like(quats), torch.zeros_like(scales)
    if quats.numel() > 0 and (v_covars is not None or v_precis is not None):
        upstream = (v_covars, v_precis)
        call(
            "quat_scale_to_covar_preci_bwd",
            quats.device,
            quats,
            scales,
            triu,
            *upstream,
            v_quats,
            v_scales,
        )
    return v_quats, v_scales


def harmonics_forward(degree: int, dirs: Tensor, coeffs: Tensor, masks: MaybeTensor) -> Tensor:
    """Sums of harmonics up to a degree; ``[..., D]`` for ``[..., K, D]`` coefficients."""
    colors = coeffs.new_empty(*dirs.shape[:-1], coeffs.shape[-1])
    if colors.numel() > 0:
        call("spherical_harmonics_fwd", dirs.device, degree, dirs, coeffs, masks, colors)
    return colors


def harmonics_backward(
    degree: int,
    dirs: Tensor,
    coeffs: Tensor,
    masks: MaybeTensor,
    v_colors: Tensor,
    want_dirs: bool,
    colors: MaybeTensor = None,
) -> tuple[Tensor, MaybeTensor]:
    """Gradients of coeffs and, if wanted, of dirs; ``colors`` if ``view_colors`` made them."""
    new = torch.empty_like if v_colors.numel() > 0 else torch.zeros_like
    v_coeffs, v_dirs = new(coeffs), new(dirs) if want_dirs else None
    if v_colors.numel() > 0:
        inputs = (degree, dirs, coeffs, masks, v_colors)
        call("spherical_harmonics_bwd", dirs.device, *inputs, v_coeffs, v_dirs, colors)
    return v_coeffs, v_dirs


def view_colors(
    degree: int, means: Tensor, viewmats: Tensor, radii: MaybeTensor, coeffs: Tensor
) -> tuple[Tensor, Tensor, MaybeTensor]:
    """Colours ``[..., C, N, D]`` of ``[..., C, N, K, D]`` harmonics, max(sum + 1/2, 0).

    With them their directions, means less the centres of cameras, ``[..., C, N, 3]``, and whether
    radii are positive, bool.
    """
    *batch, n, _ = means.shape
    shape = (*batch, viewmats.shape[-3], n)
    new = means.new_empty
    dirs, colors = new(*shape, 3), new(*shape, coeffs.shape[-1])
    masks = None if radii is None else new(*shape, dtype=torch.bool)
    if colors.numel() > 0:
        inputs = (degree, means, viewmats, radii, coeffs)
        call("view_colors_fwd", means.device, *inputs, dirs, masks, colors)
    return colors, dirs, masks
