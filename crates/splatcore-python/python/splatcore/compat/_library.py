"""The operations as custom operators of torch, which ``torch.compile`` keeps in its graph.

``torch.ops.splatcore.project``, ``view_colors`` and ``draw`` have gradients and shapes for tracing
(``torch.library.opcheck`` passes). ``rasterization`` calls them where it is compiled, and the
quicker autograd functions of ``_functions`` elsewhere: on the CPU a call of an operator takes 25 to
75 us more. There are none below torch 2.4.
"""

# No `from __future__ import annotations`: torch reads the signatures.

import math
from typing import Any, Optional

import torch
from torch import Tensor

from . import _functions, _ops, _tiles

HAS_OPERATORS = hasattr(torch.library, "custom_op")
Five = tuple[Tensor, Tensor, Tensor, Tensor, Tensor]
Six = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]
Seven = tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]


def _contiguous(*tensors: Optional[Tensor]) -> list[Any]:
    return [None if tensor is None else tensor.contiguous() for tensor in tensors]


def _or_empty(tensor: Optional[Tensor], like: Tensor) -> Tensor:
    """An operator returns no None."""
    return like.new_empty(0) if tensor is None else tensor


def project(
    means: Tensor,
    covars: Optional[Tensor],
    quats: Optional[Tensor],
    scales: Optional[Tensor],
    viewmats: Tensor,
    Ks: Tensor,
    opacities: Optional[Tensor],
    width: int,
    height: int,
    eps2d: float,
    near_plane: float,
    far_plane: float,
    radius_clip: float,
    model: str,
    radius_rule: str,
    compensate: bool,
) -> Five:
    """Means2d, depths, conics, compensations (empty unless wanted) and radii of splats."""
    given = _contiguous(means, covars, quats, scales, viewmats, Ks, opacities)
    camera = _ops.Camera(
        *(width, height, eps2d, near_plane, far_plane, radius_clip, model, radius_rule)
    )
    gaussians, cameras = _ops.Gaussians(*given[:4]), _ops.Cameras(*given[4:6])
    found = _ops.project_forward(gaussians, given[6], cameras, camera, compensate)
    factors = _or_empty(found.compensations, means)
    return found.means2d, found.depths, found.conics, factors, found.radii


def _project_fake(means: Tensor, *rest: Any) -> Five:
    viewmats, compensate = rest[3], rest[-1]
    shape = (*means.shape[:-2], viewmats.shape[-3], means.shape[-2])
    new = means.new_empty
    radii = new((*shape, 2), dtype=torch.int32)
    factors = new(shape if compensate else (0,))
    return new((*shape, 2)), new(shape), new((*shape, 3)), factors, radii


def project_backward(
    means: Tensor,
    covars: Optional[Tensor],
    quats: Optional[Tensor],
    scales: Optional[Tensor],
    viewmats: Tensor,
    Ks: Tensor,
    radii: Tensor,
    conics: Tensor,
    compensations: Optional[Tensor],
    v_means2d: Tensor,
    v_depths: Tensor,
    v_conics: Tensor,
    v_compensations: Optional[Tensor],
    width: int,
    height: int,
    eps2d: float,
    model: str,
) -> Six:
    """As ``_ops.project_backward``, of all; an empty tensor for what is not given."""
    given = _contiguous(means, covars, quats, scales, viewmats, Ks)
    splats = _contiguous(radii, conics, compensations)
    upstream = _contiguous(v_means2d, v_depths, v_conics, v_compensations)
    found = _ops.project_backward(
        _ops.Gaussians(*given[:4]),
        _ops.Cameras(*given[4:]),
        (width, height, eps2d, model),
        tuple(splats),  # type: ignore[arg-type]
        tuple(upstream),  # type: ignore[arg-type]
        (True, True),
    )
    a, b, c, d, e, f = (_or_empty(part, means) for part in found)
    return a, b, c, d, e, f


def _project_backward_fake(*given: Any) -> Six:
    means = given[0]
    a, b, c, d, e, f = (
        means.new_empty(0 if part is None else part.shape) for part in given[:6]
    )
    return a, b, c, d, e, f


