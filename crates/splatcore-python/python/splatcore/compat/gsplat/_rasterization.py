"""``rasterization``: Gaussians to images, with gsplat 1.5.3's arguments and results."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from ..._splatcore.tensors import all_finite
from .. import _checks, _library, _ops, _tiles
from .._functions import Draw, Harmonics, PackRows, Project, ViewColors, apply, is_compiling
from .._settings import gsplat as settings
from . import _lenses, _pieces, _projection
from ._lenses import RollingShutterType
from ._unsupported import refuse

MaybeTensor = Optional[Tensor]
RENDER_MODES = ("RGB", "D", "ED", "RGB+D", "RGB+ED")
RASTERIZE_MODES = ("classic", "antialiased")
# The least eps2d for halves: the conic of a splat that is not blurred has values that they lack.
MIN_BLUR = 0.05
UPPER = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])
Sizes = tuple[tuple[int, ...], int, int, int]  # batch dimensions, batches, cameras, Gaussians


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

    ``with_ut`` projects by the unscented transform, through the lenses and rolling shutters that
    ``fully_fused_projection_with_ut`` takes, and draws the splats that this gives in the image.

    Gradients reach every tensor, but for coefficients of lenses. ``channel_chunk`` and ``segmented`` change nothing: all channels
    are drawn at once. NaN and infinity raise ValueError (``settings.check_finite``).
    """
    if distributed or with_eval3d:
        refuse({"distributed": distributed, "with_eval3d": with_eval3d})
    lens = _lenses.Lens(
        *(radial_coeffs, tangential_coeffs, thin_prism_coeffs, ftheta_coeffs),
        *(rolling_shutter, viewmats_rs),
    )
    if covars is not None:
        quats, scales = None, None
    given = (means, quats, scales, covars, opacities, colors, viewmats, Ks, backgrounds)
    options = _Options(
        *(width, height, tile_size, sh_degree, packed, render_mode, rasterize_mode, absgrad),
        *(sparse_grad, camera_model, (eps2d, near_plane, far_plane, radius_clip)),
    )
    if with_ut:
        found: tuple[Tensor, Tensor, dict[str, Any]] = _through(given, options, lens)
        return found
    _lenses.without_ut(lens)
    return (_traced if is_compiling() else _checked)(given, options)


Given = tuple[
    Tensor, MaybeTensor, MaybeTensor, MaybeTensor, Tensor, Tensor, Tensor, Tensor, MaybeTensor
]
NAMES = (
    "means",
    "quats",
    "scales",
    "covars",
    "opacities",
    "colors",
    "viewmats",
    "Ks",
    "backgrounds",
)


class _Options(NamedTuple):
    """The arguments that are no tensors."""

    width: int
    height: int
    tile_size: int
    sh_degree: Optional[int]
    packed: bool
    render_mode: str
    rasterize_mode: str
    absgrad: bool
    sparse_grad: bool
    camera_model: Any  # a name, or cameras of the unscented transform
    limits: tuple[float, float, float, float]  # eps2d, near and far plane, radius_clip


def _checked(given: Given, options: _Options) -> tuple[Tensor, Tensor, dict[str, Any]]:
    try:
        if not _fit(given, options):
            _check(given, options)
        if not torch.is_grad_enabled() or _are_wanted(given):
            return _draw(given, options)
        with torch.no_grad():
            return _draw(given, options)
    except (AttributeError, TypeError, ValueError) as error:
        wrong = error
    # What is wrong is told by the arguments' own names.
    _check(given, options)
    raise wrong


@torch.compiler.disable
def _through(
    given: Given, options: _Options, lens: _lenses.Lens
) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """By the unscented transform."""
    covars, viewmats, Ks = given[3], given[6], given[7]
    if covars is not None:
        raise ValueError("covars must be None with with_ut=True; pass quats and scales")
    model, options = options.camera_model, options._replace(camera_model="pinhole")
    _check(given, options, False)
    cameras, viewmats, Ks = _lenses.cameras_of(
        model, viewmats, Ks, options.width, options.height, lens
    )
    given = (*given[:6], viewmats, Ks, given[8])
    return _checked(given, options._replace(camera_model=cameras))


@torch.compiler.disable
def _apart(given: Given, options: _Options) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """In one break of a graph."""
    return _checked(given, options)


