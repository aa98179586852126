"""The functions that ``rasterization`` is made of, with gsplat's names and arguments.

B are batch dimensions, any number of them, C cameras, N Gaussians, I images, D channels.
"""

from __future__ import annotations

import math
from typing import Optional

import torch
from torch import Tensor

from .. import _checks, _expressions, _tiles
from .._functions import Covariances, Harmonics, Rasterize, apply
from .._native import call
from .._ops import CAMERA_MODELS
from .._settings import gsplat as settings
from ._projection import camera_model_of

MaybeTensor = Optional[Tensor]


def quat_scale_to_covar_preci(
    quats: Tensor,
    scales: Tensor,
    compute_covar: bool = True,
    compute_preci: bool = True,
    triu: bool = False,
) -> tuple[MaybeTensor, MaybeTensor]:
    """Covariances and precisions: ``[..., 3, 3]``, or upper triangles ``[..., 6]`` if ``triu``.

    ``quats`` ``[..., 4]``, w first, of any length but zero; ``scales`` ``[..., 3]``.
    """
    _checks.same_kind({"quats": quats, "scales": scales})
    _checks.last("quats", quats, 4)
    _checks.shape("scales", scales, *quats.shape[:-1], 3)
    covars, precis = apply(Covariances, quats, scales, compute_covar, compute_preci, triu)
    return covars, precis


def world_to_cam(means: Tensor, covars: Tensor, viewmats: Tensor) -> tuple[Tensor, Tensor]:
    """Means ``[..., C, N, 3]`` and covariances ``[..., C, N, 3, 3]`` in camera space.

    ``means`` ``[..., N, 3]``, ``covars`` ``[..., N, 3, 3]``, ``viewmats`` ``[..., C, 4, 4]``.
    """
    _checks.same_kind({"means": means, "covars": covars, "viewmats": viewmats})
    _checks.last("means", means, -1, 3)
    batch, n = means.shape[:-2], means.shape[-2]
    _checks.shape("covars", covars, *batch, n, 3, 3)
    _checks.last("viewmats", viewmats, -1, 4, 4)
    rotation, translation = viewmats[..., :3, :3], viewmats[..., :3, 3]
    moved = means[..., None, :, :] @ rotation.transpose(-1, -2) + translation[..., None, :]
    turn = rotation[..., None, :, :]
    return moved, turn @ covars[..., None, :, :, :] @ turn.transpose(-1, -2)


def proj(
    means: Tensor,
    covars: Tensor,
    Ks: Tensor,
    width: int,
    height: int,
    camera_model: str = "pinhole",
) -> tuple[Tensor, Tensor]:
    """Means ``[..., C, N, 2]`` and covariances ``[..., C, N, 2, 2]`` in the image, in pixels.

    ``means`` ``[..., C, N, 3]`` and ``covars`` ``[..., C, N, 3, 3]`` are in camera space, ``Ks`` is
    ``[..., C, 3, 3]``.
    """
    _checks.same_kind({"means": means, "covars": covars, "Ks": Ks})
    _checks.last("means", means, -1, -1, 3)
    _checks.shape("covars", covars, *means.shape, 3)
    _checks.shape("Ks", Ks, *means.shape[:-2], 3, 3)
    size = (_checks.size("width", width), _checks.size("height", height))
    model = _checks.choice("camera_model", camera_model_of(camera_model), CAMERA_MODELS)
    return _expressions.proj(means, covars, Ks, *size, model)


