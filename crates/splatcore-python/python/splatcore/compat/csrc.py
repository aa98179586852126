"""gsplat 1.5.3's native module on splatcore's kernels: ``gsplat.csrc``.

gsplat's own Python (``BUILD_NO_CUDA=1 pip install gsplat==1.5.3``, or its wheel) runs on this
module, strategies and optimisers included: ``splatcore.install("gsplat.csrc")``. The functions take
gsplat's positional arguments, whose shapes are those of its ``cuda/include/Ops.h``. The constants
are ``splatcore.compat.gsplat.settings``. 2DGS and the unscented transform are not there.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import Any, NoReturn, Optional

import torch
from torch import Tensor

from . import _ops, _tiles
from ._settings import gsplat as settings
from .gsplat import _pieces, _projection

MaybeTensor = Optional[Tensor]


class CameraModelType(IntEnum):
    PINHOLE = 0
    ORTHO = 1
    FISHEYE = 2
    FTHETA = 3


PINHOLE, ORTHO, FISHEYE, FTHETA = CameraModelType

_MISSING = {
    "null",
    "projection_2dgs_fused_fwd",
    "projection_2dgs_fused_bwd",
    "projection_2dgs_packed_fwd",
    "projection_2dgs_packed_bwd",
    "rasterize_to_pixels_2dgs_fwd",
    "rasterize_to_pixels_2dgs_bwd",
    "rasterize_to_indices_2dgs",
    "projection_ut_3dgs_fused",
    "rasterize_to_pixels_from_world_3dgs_fwd",
    "rasterize_to_pixels_from_world_3dgs_bwd",
    "ShutterType",
    "UnscentedTransformParameters",
    "FThetaPolynomialType",
    "FThetaCameraDistortionParameters",
}


def __getattr__(name: str) -> NoReturn:
    if name in _MISSING:
        raise NotImplementedError(f"splatcore.compat.csrc has no {name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _model(camera_model: Any) -> str:
    return str(_projection.camera_model_of(CameraModelType(int(camera_model)).name.lower()))


def quat_scale_to_covar_preci_fwd(
    quats: Tensor, scales: Tensor, compute_covar: bool, compute_preci: bool, triu: bool
) -> tuple[MaybeTensor, MaybeTensor]:
    """Covariances and precisions; see ``gsplat.quat_scale_to_covar_preci``."""
    return _ops.covariances_forward(quats, scales, compute_covar, compute_preci, triu)


def quat_scale_to_covar_preci_bwd(
    quats: Tensor, scales: Tensor, triu: bool, v_covars: MaybeTensor, v_precis: MaybeTensor
) -> tuple[Tensor, Tensor]:
    """Gradients of quats and scales."""
    return _ops.covariances_backward(quats, scales, triu, v_covars, v_precis)


def spherical_harmonics_fwd(
    degrees_to_use: int, dirs: Tensor, coeffs: Tensor, masks: MaybeTensor
) -> Tensor:
    """Sums of harmonics ``[..., 3]``."""
    return _ops.harmonics_forward(degrees_to_use, dirs, coeffs, masks)


def spherical_harmonics_bwd(
    K: int,
    degrees_to_use: int,
    dirs: Tensor,
    coeffs: Tensor,
    masks: MaybeTensor,
    v_colors: Tensor,
    compute_v_dirs: bool,
) -> tuple[Tensor, MaybeTensor]:
    """Gradients of coeffs and dirs."""
    return _ops.harmonics_backward(degrees_to_use, dirs, coeffs, masks, v_colors, compute_v_dirs)


def adam(
    param: Tensor,
    param_grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    valid: MaybeTensor,
    lr: float,
    b1: float,
    b2: float,
    eps: float,
) -> None:
    """One step in place; see ``gsplat.adam``."""
    _pieces.adam(param, param_grad, exp_avg, exp_avg_sq, valid, lr, b1, b2, eps)


def relocation(
    opacities: Tensor, scales: Tensor, ratios: Tensor, binoms: Tensor, n_max: int
) -> tuple[Tensor, Tensor]:
    """Opacities and scales of split Gaussians; see ``gsplat.compute_relocation``."""
    found: tuple[Tensor, Tensor] = _pieces.compute_relocation(
        opacities, scales, ratios.clone(), binoms
    )
    return found


def intersect_tile(
    means2d: Tensor,
    radii: Tensor,
    depths: Tensor,
    image_ids: MaybeTensor,
    gaussian_ids: MaybeTensor,
    I: int,  # noqa: E741
    tile_size: int,
    tile_width: int,
    tile_height: int,
    sort: bool,
    segmented: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Tiles per splat, keys and splats of the pairs."""
    packed = means2d.dim() == 2
    tiles = (tile_size, tile_width, tile_height)
    return _tiles.intersect(means2d, radii, depths, image_ids if packed else None, I, tiles, sort)