def _traced(given: Given, options: _Options) -> tuple[Tensor, Tensor, dict[str, Any]]:
    """What ``torch.compile`` sees: operators, where numbers of splats are known."""
    if options.packed or options.absgrad or not _library.HAS_OPERATORS:
        found: tuple[Tensor, Tensor, dict[str, Any]] = _apart(given, options)
        return found
    _check(given, options, False)
    means, quats, scales, covars, opacities, colors, viewmats, Ks, backgrounds = given
    width, height, tile_size, sh_degree = options[:4]
    *leading, n, _ = means.shape
    batch, c = tuple(leading), viewmats.shape[-3]
    camera = _projection.camera_of(width, height, options.limits, options.camera_model)
    upper = None if covars is None else covars[..., UPPER[0], UPPER[1]]
    is_corrected = options.rasterize_mode == "antialiased"
    operators = torch.ops.splatcore
    means2d, depths, conics, compensations, radii = operators.project(
        means, upper, quats, scales, viewmats, Ks, opacities, *camera, is_corrected
    )
    sizes = (batch, math.prod(batch), c, n)
    drawn = _spread(opacities, False, sizes, None)
    if is_corrected:
        drawn = drawn * compensations
    if sh_degree is None:
        features = _features(colors, None, means, viewmats, radii, sizes, None, False)
    else:
        features = operators.view_colors(sh_degree, means, viewmats, colors, radii)
    mode = options.render_mode
    features, backgrounds = _with_depth(mode, features, depths, backgrounds, batch + (c,))
    image, alphas, _, counts, isect_ids, flatten_ids, offsets = operators.draw(
        *(means2d, radii, depths, conics, features, drawn, backgrounds),
        *(width, height, tile_size, settings.alpha_max, settings.exact_tiles),
        _halves(features, options),
    )
    splats = (radii, means2d, depths, conics, drawn)
    lists = (counts, isect_ids, flatten_ids, offsets)
    meta = _meta(splats, (None, None, None), lists, options, (sizes[1], c))
    return _expected(mode, image, alphas), alphas, meta


def _fit(given: Given, options: _Options) -> bool:
    """Whether shapes and options are right, quicker than ``_check`` says what is not.

    Types and devices are looked at where the memory is.
    """
    means, quats, scales, covars, opacities, colors, viewmats, Ks, _ = given
    rows, images = means.shape[:-1], viewmats.shape[:-2]
    degree, own = options.sh_degree, 1 if options.sh_degree is None else 2
    of_colors = colors.shape
    lead, tail = of_colors[:-own], of_colors[-own:]
    if covars is not None:
        fits = covars.shape == rows + (3, 3)
    else:
        fits = (
            quats is not None
            and quats.shape == rows + (4,)
            and scales is not None
            and scales.shape == rows + (3,)
        )
    return (
        fits
        and len(rows) > 0
        and means.shape[-1] == 3
        and opacities.shape == rows
        and viewmats.shape == images + (4, 4)
        and images[:-1] == rows[:-1]
        and len(images) == len(rows)
        and Ks.shape == images + (3, 3)
        and (lead == rows or lead == images + rows[-1:])
        and tail[-1] > 0
        and (degree is None or (tail[1] == 3 and 0 <= degree <= 4 and (degree + 1) ** 2 <= tail[0]))
        and type(options.width) is type(options.height) is type(options.tile_size) is int
        and min(options.width, options.height, options.tile_size) > 0
        and max(options.width, options.height, options.tile_size) <= _checks.MAX
        and colors.dtype == means.dtype
        and options.render_mode in RENDER_MODES
        and options.rasterize_mode in RASTERIZE_MODES
        and not options.sparse_grad
        and _are_finite(given)
    )


def _are_finite(given: Given) -> bool:
    wanted, on_cpu = settings.check_finite, given[0].device.type == "cpu"
    if wanted is None:
        wanted = on_cpu
    return not wanted or (on_cpu and all_finite(*given))


