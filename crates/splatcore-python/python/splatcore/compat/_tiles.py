"""Tiles and pixels: the native functions with results allocated by torch and gsplat's shapes."""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

import torch
from torch import Tensor

from ._native import call
from ._ops import Counted, running_sums

MaybeTensor = Optional[Tensor]


def grid(width: int, height: int, tile_size: int) -> tuple[int, int]:
    """Tiles a row and rows of tiles that cover an image."""
    return -(-width // tile_size), -(-height // tile_size)


def intersect(
    means2d: Tensor,
    radii: Tensor,
    depths: Tensor,
    image_ids: MaybeTensor,
    images: int,
    tiles: tuple[int, int, int],
    sort: bool,
    shape: tuple[MaybeTensor, MaybeTensor] = (None, None),
) -> tuple[Tensor, Tensor, Tensor]:
    """Pairs of a tile and a splat: tiles per splat, keys int64, indices of splats int32.

    ``means2d`` and ``radii`` are ``[..., N, 2]``, or ``[n, 2]`` with the image of each splat.
    ``tiles``: pixels a side, tiles a row, rows. A key has the image in its highest bits, then the
    tile, then the depth as bits of a float32; keys are in order if ``sort``. With ``shape``,
    conics and opacities of the splats, only tiles are listed where a splat counts at some pixel.
    """
    counts = means2d.new_empty(depths.shape, dtype=torch.int32)
    device = means2d.device
    if counts.numel() == 0:
        empty = means2d.new_empty
        return counts, empty(0, dtype=torch.int64), empty(0, dtype=torch.int32)
    call("intersect_count", device, means2d, radii, *tiles, counts, *shape)
    ends, total = running_sums(counts)
    isect_ids = means2d.new_empty(total, dtype=torch.int64)
    flatten_ids = means2d.new_empty(total, dtype=torch.int32)
    if total > 0:
        splats = (means2d, radii, depths, image_ids)
        out = (isect_ids, flatten_ids)
        call("intersect_fill", device, *splats, images, *tiles, ends, sort, *out, *shape)
    return counts, isect_ids, flatten_ids


def offsets(isect_ids: Tensor, images: int, tile_width: int, tile_height: int) -> Tensor:
    """Where the list of each tile begins, int32 ``[images, tile_height, tile_width]``."""
    found = isect_ids.new_empty((images, tile_height, tile_width), dtype=torch.int32)
    if found.numel() > 0:
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


def _arguments(splats: Splats, lists: Lists) -> tuple[object, ...]:
    backgrounds, masks, *sizes, tile_offsets, flatten_ids, alpha_max = lists
    return (*splats, backgrounds, masks, *sizes, tile_offsets, flatten_ids, alpha_max)


class Kept(NamedTuple):
    """What a forward pass computes in, and whether it keeps what the backward pass needs."""

    halves: bool = False
    for_gradients: bool = True


def has_halves(colors: Tensor, tile_size: int, alpha_max: float) -> bool:
    """Whether images of these colours can be drawn in halves: on a card's matrix units."""
    return colors.is_cuda and colors.shape[-1] in (3, 4) and tile_size == 16 and alpha_max <= 0.999


def new_images(
    like: Tensor, dims: tuple[int, ...], size: tuple[int, int], channels: int, kept: Kept
) -> tuple[Tensor, Tensor, MaybeTensor]:
    """Room for colours ``[..., H, W, D]``, alphas ``[..., H, W, 1]`` and what the backward pass
    needs besides: last pairs ``[..., H, W]``, or in halves colours ``[..., D, H, W]``; ``size``:
    height and width."""
    shape = (*dims, *size)
    new = like.new_empty
    images = new(*shape, channels), new(*shape, 1)
    if not kept.halves:
        return (*images, new(*shape, dtype=torch.int32))
    return (*images, new(*dims, channels, *size) if kept.for_gradients else None)


def rasterize_forward(
    splats: Splats, lists: Lists, kept: Kept = Kept()
) -> tuple[Tensor, Tensor, MaybeTensor]:
    """Colours ``[..., H, W, D]``, alphas ``[..., H, W, 1]`` and what ``rasterize_backward`` needs:
    indices of last pairs int32 ``[..., H, W]``, or in halves the colours ``[..., D, H, W]``."""
    dims = tuple(lists.tile_offsets.shape[:-2])
    size = (lists.height, lists.width)
    found = new_images(splats.means2d, dims, size, splats.colors.shape[-1], kept)
    if found[1].numel() > 0:
        arguments = (*_arguments(splats, lists), *found, kept.halves)
        call("rasterize_fwd", splats.means2d.device, *arguments)
    return found


class Drawing:
    """Splats whose lists ``draw_forward`` finds, and those lists afterwards."""

    __slots__ = (
        "alpha_max",
        "counted",
        "depths",
        "dims",
        "image_ids",
        "isect_ids",
        "kept",
        "lists",
        "radii",
        "size",
        "tiles",
    )

    def __init__(
        self,
        radii: Tensor,
        depths: Tensor,
        image_ids: MaybeTensor,
        counted: Counted,
        dims: tuple[int, ...],
        size: tuple[int, int],
        tiles: tuple[int, int],
        alpha_max: float,
        kept: Kept,
    ) -> None:
        self.radii = radii  # int32 [..., N, 2], or [n, 2] when packed
        self.depths = depths  # [..., N]
        self.image_ids = image_ids  # int64 [n] when packed into several images
        self.counted = counted
        self.dims = dims  # those of images
        self.size = size  # width and height in pixels
        self.tiles = tiles  # tiles a row, rows
        self.alpha_max = alpha_max
        self.kept = kept
        self.isect_ids: MaybeTensor = None  # int64 [pairs]
        self.lists: Optional[Lists] = None


def draw_forward(
    splats: Splats, backgrounds: MaybeTensor, drawing: Drawing
) -> tuple[Lists, Tensor, Tensor, MaybeTensor]:
    """Lists of tiles, and what ``rasterize_forward`` returns."""
    new = splats.means2d.new_empty
    counted, dims = drawing.counted, drawing.dims
    (width, height), (columns, rows) = drawing.size, drawing.tiles
    offsets = new(*dims, rows, columns, dtype=torch.int32)
    channels = splats.colors.shape[-1]
    found = new_images(splats.means2d, dims, (height, width), channels, drawing.kept)
    total, _ = counted.totals()
    isect_ids, flatten_ids = new(total, dtype=torch.int64), new(total, dtype=torch.int32)
    means2d, conics, colors, opacities = splats
    sizes = (width, height, counted.tile_size, drawing.alpha_max, counted.exact_tiles)
    if found[1].numel() > 0:
        call(
            "draw_fwd",
            means2d.device,
            means2d,
            drawing.radii,
            drawing.depths,
            conics,
            colors,
            opacities,
            backgrounds,
            drawing.image_ids,
            counted.counts,
            *sizes,
            isect_ids,
            flatten_ids,
            offsets,
            *found,
            counted.order,
            drawing.kept.halves,
        )
    drawing.isect_ids = isect_ids
    drawing.lists = Lists(
        backgrounds,
        None,
        width,
        height,
        counted.tile_size,
        offsets,
        flatten_ids,
        drawing.alpha_max,
    )
    return (drawing.lists, *found)


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
    kept: Tensor,
    v_colors: Tensor,
    v_alphas: MaybeTensor,
    absgrad: bool,
) -> SplatGradients:
    """Gradients of the splats, given those of colours and alphas; None are zeros. ``alphas`` and
    ``kept`` are those of ``rasterize_forward``; in halves there is no ``absgrad``."""
    is_drawn = splats.means2d.numel() > 0 and alphas.numel() > 0
    new = torch.empty_like if is_drawn else torch.zeros_like
    means2d, *rest = splats
    found = SplatGradients(
        new(means2d), new(means2d) if absgrad else None, *(new(part) for part in rest)
    )
    if is_drawn:
        upstream = (alphas, kept, v_colors, v_alphas)
        halves = kept.dtype.is_floating_point
        arguments = (*_arguments(splats, lists), *upstream, *found, halves)
        call("rasterize_bwd", means2d.device, *arguments)
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
    arguments = (*between, transmittances, means2d, conics, opacities, *lists[2:])
    counts = means2d.new_zeros(images * h * w, dtype=torch.int32)
    call("rasterize_to_indices_count", device, *arguments, counts)
    ends, total = running_sums(counts)
    ids, pixels = empty.new_empty(total), empty.new_empty(total)
    if total > 0:
        starts = ends - counts
        call("rasterize_to_indices_fill", device, *arguments, starts, ids, pixels)
    return ids, pixels
