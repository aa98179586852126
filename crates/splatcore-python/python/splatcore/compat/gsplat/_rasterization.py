"""``rasterization``: Gaussians to images, with gsplat 1.5.3's arguments and results."""

from __future__ import annotations

import math
from typing import Any, Optional

import torch
from torch import Tensor

from .. import _checks
from .._settings import gsplat as settings
from . import _pieces
from ._unsupported import RollingShutterType, refuse

MaybeTensor = Optional[Tensor]
RENDER_MODES = ("RGB", "D", "ED", "RGB+D", "RGB+ED")
UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])


def rasterization(
    means: Tensor,
    quats: MaybeTensor,
    scales: MaybeTensor,
    opacities: Tensor,
    colors: Tensor,
    viewmats: Tensor,
    Ks: Tensor,
    width: int,
    height: int,
    near_plane: float = 0.01,
    far_plane: float = 1e10,
    radius_clip: float = 0.0,
    eps2d: float = 0.3,
    sh_degree: Optional[int] = None,
    packed: bool = True,
    tile_size: int = 16,
    backgrounds: MaybeTensor = None,
    render_mode: str = "RGB",
    sparse_grad: bool = False,
    absgrad: bool = False,
    rasterize_mode: str = "classic",
    channel_chunk: int = 32,
    distributed: bool = False,
    camera_model: str = "pinhole",
    segmented: bool = False,
    covars: MaybeTensor = None,
    with_ut: bool = False,
    with_eval3d: bool = False,
    radial_coeffs: MaybeTensor = None,
    tangential_coeffs: MaybeTensor = None,
    thin_prism_coeffs: MaybeTensor = None,
    ftheta_coeffs: Any = None,
    rolling_shutter: Any = RollingShutterType.GLOBAL,
    viewmats_rs: MaybeTensor = None,
) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """Draws N Gaussians into the images of C cameras.

    ``means`` ``[..., N, 3]`` world units; ``quats`` ``[..., N, 4]`` w first, of any length but
    zero; ``scales`` ``[..., N, 3]`` standard deviations; ``opacities`` ``[..., N]`` from 0 to 1;
    ``colors`` ``[..., N, D]`` or ``[..., C, N, D]``, or with ``sh_degree`` harmonics ``[..., N, K,
    3]`` or ``[..., C, N, K, 3]``; ``viewmats`` ``[..., C, 4, 4]`` world to camera, x right, y down,
    z forward; ``Ks`` ``[..., C, 3, 3]`` pixels; ``covars`` ``[..., N, 3, 3]`` instead of quats and
    scales; ``backgrounds`` ``[..., C, D]``.

    Returns images ``[..., C, height, width, X]``, alphas ``[..., C, height, width, 1]`` and
    ``meta``. X is D for ``RGB``, 1 for ``D`` (sums of depths) and ``ED`` (expected depths), D + 1
    for ``RGB+D`` and ``RGB+ED``. ``meta["means2d"]`` is in the graph: ``retain_grad`` keeps its
    gradient, in pixels.

    Gradients reach every tensor. ``channel_chunk`` and ``segmented`` change nothing: all channels
    are drawn at once. NaN and infinity raise ValueError (``settings.check_finite``).
    """
    refuse(
        {
            "distributed": distributed,
            "with_ut": with_ut,
            "with_eval3d": with_eval3d,
            "radial_coeffs": radial_coeffs,
            "tangential_coeffs": tangential_coeffs,
            "thin_prism_coeffs": thin_prism_coeffs,
            "ftheta_coeffs": ftheta_coeffs,
            "rolling_shutter": rolling_shutter,
            "viewmats_rs": viewmats_rs,
        }
    )
    for name, side in (("width", width), ("height", height), ("tile_size", tile_size)):
        _checks.size(name, side)
    _checks.choice("render_mode", render_mode, RENDER_MODES)
    _checks.choice("rasterize_mode", rasterize_mode, ("classic", "antialiased"))
    if covars is not None:
        quats, scales = None, None
    named = {
        "means": means,
        "quats": quats,
        "scales": scales,
        "covars": covars,
        "opacities": opacities,
        "colors": colors,
        "viewmats": viewmats,
        "Ks": Ks,
        "backgrounds": backgrounds,
    }
    _checks.same_kind(named)
    _checks.last("means", means, -1, 3)
    _checks.last("viewmats", viewmats, -1, 4, 4)
    batch, n, c = tuple(means.shape[:-2]), means.shape[-2], viewmats.shape[-3]
    if covars is not None:
        _checks.shape("covars", covars, *batch, n, 3, 3)
    _checks.shape("opacities", opacities, *batch, n)
    _check_colors(colors, sh_degree, batch, c, n)
    _checks.finite(named, settings.check_finite)
    b = math.prod(batch)

    projected = _pieces.fully_fused_projection(
        means,
        None if covars is None else covars[..., UPPER[0], UPPER[1]],
        quats,
        scales,
        viewmats,
        Ks,
        width,
        height,
        eps2d=eps2d,
        packed=packed,
        near_plane=near_plane,
        far_plane=far_plane,
        radius_clip=radius_clip,
        sparse_grad=sparse_grad,
        calc_compensations=rasterize_mode == "antialiased",
        camera_model=camera_model,
        opacities=opacities,
    )
    ids: Any = (None, None, None)
    image_ids = None
    if packed:
        ids, projected = projected[:3], projected[3:]
        image_ids = ids[0] * c + ids[1]
    splats: Any = projected
    radii, means2d, depths, conics, compensations = splats
    sizes = (batch, b, c, n)
    drawn = _spread(opacities, False, sizes, ids)
    if compensations is not None:
        drawn = drawn * compensations
    meta: dict[str, Any] = {
        "batch_ids": ids[0],
        "camera_ids": ids[1],
        "gaussian_ids": ids[2],
        "radii": radii if settings.radii_per_axis else radii.amax(-1),
        "means2d": means2d,
        "depths": depths,
        "conics": conics,
        "opacities": drawn,
    }
    features = _features(colors, sh_degree, means, viewmats, radii, sizes, ids)
    features, backgrounds = _with_depth(render_mode, features, depths, backgrounds, batch + (c,))

    tiles = (math.ceil(width / tile_size), math.ceil(height / tile_size))
    tiles_per_gauss, isect_ids, flatten_ids = _pieces.isect_tiles(
        means2d,
        radii,
        depths,
        tile_size,
        *tiles,
        packed=packed,
        n_images=b * c,
        image_ids=image_ids,
    )
    offsets = _pieces.isect_offset_encode(isect_ids, b * c, *tiles)
    offsets = offsets.reshape(batch + (c, tiles[1], tiles[0]))
    meta.update(
        tile_width=tiles[0],
        tile_height=tiles[1],
        tiles_per_gauss=tiles_per_gauss,
        isect_ids=isect_ids,
        flatten_ids=flatten_ids,
        isect_offsets=offsets,
        width=width,
        height=height,
        tile_size=tile_size,
        n_batches=b,
        n_cameras=c,
    )
    image, alphas = _pieces.rasterize_to_pixels(
        means2d,
        conics,
        features,
        drawn,
        width,
        height,
        tile_size,
        offsets,
        flatten_ids,
        backgrounds=backgrounds,
        packed=packed,
        absgrad=absgrad,
    )
    if render_mode in ("ED", "RGB+ED"):
        expected = image[..., -1:] / alphas.clamp(min=1e-10)
        image = torch.cat([image[..., :-1], expected], -1)
    return image, alphas, meta