def _check(given: Given, options: _Options, values: bool = True) -> None:
    """Raises for what is wrong; names argument, expected and found. ``values``: in numbers too."""
    means, _, _, covars, opacities, colors, viewmats, _, _ = given
    named = dict(zip(NAMES, given))
    for name in ("width", "height", "tile_size"):
        _checks.size(name, getattr(options, name))
    _checks.choice("render_mode", options.render_mode, RENDER_MODES)
    _checks.choice("rasterize_mode", options.rasterize_mode, RASTERIZE_MODES)
    _checks.same_kind(named, {"quats", "scales", "covars", "backgrounds"})
    _checks.last("means", means, -1, 3)
    _checks.last("viewmats", viewmats, -1, 4, 4)
    batch, n, c = tuple(means.shape[:-2]), means.shape[-2], viewmats.shape[-3]
    if covars is not None:
        _checks.shape("covars", covars, *batch, n, 3, 3)
    _checks.shape("opacities", opacities, *batch, n)
    _check_colors(colors, options.sh_degree, batch, c, n)
    if values:
        _checks.finite(named, settings.check_finite)
    upper = None if covars is None else covars[..., UPPER[0], UPPER[1]]
    named = {**named, "covars": upper}
    del named["colors"], named["backgrounds"]
    _projection.check_projection(named, options.packed, options.sparse_grad)
    _projection.camera_model_of(options.camera_model)


def _draw(given: Given, options: _Options) -> tuple[Tensor, Tensor, dict[str, Any]]:
    means, quats, scales, covars, opacities, colors, viewmats, Ks, backgrounds = given
    width, height, tile_size, sh_degree = options[:4]
    *leading, n, _ = means.shape
    batch, c = tuple(leading), viewmats.shape[-3]
    camera = _projection.camera_of(width, height, options.limits, options.camera_model)
    upper = None if covars is None else covars[..., UPPER[0], UPPER[1]]
    is_one = math.prod(batch) * c == 1
    # Without gradients the splats of one image are packed behind it, while a card draws.
    later = options.packed and is_one and not torch.is_grad_enabled()
    packs = options.packed and not later
    counted = _ops.Counted(tile_size, settings.exact_tiles, not packs)
    found: Any = apply(
        Project,
        *(means, upper, quats, scales, viewmats, Ks, opacities, camera),
        *(options.rasterize_mode == "antialiased", options.sparse_grad, counted),
    )
    radii, means2d, depths, conics, compensations = found
    sizes = (batch, math.prod(batch), c, n)
    drawn = _spread(opacities, False, sizes, None)
    if compensations is not None:
        drawn = drawn * compensations
    mode = options.render_mode
    is_plain = mode == "RGB" and sh_degree is None and not packs
    ids = image_ids = features = None
    if is_one or not packs:
        features = _features(colors, sh_degree, means, viewmats, radii, sizes, None, is_plain)
    if packs:
        parts = (means2d, depths, conics, drawn, *(() if features is None else (features,)))
        rows, images, radii, parts = _pack(radii, counted, parts)
        means2d, depths, conics, drawn, *packed = parts
        ids = _projection.ids_of(rows, images, sizes[1], c, n)
        image_ids = None if is_one else images
        if is_one:
            (features,) = packed
        else:
            features = _features(colors, sh_degree, means, viewmats, radii, sizes, ids, False)
    features, backgrounds = _with_depth(mode, features, depths, backgrounds, batch + (c,))
    tiles = _tiles.grid(width, height, tile_size)
    drawing = _tiles.Drawing(
        *(radii, depths, image_ids, counted, batch + (c,), (width, height), tiles),
        settings.alpha_max,
        _tiles.Kept(_halves(features, options), torch.is_grad_enabled()),
    )
    image, alphas = apply(
        Draw, means2d, conics, features, drawn, backgrounds, drawing, options.absgrad
    )
    lists: Any = drawing.lists
    flatten_ids = lists.flatten_ids
    splats = (radii, means2d, depths, conics, drawn)
    if later:
        rows, images, radii, parts = _pack(radii, counted, splats[1:])
        splats = (radii, *parts)
        ids = _projection.ids_of(rows, images, 1, 1, n)
        places = flatten_ids.new_empty(n)
        places[rows] = torch.arange(rows.numel(), dtype=places.dtype, device=places.device)
        flatten_ids = places.index_select(0, flatten_ids)
    found = (counted.counts, drawing.isect_ids, flatten_ids, lists.tile_offsets)
    meta = _meta(splats, ids or (None, None, None), found, options, (sizes[1], c))
    return _expected(mode, image, alphas), alphas, meta


def _are_wanted(given: Given) -> bool:
    """Whether gradients of any of these are, where they are enabled."""
    return any(part is not None and part.requires_grad for part in given)