def intersect_offset(
    isect_ids: Tensor,
    I: int,  # noqa: E741
    tile_width: int,
    tile_height: int,
) -> Tensor:
    """Where the list of each tile begins."""
    return _tiles.offsets(isect_ids, I, tile_width, tile_height)


def projection_ewa_simple_fwd(
    means: Tensor, covars: Tensor, Ks: Tensor, width: int, height: int, camera_model: Any
) -> tuple[Tensor, Tensor]:
    """Means and covariances in the image."""
    return _pieces.proj(means, covars, Ks, width, height, _model(camera_model))


def projection_ewa_simple_bwd(
    means: Tensor,
    covars: Tensor,
    Ks: Tensor,
    width: int,
    height: int,
    camera_model: Any,
    v_means2d: Tensor,
    v_covars2d: Tensor,
) -> tuple[Tensor, Tensor]:
    """Gradients of means and covars."""
    model = _model(camera_model)
    _, gradients = torch.func.vjp(
        lambda means, covars: _pieces.proj(means, covars, Ks, width, height, model), means, covars
    )
    found: tuple[Tensor, Tensor] = gradients((v_means2d, v_covars2d))
    return found


def projection_ewa_3dgs_fused_fwd(
    means: Tensor,
    covars: MaybeTensor,
    quats: MaybeTensor,
    scales: MaybeTensor,
    opacities: MaybeTensor,
    viewmats: Tensor,
    Ks: Tensor,
    image_width: int,
    image_height: int,
    eps2d: float,
    near_plane: float,
    far_plane: float,
    radius_clip: float,
    calc_compensations: bool,
    camera_model: Any,
) -> tuple[MaybeTensor, ...]:
    """Radii, means2d, depths, conics and compensations."""
    near = near_plane if settings.near_plane is None else settings.near_plane
    camera = _ops.Camera(
        image_width,
        image_height,
        eps2d,
        near,
        far_plane,
        radius_clip,
        _model(camera_model),
        settings.radius_rule,
    )
    gaussians = _ops.Gaussians(means, covars, quats, scales)
    cameras = _ops.Cameras(viewmats, Ks)
    return _ops.project_forward(gaussians, opacities, cameras, camera, calc_compensations)


def projection_ewa_3dgs_fused_bwd(
    means: Tensor,
    covars: MaybeTensor,
    quats: MaybeTensor,
    scales: MaybeTensor,
    viewmats: Tensor,
    Ks: Tensor,
    image_width: int,
    image_height: int,
    eps2d: float,
    camera_model: Any,
    radii: Tensor,
    conics: Tensor,
    compensations: MaybeTensor,
    v_means2d: Tensor,
    v_depths: Tensor,
    v_conics: Tensor,
    v_compensations: MaybeTensor,
    viewmats_requires_grad: bool,
) -> tuple[MaybeTensor, ...]:
    """Gradients of means, covars, quats, scales and viewmats."""
    found = _ops.project_backward(
        _ops.Gaussians(means, covars, quats, scales),
        _ops.Cameras(viewmats, Ks),
        (image_width, image_height, eps2d, _model(camera_model)),
        (radii, conics, compensations),
        (v_means2d, v_depths, v_conics, v_compensations),
        (viewmats_requires_grad, False),
    )
    return found[:5]


def projection_ewa_3dgs_packed_fwd(*arguments: Any) -> tuple[MaybeTensor, ...]:
    """Row ends, batch, camera and Gaussian of the drawn splats, and what the fused one returns.

    The arguments are those of ``projection_ewa_3dgs_fused_fwd``. Drawn splats are found among all.
    """
    radii, *rest = projection_ewa_3dgs_fused_fwd(*arguments)
    assert radii is not None
    *batch, c, n, _ = radii.shape
    rows, images = _projection.rows_of(radii)
    floats = [part for part in rest if part is not None]
    parts, (packed_radii,) = _ops.gather_rows(rows, len(batch) + 2, floats, (radii,))
    compensations = None if rest[-1] is None else parts.pop()
    ids = _projection.ids_of(rows, images, math.prod(batch), c, n)
    packed = (*ids, packed_radii, *parts, compensations)
    ends = radii.all(-1).reshape(-1, n).sum(-1).cumsum(0, dtype=torch.int32)
    return torch.cat([ends.new_zeros(1), ends]), *packed