Sizes = tuple[tuple[int, ...], int, int, int]


def _check_colors(
    colors: Tensor, sh_degree: Optional[int], batch: tuple[int, ...], c: int, n: int
) -> None:
    own = 1 if sh_degree is None else 2  # dimensions of one Gaussian's colour
    if sh_degree is not None:
        _checks.last("colors", colors, -1, 3)
    per_camera = colors.dim() == len(batch) + 2 + own
    tail = colors.shape[max(colors.dim() - own, 0) :]
    _checks.shape("colors", colors, *batch, *((c, n) if per_camera else (n,)), *tail)
    if sh_degree is not None:
        _pieces.degree_of("sh_degree", sh_degree, colors.shape[-2])


def _spread(values: Tensor, per_camera: bool, sizes: Sizes, ids: Any) -> Tensor:
    """Values of Gaussians ``[..., (C,) N, *]`` as of splats, ``[..., C, N, *]`` or ``[n, *]``."""
    batch, b, c, n = sizes
    tail = tuple(values.shape[len(batch) + 1 + per_camera :])
    if ids[0] is None:
        if not per_camera:
            values = values.unsqueeze(len(batch))
        return values.expand(batch + (c, n) + tail)
    if per_camera:
        return values.reshape((b, c, n) + tail)[ids]
    return values.reshape((b, n) + tail)[ids[0], ids[2]]


def _features(
    colors: Tensor,
    sh_degree: Optional[int],
    means: Tensor,
    viewmats: Tensor,
    radii: Tensor,
    sizes: Sizes,
    ids: Any,
) -> Tensor:
    """The colours of splats: as given, or max(harmonics + 1/2, 0) in the direction of view."""
    batch, b, c, _ = sizes
    own = 1 if sh_degree is None else 2
    per_camera = colors.dim() == len(batch) + 2 + own
    spread = _spread(colors, per_camera, sizes, ids)
    if sh_degree is None:
        return spread
    centres = torch.inverse(viewmats)[..., :3, 3]
    if ids[0] is None:
        dirs = means[..., None, :, :] - centres[..., None, :]
    else:
        dirs = _spread(means, False, sizes, ids) - centres.reshape(b, c, 3)[ids[0], ids[1]]
    masks = (radii > 0).all(-1)
    return (_pieces.spherical_harmonics(sh_degree, dirs, spread, masks) + 0.5).clamp_min(0)


def _with_depth(
    mode: str,
    features: Tensor,
    depths: Tensor,
    backgrounds: MaybeTensor,
    images: tuple[int, ...],
) -> tuple[Tensor, MaybeTensor]:
    """Features and backgrounds with the depth that a mode adds or takes; its background is 0."""
    depth = depths[..., None]
    zero = None if backgrounds is None else backgrounds.new_zeros(images + (1,))
    if mode in ("D", "ED"):
        return depth, zero
    if backgrounds is not None:
        _checks.shape("backgrounds", backgrounds, *images, features.shape[-1])
    if mode == "RGB":
        return features, backgrounds
    if backgrounds is not None and zero is not None:
        backgrounds = torch.cat([backgrounds, zero], -1)
    return torch.cat([features, depth], -1), backgrounds