def _project_setup(ctx: Any, inputs: tuple[Any, ...], output: Five) -> None:
    _, _, conics, factors, radii = output
    ctx.save_for_backward(*inputs[:6], radii, conics, factors)
    ctx.rest = (*inputs[7:10], inputs[13])
    ctx.compensates = inputs[15]
    ctx.mark_non_differentiable(radii)
    ctx.set_materialize_grads(False)


def _project_gradient(ctx: Any, *given: Any) -> tuple[Any, ...]:
    *inputs, radii, conics, factors = ctx.saved_tensors
    upstream = [
        conics.new_zeros(conics.shape[:-1] + tail) if part is None else part
        for part, tail in zip(given[:4], ((2,), (), (3,), ()))
    ]
    if not ctx.compensates:
        factors = upstream[3] = None
    found = torch.ops.splatcore.project_backward(
        *inputs, radii, conics, factors, *upstream, *ctx.rest
    )
    gradients = [
        part if need else None for part, need in zip(found, ctx.needs_input_grad[:6])
    ]
    return (*gradients, *(None,) * 10)


def view_colors(
    degree: int, means: Tensor, viewmats: Tensor, coeffs: Tensor, radii: Tensor
) -> Tensor:
    """As ``_functions.ViewColors``."""
    return _functions.ViewColors.colors(degree, means, viewmats, coeffs, radii)[0]