def _pack(
    radii: Tensor, counted: _ops.Counted, parts: tuple[Tensor, ...]
) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, ...]]:
    """Places of the splats that are drawn, their images, and their rows of ``radii``, of the counts
    in ``counted`` and of ``parts``."""
    rows, images = _ops.list_drawn(radii, counted.totals()[1])
    whole = (radii, counted.counts)
    *parts, radii, counted.counts = apply(PackRows, rows, radii.dim() - 1, whole, *parts)
    return rows, images, radii, tuple(parts)


def _halves(features: Tensor, options: _Options) -> bool:
    """Whether the image of features is drawn in halves."""
    return (
        settings.wants_halves(options.sh_degree is not None)
        and not options.absgrad
        and options.limits[0] >= MIN_BLUR
        and _tiles.has_halves(features, options.tile_size, settings.alpha_max)
    )


def _expected(mode: str, image: Tensor, alphas: Tensor) -> Tensor:
    """An image whose depth is divided by alpha, if the mode says so."""
    if mode not in ("ED", "RGB+ED"):
        return image
    expected = image[..., -1:] / alphas.clamp(min=1e-10)
    return torch.cat([image[..., :-1], expected], -1)


def _meta(
    splats: tuple[Tensor, ...],
    ids: tuple[MaybeTensor, MaybeTensor, MaybeTensor],
    lists: tuple[MaybeTensor, ...],
    options: _Options,
    counts: tuple[int, int],
) -> dict[str, Any]:
    radii, means2d, depths, conics, opacities = splats
    width, height, tile_size = options[:3]
    columns, rows = _tiles.grid(width, height, tile_size)
    return {
        "batch_ids": ids[0],
        "camera_ids": ids[1],
        "gaussian_ids": ids[2],
        "radii": radii if settings.radii_per_axis else radii.amax(-1),
        "means2d": means2d,
        "depths": depths,
        "conics": conics,
        "opacities": opacities,
        "tile_width": columns,
        "tile_height": rows,
        "tiles_per_gauss": lists[0],
        "isect_ids": lists[1],
        "flatten_ids": lists[2],
        "isect_offsets": lists[3],
        "width": width,
        "height": height,
        "tile_size": tile_size,
        "n_batches": counts[0],
        "n_cameras": counts[1],
    }


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
    if ids is None:
        if per_camera:
            return values
        values = values.unsqueeze(len(batch))
        tail = values.shape[len(batch) + 2 :]
        return values if c == 1 else values.expand(batch + (c, n) + tail)
    tail = tuple(values.shape[len(batch) + 1 + per_camera :])
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
    plain: bool,
) -> Tensor:
    """The colours of splats: as given, or max(harmonics + 1/2, 0) in the direction of view."""
    batch, b, c, _ = sizes
    own = 1 if sh_degree is None else 2
    per_camera = colors.dim() == len(batch) + 2 + own
    found: Tensor
    if ids is None and sh_degree is not None:
        found = apply(ViewColors, sh_degree, means, viewmats, colors, radii)
        return found
    if ids is None and c == 1 and plain:
        return colors  # Drawn as it is: one image's splats are the Gaussians.
    spread = _spread(colors, per_camera, sizes, ids)
    if sh_degree is None:
        return spread
    rows = _spread(means, False, sizes, ids)
    # Without a wait for the card, which looks whether there is an inverse.
    inverse, _ = torch.linalg.inv_ex(viewmats, check_errors=viewmats.device.type == "cpu")
    dirs = rows - inverse[..., :3, 3].reshape(b, c, 3)[ids[0], ids[1]]
    return (apply(Harmonics, sh_degree, dirs, spread, None) + 0.5).clamp_min(0)


def _with_depth(
    mode: str,
    features: Tensor,
    depths: Tensor,
    backgrounds: MaybeTensor,
    images: tuple[int, ...],
) -> tuple[Tensor, MaybeTensor]:
    """Features and backgrounds with the depth that a mode adds or takes; its background is 0."""
    if backgrounds is not None and mode not in ("D", "ED"):
        _checks.shape("backgrounds", backgrounds, *images, features.shape[-1])
    if mode == "RGB":
        return features, backgrounds
    depth = depths[..., None]
    zero = None if backgrounds is None else backgrounds.new_zeros(images + (1,))
    if mode in ("D", "ED"):
        return depth, zero
    if backgrounds is not None and zero is not None:
        backgrounds = torch.cat([backgrounds, zero], -1)
    return torch.cat([features, depth], -1), backgrounds