def projection_ewa_3dgs_packed_bwd(
    means: Tensor,
    covars: MaybeTensor,
    quats: MaybeTensor,
    scales: MaybeTensor,
    viewmats: Tensor,
    Ks: Tensor,
    image_width: int,
    image_height: int,
    eps2d: float,
    camera_model: Any,
    batch_ids: Tensor,
    camera_ids: Tensor,
    gaussian_ids: Tensor,
    conics: Tensor,
    compensations: MaybeTensor,
    v_means2d: Tensor,
    v_depths: Tensor,
    v_conics: Tensor,
    v_compensations: MaybeTensor,
    viewmats_requires_grad: bool,
    sparse_grad: bool,
) -> tuple[MaybeTensor, ...]:
    """Gradients of means, covars, quats, scales and viewmats.

    With ``sparse_grad`` the first four have a row for each splat; the sum over the cameras of a
    Gaussian is in the row of its first one, and the others are zero.
    """
    batch, n, c = tuple(means.shape[:-2]), means.shape[-2], viewmats.shape[-3]
    rows = (batch_ids * c + camera_ids) * n + gaussian_ids
    shape = batch + (c, n)

    floats = (conics, v_means2d, v_depths, v_conics, compensations, v_compensations)
    given = [part.contiguous() for part in floats if part is not None]
    ones = torch.ones(len(rows), 2, dtype=torch.int32, device=rows.device)
    *spread, radii = _ops.scatter_rows(rows, shape, given, (ones,))
    places = iter(spread)
    conics, v_means2d, v_depths, v_conics = (next(places) for _ in range(4))
    compensations = None if compensations is None else next(places)
    v_compensations = None if v_compensations is None else next(places)
    found = projection_ewa_3dgs_fused_bwd(
        *(means, covars, quats, scales, viewmats, Ks, image_width, image_height, eps2d),
        *(camera_model, radii, conics, compensations, v_means2d, v_depths, v_conics),
        *(v_compensations, viewmats_requires_grad),
    )
    if not sparse_grad:
        return found
    first = torch.full((n,), len(rows), device=rows.device)
    places = torch.arange(len(rows), device=rows.device)
    first.scatter_reduce_(0, gaussian_ids, places, "amin")
    own = (first[gaussian_ids] == places)[:, None]
    return *(None if part is None else part[gaussian_ids] * own for part in found[:4]), found[4]


def rasterize_to_pixels_3dgs_fwd(
    means2d: Tensor,
    conics: Tensor,
    colors: Tensor,
    opacities: Tensor,
    backgrounds: MaybeTensor,
    masks: MaybeTensor,
    image_width: int,
    image_height: int,
    tile_size: int,
    tile_offsets: Tensor,
    flatten_ids: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Images, alphas and the last pair of each pixel."""
    sizes = (image_width, image_height, tile_size)
    lists = _tiles.Lists(backgrounds, masks, *sizes, tile_offsets, flatten_ids, settings.alpha_max)
    splats = _tiles.Splats(means2d, conics, colors, opacities)
    image, alphas, last_ids = _tiles.rasterize_forward(splats, lists)
    assert last_ids is not None
    return image, alphas, last_ids


def rasterize_to_pixels_3dgs_bwd(
    means2d: Tensor,
    conics: Tensor,
    colors: Tensor,
    opacities: Tensor,
    backgrounds: MaybeTensor,
    masks: MaybeTensor,
    image_width: int,
    image_height: int,
    tile_size: int,
    tile_offsets: Tensor,
    flatten_ids: Tensor,
    render_alphas: Tensor,
    last_ids: Tensor,
    v_render_colors: Tensor,
    v_render_alphas: Tensor,
    absgrad: bool,
) -> tuple[MaybeTensor, ...]:
    """Gradients of means2d by absolute value (None unless ``absgrad``), means2d, conics, colors,
    opacities."""
    sizes = (image_width, image_height, tile_size)
    lists = _tiles.Lists(backgrounds, masks, *sizes, tile_offsets, flatten_ids, settings.alpha_max)
    splats = _tiles.Splats(means2d, conics, colors, opacities)
    found = _tiles.rasterize_backward(
        splats, lists, render_alphas, last_ids, v_render_colors, v_render_alphas, absgrad
    )
    return found.means2d_abs, found.means2d, *found[2:]


def rasterize_to_indices_3dgs(
    range_start: int,
    range_end: int,
    transmittances: Tensor,
    means2d: Tensor,
    conics: Tensor,
    opacities: Tensor,
    image_width: int,
    image_height: int,
    tile_size: int,
    tile_offsets: Tensor,
    flatten_ids: Tensor,
) -> tuple[Tensor, Tensor]:
    """Splats and pixels of the fragments that are blended."""
    sizes = (image_width, image_height, tile_size)
    lists = _tiles.Lists(None, None, *sizes, tile_offsets, flatten_ids, settings.alpha_max)
    between = (int(range_start), min(int(range_end), 2**31 - 1))
    return _tiles.rasterize_indices(between, transmittances, means2d, conics, opacities, lists)
