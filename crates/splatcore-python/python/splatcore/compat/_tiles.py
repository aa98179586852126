"""Tiles and pixels: the native functions with results allocated by torch and gsplat's shapes."""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

import torch
from torch import Tensor

from ._native import call

MaybeTensor = Optional[Tensor]


def intersect(
    means2d: Tensor,
    radii: Tensor,
    depths: Tensor,
    image_ids: MaybeTensor,
    images: int,
    tiles: tuple[int, int, int],
    sort: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of a tile and a splat: tiles per splat, keys int64, indices of splats int32.

    ``means2d`` and ``radii`` are ``[..., N, 2]``, or ``[n, 2]`` with the image of each splat.
    ``tiles``: pixels a side, tiles a row, rows. A key has the image in its highest bits, then the
    tile, then the depth as bits of a float32; keys are in order if ``sort``.
    """
    counts = means2d.new_zeros(depths.shape, dtype=torch.int32)
    device = means2d.device
    if counts.numel() == 0:
        empty = means2d.new_empty
        return counts, empty(0, dtype=torch.int64), empty(0, dtype=torch.int32)
    flat = (means2d.reshape(-1, 2), radii.reshape(-1, 2))
    call("intersect_count", device, *flat, *tiles, counts.view(-1))
    ends = counts.view(-1).cumsum(0, dtype=torch.int64)
    total = int(ends[-1].item())
    isect_ids = means2d.new_empty(total, dtype=torch.int64)
    flatten_ids = means2d.new_empty(total, dtype=torch.int32)
    if total > 0:
        call(
            "intersect_fill",
            device,
            *flat,
            depths.reshape(-1),
            image_ids,
            images,
            *tiles,
            ends,
            sort,
            isect_ids,
            flatten_ids,
        )
    return counts, isect_ids, flatten_ids


def offsets(isect_ids: Tensor, images: int, tile_width: int, tile_height: int) -> Tensor:
    """Where the list of each tile begins, int32 ``[images, tile_height, tile_width]``."""
    found = isect_ids.new_zeros((images, tile_height, tile_width), dtype=torch.int32)
    if found.numel() > 0 and isect_ids.numel() > 0:
        device = isect_ids.device
        call("intersect_offset", device, isect_ids, images, tile_width, tile_height, found)
    return found


class Splats(NamedTuple):
    """What is drawn: ``[..., N, x]``, or ``[n, x]`` when packed."""

    means2d: Tensor  # [..., N, 2], pixels
    conics: Tensor  # [..., N, 3]
    colors: Tensor  # [..., N, D]
    opacities: Tensor  # [..., N]


class Lists(NamedTuple):
    """Which splats each tile draws, front to back."""

    backgrounds: MaybeTensor  # [..., D]
    masks: MaybeTensor  # bool [..., tile_height, tile_width]; False: only the background
    width: int
    height: int
    tile_size: int
    tile_offsets: Tensor  # int32 [..., tile_height, tile_width]
    flatten_ids: Tensor  # int32 [pairs]
    alpha_max: float


def _flat(splats: Splats) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    d = splats.colors.shape[-1]
    means2d, conics, colors, opacities = splats
    return (
        means2d.reshape(-1, 2),
        conics.reshape(-1, 3),
        colors.reshape(-1, d),
        opacities.reshape(-1),
    )


def _flat_lists(lists: Lists) -> tuple[object, ...]:
    th, tw = lists.tile_offsets.shape[-2:]
    backgrounds, masks = lists.backgrounds, lists.masks
    return (
        None if backgrounds is None else backgrounds.reshape(-1, backgrounds.shape[-1]),
        None if masks is None else masks.reshape(-1, th, tw),
        lists.width,
        lists.height,
        lists.tile_size,
        lists.tile_offsets.reshape(-1, th, tw),
        lists.flatten_ids,
        lists.alpha_max,
    )


def rasterize_forward(splats: Splats, lists: Lists) -> tuple[Tensor, Tensor, Tensor]:
    """Colours ``[..., H, W, D]``, alphas ``[..., H, W, 1]``, index of the last pair int32
    ``[..., H, W]``."""
    dims = tuple(lists.tile_offsets.shape[:-2])
    size = (lists.height, lists.width)
    d = splats.colors.shape[-1]
    colors = splats.means2d.new_zeros(dims + size + (d,))
    alphas = splats.means2d.new_zeros(dims + size + (1,))
    last_ids = alphas.new_zeros(dims + size, dtype=torch.int32)
    if math.prod(dims) > 0:
        call(
            "rasterize_fwd",
            splats.means2d.device,
            *_flat(splats),
            *_flat_lists(lists),
            colors.view(-1, *size, d),
            alphas.view(-1, *size, 1),
            last_ids.view(-1, *size),
        )
    return colors, alphas, last_ids


class SplatGradients(NamedTuple):
    """In the shapes of the splats; ``means2d_abs`` sums absolute values over pixels."""

    means2d: Tensor
    means2d_abs: MaybeTensor
    conics: Tensor
    colors: Tensor
    opacities: Tensor


def rasterize_backward(
    splats: Splats,
    lists: Lists,
    alphas: Tensor,
    last_ids: Tensor,
    v_colors: Tensor,
    v_alphas: Tensor,
    absgrad: bool,
) -> SplatGradients:
    """Gradients of the splats, given those of colours and alphas."""
    found = SplatGradients(
        torch.zeros_like(splats.means2d),
        torch.zeros_like(splats.means2d) if absgrad else None,
        *(torch.zeros_like(part) for part in splats[1:]),
    )
    if splats.means2d.numel() > 0 and alphas.numel() > 0:
        h, w, d = v_colors.shape[-3:]
        call(
            "rasterize_bwd",
            splats.means2d.device,
            *_flat(splats),
            *_flat_lists(lists),
            alphas.view(-1, h, w, 1),
            last_ids.view(-1, h, w),
            v_colors.view(-1, h, w, d),
            v_alphas.view(-1, h, w, 1),
            found.means2d.view(-1, 2),
            None if found.means2d_abs is None else found.means2d_abs.view(-1, 2),
            found.conics.view(-1, 3),
            found.colors.view(-1, d),
            found.opacities.view(-1),
        )
    return found


def rasterize_indices(
    between: tuple[int, int],
    transmittances: Tensor,
    means2d: Tensor,
    conics: Tensor,
    opacities: Tensor,
    lists: Lists,
) -> tuple[Tensor, Tensor]:
    """Indices, within their image, of the splats that pixels blend, and of those pixels, int64.

    ``between``: which batches of ``tile_size ** 2`` pairs of each tile are looked at.
    """
    h, w = lists.height, lists.width
    images = math.prod(transmittances.shape[:-2])
    device = means2d.device
    empty = means2d.new_empty(0, dtype=torch.int64)
    if lists.flatten_ids.numel() == 0 or images == 0:
        return empty, empty.clone()
    arguments = (
        *between,
        transmittances.reshape(-1, h, w),
        means2d.reshape(-1, 2),
        conics.reshape(-1, 3),
        opacities.reshape(-1),
        *_flat_lists(lists)[2:],
    )
    counts = means2d.new_zeros(images * h * w, dtype=torch.int32)
    call("rasterize_to_indices_count", device, *arguments, counts)
    ends = counts.cumsum(0, dtype=torch.int64)
    total = int(ends[-1].item())
    ids, pixels = empty.new_empty(total), empty.new_empty(total)
    if total > 0:
        starts = ends - counts
        call("rasterize_to_indices_fill", device, *arguments, starts, ids, pixels)
    return ids, pixels