def view_colors_backward(
    degree: int, means: Tensor, viewmats: Tensor, coeffs: Tensor, radii: Tensor, v_colors: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of means, viewmats and coeffs."""
    view = _functions.ViewColors
    kept = view.colors(degree, means, viewmats, coeffs, radii)
    is_shared = coeffs.dim() == means.dim() + 1
    v_means, v_viewmats, v_coeffs = view.gradients(
        degree, is_shared, kept, viewmats, v_colors.contiguous(), (True, True)
    )
    return _or_empty(v_means, means), _or_empty(v_viewmats, means), v_coeffs


def _view_colors_setup(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.degree = inputs[0]
    ctx.save_for_backward(*inputs[1:])


def _view_colors_gradient(ctx: Any, v_colors: Tensor) -> tuple[Any, ...]:
    found = torch.ops.splatcore.view_colors_backward(ctx.degree, *ctx.saved_tensors, v_colors)
    needed = ctx.needs_input_grad[1:4]
    return (None, *(part if need else None for part, need in zip(found, needed)), None)


def draw(
    means2d: Tensor,
    radii: Tensor,
    depths: Tensor,
    conics: Tensor,
    colors: Tensor,
    opacities: Tensor,
    backgrounds: Optional[Tensor],
    width: int,
    height: int,
    tile_size: int,
    alpha_max: float,
    exact_tiles: bool,
    halves: bool,
) -> Seven:
    """Images and alphas of splats ``[..., C, N]``; then what the backward pass needs besides, tiles
    of each splat, keys, splats and beginnings of lists, none of which has a gradient."""
    splats = _tiles.Splats(*_contiguous(means2d, conics, colors, opacities))
    (backgrounds,) = _contiguous(backgrounds)
    tiles = _tiles.grid(width, height, tile_size)
    dims = tuple(radii.shape[:-2])
    images = math.prod(dims)
    radii, depths = radii.contiguous(), depths.contiguous()
    counts, isect_ids, flatten_ids = _tiles.intersect(
        *(splats.means2d, radii, depths, None, images, (tile_size, *tiles), True),
        (splats.conics, splats.opacities) if exact_tiles else (None, None),
    )
    offsets = _tiles.offsets(isect_ids, images, *tiles).view(*dims, tiles[1], tiles[0])
    lists = _tiles.Lists(
        *(backgrounds, None, width, height, tile_size, offsets, flatten_ids, alpha_max)
    )
    image, alphas, kept = _tiles.rasterize_forward(splats, lists, _tiles.Kept(halves))
    assert kept is not None
    return image, alphas, kept, counts, isect_ids, flatten_ids, offsets


def _draw_fake(means2d: Tensor, radii: Tensor, *rest: Any) -> Seven:
    colors, (width, height, tile_size, *_) = rest[2], rest[5:]
    pairs = torch.library.get_ctx().new_dynamic_size()
    columns, rows = _tiles.grid(width, height, tile_size)
    dims = radii.shape[:-2]
    new = means2d.new_empty
    ints = {"dtype": torch.int32}
    channels, halves = colors.shape[-1], rest[-1]
    return (
        new((*dims, height, width, channels)),
        new((*dims, height, width, 1)),
        new((*dims, channels, height, width)) if halves else new((*dims, height, width), **ints),
        new(radii.shape[:-1], **ints),
        new(pairs, dtype=torch.int64),
        new(pairs, **ints),
        new((*dims, rows, columns), **ints),
    )


def draw_backward(
    means2d: Tensor,
    conics: Tensor,
    colors: Tensor,
    opacities: Tensor,
    backgrounds: Optional[Tensor],
    offsets: Tensor,
    flatten_ids: Tensor,
    alphas: Tensor,
    kept: Tensor,
    v_image: Tensor,
    v_alphas: Tensor,
    width: int,
    height: int,
    tile_size: int,
    alpha_max: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of means2d, conics, colors and opacities."""
    splats = _tiles.Splats(*_contiguous(means2d, conics, colors, opacities))
    (backgrounds,) = _contiguous(backgrounds)
    lists = _tiles.Lists(
        *(backgrounds, None, width, height, tile_size, offsets, flatten_ids, alpha_max)
    )
    v_image, v_alphas = v_image.contiguous(), v_alphas.contiguous()
    found = _tiles.rasterize_backward(splats, lists, alphas, kept, v_image, v_alphas, False)
    return found.means2d, found.conics, found.colors, found.opacities


def _like(*tensors: Tensor) -> Any:
    return tuple(tensor.new_empty(tensor.shape) for tensor in tensors)


def _draw_setup(ctx: Any, inputs: tuple[Any, ...], output: Seven) -> None:
    means2d, _, _, conics, colors, opacities, backgrounds, *rest, _, _ = inputs
    _, alphas, kept, _, _, flatten_ids, offsets = output
    splats = (means2d, conics, colors, opacities, backgrounds)
    ctx.save_for_backward(*splats, offsets, flatten_ids, alphas, kept)
    ctx.rest = rest
    ctx.mark_non_differentiable(*output[2:])
    ctx.set_materialize_grads(False)


def _draw_gradient(ctx: Any, v_image: Any, v_alphas: Any, *rest: Any) -> tuple[Any, ...]:
    saved = ctx.saved_tensors
    colors, alphas = saved[2], saved[7]
    if v_image is None:
        v_image = alphas.new_zeros((*alphas.shape[:-1], colors.shape[-1]))
    if v_alphas is None:
        v_alphas = torch.zeros_like(alphas)
    means2d, conics, v_colors, opacities = torch.ops.splatcore.draw_backward(
        *saved, v_image, v_alphas, *ctx.rest
    )
    backgrounds = None
    if ctx.needs_input_grad[6]:
        backgrounds = (v_image * (1 - alphas)).sum((-3, -2))
    return means2d, None, None, conics, v_colors, opacities, backgrounds, *(None,) * 6


def _register(function: Any, fake: Any, gradient: Any = None, setup: Any = None) -> None:
    name = f"splatcore::{function.__name__}"
    operator = torch.library.custom_op(name, function, mutates_args=())
    operator.register_fake(fake)
    if gradient is not None:
        operator.register_autograd(gradient, setup_context=setup)


if HAS_OPERATORS:
    _register(project_backward, _project_backward_fake)
    _register(project, _project_fake, _project_gradient, _project_setup)
    _register(view_colors_backward, lambda degree, *given: _like(*given[:3]))
    _register(
        view_colors,
        lambda degree, means, viewmats, coeffs, radii: means.new_empty(
            (*radii.shape[:-1], coeffs.shape[-1])
        ),
        _view_colors_gradient,
        _view_colors_setup,
    )
    _register(draw_backward, lambda *given: _like(*given[:4]))
    _register(draw, _draw_fake, _draw_gradient, _draw_setup)