@torch.no_grad()
def isect_tiles(
    means2d: Tensor,
    radii: Tensor,
    depths: Tensor,
    tile_size: int,
    tile_width: int,
    tile_height: int,
    sort: bool = True,
    segmented: bool = False,
    packed: bool = False,
    n_images: Optional[int] = None,
    image_ids: MaybeTensor = None,
    gaussian_ids: MaybeTensor = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of a tile and a splat: tiles per splat int32, keys int64, splats int32.

    ``means2d`` and ``radii`` ``[..., N, 2]``, ``depths`` ``[..., N]``; ``[n, 2]`` and ``[n]`` if
    ``packed``, with ``n_images`` and ``image_ids`` int64 ``[n]``. ``segmented`` changes nothing.
    """
    _checks.same_kind({"means2d": means2d, "depths": depths})
    _checks.last("means2d", means2d, -1, 2)
    _checks.integer("radii", radii, torch.int32, means2d.device)
    _checks.shape("radii", radii, *means2d.shape)
    _checks.shape("depths", depths, *means2d.shape[:-1])
    images = math.prod(means2d.shape[:-2])
    if packed:
        if n_images is None or image_ids is None:
            missing = "n_images" if n_images is None else "image_ids"
            raise ValueError(f"{missing} must be given if packed is True, found None")
        _checks.last("means2d", means2d, -1, 2)
        _checks.integer("image_ids", image_ids, torch.int64, means2d.device)
        _checks.shape("image_ids", image_ids, *depths.shape)
        images, image_ids = n_images, image_ids.contiguous()
    else:
        image_ids = None
    tiles = (tile_size, tile_width, tile_height)
    return _tiles.intersect(
        means2d.contiguous(),
        radii.contiguous(),
        depths.contiguous(),
        image_ids,
        images,
        tiles,
        sort,
    )


@torch.no_grad()
def isect_offset_encode(
    isect_ids: Tensor, n_images: int, tile_width: int, tile_height: int
) -> Tensor:
    """Where the list of each tile begins, int32 ``[I, tile_height, tile_width]``."""
    _checks.integer("isect_ids", isect_ids, torch.int64, isect_ids.device)
    return _tiles.offsets(isect_ids.contiguous(), n_images, tile_width, tile_height)


def rasterize_to_pixels(
    means2d: Tensor,
    conics: Tensor,
    colors: Tensor,
    opacities: Tensor,
    image_width: int,
    image_height: int,
    tile_size: int,
    isect_offsets: Tensor,
    flatten_ids: Tensor,
    backgrounds: MaybeTensor = None,
    masks: MaybeTensor = None,
    packed: bool = False,
    absgrad: bool = False,
) -> tuple[Tensor, Tensor]:
    """Images ``[..., H, W, D]`` and alphas ``[..., H, W, 1]`` of splats.

    ``means2d`` ``[..., N, 2]``, ``conics`` ``[..., N, 3]``, ``colors`` ``[..., N, D]`` with any D
    from 1, ``opacities`` ``[..., N]``, or without ``...`` if ``packed``; ``backgrounds`` ``[...,
    D]``; ``masks`` bool ``[..., tile_height, tile_width]``. After ``backward``, ``means2d.absgrad``
    is there if ``absgrad``.
    """
    named = {
        "means2d": means2d,
        "conics": conics,
        "colors": colors,
        "opacities": opacities,
        "backgrounds": backgrounds,
    }
    _checks.same_kind(named, {"backgrounds"})
    dims = isect_offsets.shape[:-2]
    splats = means2d.shape[:-1]
    _checks.last("means2d", means2d, -1, 2)
    if not packed and splats[:-1] != dims:
        _checks.shape("isect_offsets", isect_offsets, *splats[:-1], *isect_offsets.shape[-2:])
    _checks.shape("conics", conics, *splats, 3)
    _checks.shape("opacities", opacities, *splats)
    channels = colors.shape[-1]
    _checks.shape("colors", colors, *splats, channels)
    if channels == 0:
        raise ValueError(f"colors must have one channel or more, found shape {list(colors.shape)}")
    if backgrounds is not None:
        _checks.shape("backgrounds", backgrounds, *dims, channels)
    lists = lists_of(
        (image_width, image_height, tile_size), isect_offsets, flatten_ids, masks, means2d.device
    )
    found: tuple[Tensor, Tensor] = apply(
        Rasterize, means2d, conics, colors, opacities, backgrounds, lists, absgrad
    )
    return found


def lists_of(
    sizes: tuple[int, int, int],
    isect_offsets: Tensor,
    flatten_ids: Tensor,
    masks: MaybeTensor,
    device: torch.device,
) -> _tiles.Lists:
    """Checks what says which splats are in a tile. ``sizes``: width, height, tile_size."""
    width = _checks.size("image_width", sizes[0])
    height = _checks.size("image_height", sizes[1])
    tile_size = _checks.size("tile_size", sizes[2])
    _checks.integer("isect_offsets", isect_offsets, torch.int32, device)
    _checks.integer("flatten_ids", flatten_ids, torch.int32, device)
    rows, columns = isect_offsets.shape[-2:]
    if rows * tile_size < height or columns * tile_size < width:
        raise ValueError(
            f"isect_offsets must have tiles for {width}x{height} pixels, found {columns}x{rows}"
            f" tiles of {tile_size} pixels"
        )
    if masks is not None:
        _checks.integer("masks", masks, torch.bool, device)
        _checks.shape("masks", masks, *isect_offsets.shape)
        masks = masks.contiguous()
    return _tiles.Lists(
        None,
        masks,
        width,
        height,
        tile_size,
        isect_offsets.contiguous(),
        flatten_ids.contiguous(),
        settings.alpha_max,
    )


@torch.no_grad()
def rasterize_to_indices_in_range(
    range_start: int,
    range_end: int,
    transmittances: Tensor,
    means2d: Tensor,
    conics: Tensor,
    opacities: Tensor,
    image_width: int,
    image_height: int,
    tile_size: int,
    isect_offsets: Tensor,
    flatten_ids: Tensor,
) -> tuple[Tensor, Tensor, Tensor]:
    """Splat, pixel and image of each fragment that is blended, int64 ``[n]``.

    Only the batches ``range_start`` to ``range_end - 1`` of ``tile_size ** 2`` pairs of each tile
    are looked at, in front of which ``transmittances`` ``[..., H, W]`` are left.
    """
    named = {
        "means2d": means2d,
        "conics": conics,
        "opacities": opacities,
        "transmittances": transmittances,
    }
    _checks.same_kind(named)
    _checks.last("means2d", means2d, -1, 2)
    dims, n = means2d.shape[:-2], means2d.shape[-2]
    _checks.shape("conics", conics, *dims, n, 3)
    _checks.shape("opacities", opacities, *dims, n)
    _checks.shape("transmittances", transmittances, *dims, image_height, image_width)
    _checks.shape("isect_offsets", isect_offsets, *dims, *isect_offsets.shape[-2:])
    sizes = (image_width, image_height, tile_size)
    lists = lists_of(sizes, isect_offsets, flatten_ids, None, means2d.device)
    between = (int(range_start), min(int(range_end), 2**31 - 1))
    ids, pixels = _tiles.rasterize_indices(
        between,
        transmittances.contiguous(),
        means2d.contiguous(),
        conics.contiguous(),
        opacities.contiguous(),
        lists,
    )
    size = lists.width * lists.height
    return ids, pixels % size, pixels // size


def spherical_harmonics(
    degrees_to_use: int, dirs: Tensor, coeffs: Tensor, masks: MaybeTensor = None
) -> Tensor:
    """Sums of real spherical harmonics of degree 0 to 4, ``[..., D]``; zero where a mask is False.

    ``dirs`` ``[..., 3]`` of any length but zero, ``coeffs`` ``[..., K, D]``, ``masks`` bool
    ``[...]``.
    """
    _checks.same_kind({"dirs": dirs, "coeffs": coeffs})
    _checks.last("dirs", dirs, 3)
    _checks.last("coeffs", coeffs, -1, -1)
    _checks.shape("coeffs", coeffs, *dirs.shape[:-1], *coeffs.shape[-2:])
    degree_of("degrees_to_use", degrees_to_use, coeffs.shape[-2])
    if masks is not None:
        _checks.integer("masks", masks, torch.bool, dirs.device)
        _checks.shape("masks", masks, *dirs.shape[:-1])
    found: Tensor = apply(Harmonics, degrees_to_use, dirs, coeffs, masks)
    return found


def degree_of(name: str, degree: int, bands: int) -> None:
    """Checks that coefficients suffice for a degree."""
    if not isinstance(degree, int):
        raise TypeError(f"{name} must be an int, found {type(degree).__name__}")
    if not 0 <= degree <= 4:
        raise ValueError(f"{name} must be 0 to 4, found {degree}")
    if (degree + 1) ** 2 > bands:
        raise ValueError(
            f"{name} {degree} needs {(degree + 1) ** 2} coefficients a channel, found {bands}"
        )


@torch.no_grad()
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
    """One step of Adam without bias correction, in place, on the rows where ``valid`` is True.

    All are ``[N, ...]``, ``valid`` bool ``[N]`` or None. They must be contiguous: ValueError.
    """
    moments = {
        "param": param,
        "param_grad": param_grad,
        "exp_avg": exp_avg,
        "exp_avg_sq": exp_avg_sq,
    }
    _checks.same_kind(moments)
    for name, part in moments.items():
        _checks.shape(name, part, *param.shape)
        if not part.is_contiguous():
            raise ValueError(f"{name} must be contiguous, found strides {list(part.stride())}")
    if param.numel() == 0:
        return
    if valid is not None:
        _checks.integer("valid", valid, torch.bool, param.device)
        _checks.shape("valid", valid, param.shape[0])
        valid = valid.contiguous()
    rows = [part.detach().view(param.shape[0], -1) for part in moments.values()]
    call("adam", param.device, *rows, valid, float(lr), float(b1), float(b2), float(eps))


@torch.no_grad()
def compute_relocation(
    opacities: Tensor, scales: Tensor, ratios: Tensor, binoms: Tensor
) -> tuple[Tensor, Tensor]:
    """Opacities ``[N]`` and scales ``[N, 3]`` of Gaussians that are split into ``ratios`` copies.

    Equation 9 of Kheradmand et al. 2024 (3DGS-MCMC); ``binoms`` ``[n_max, n_max]`` are binomial
    coefficients, ``ratios`` integers ``[N]``, which are clamped to 1 to n_max in place, as gsplat
    does.
    """
    _checks.same_kind({"opacities": opacities, "scales": scales, "binoms": binoms})
    _checks.last("opacities", opacities)
    (n,) = opacities.shape
    _checks.shape("scales", scales, n, 3)
    _checks.shape("ratios", ratios, n)
    n_max = binoms.shape[0]
    _checks.shape("binoms", binoms, n_max, n_max)
    if n_max == 0:
        raise ValueError("binoms must have a row or more, found none")
    ratios.clamp_(min=1, max=n_max)
    return _expressions.relocation(opacities, scales, ratios, binoms)
