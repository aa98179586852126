"""The operations that have gradients, as torch's autograd functions.

Projection and rasterization are two functions, so that a program can read the gradient of the
splats' positions in the image between them, which densification needs. Gradients of gradients are
not there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.autograd.function import once_differentiable

from . import _ops, _tiles

MaybeTensor = Optional[Tensor]


def _once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """torch's decorator, without what it costs where no graph of a gradient is asked for."""
    refusing = once_differentiable(backward)

    def either(ctx: Any, *gradients: Any) -> Any:
        return refusing(ctx, *gradients) if torch.is_grad_enabled() else backward(ctx, *gradients)

    return either


def _or_zeros(gradient: MaybeTensor, like: Tensor, *tail: int) -> Tensor:
    """Autograd gives None for an output that nothing used: its shape is ``like``'s, but for the
    last dimension."""
    if gradient is None:
        return like.new_zeros((*like.shape[:-1], *tail))
    return gradient.contiguous()


# In torch from 2.3 on.
is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
_has_transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)


class _NoContext:
    """The context of a call whose gradients nobody wants: keeps nothing."""

    __slots__ = ()

    def __setattr__(self, name: str, value: object) -> None:
        """What a function keeps beside tensors."""

    def save_for_backward(self, *tensors: MaybeTensor) -> None: ...

    def mark_non_differentiable(self, *tensors: Tensor) -> None: ...

    def set_materialize_grads(self, value: bool) -> None: ...


_NO_CONTEXT = _NoContext()


def apply(function: type[torch.autograd.Function], *args: Any) -> Any:
    """``function.apply``, without what torch's takes to look through arguments for remains of
    ``torch.func``: half of a call. Where one of its transforms is active, torch refuses. Under
    ``torch.no_grad`` the function is called as it is."""
    if is_compiling() or _has_transforms():
        return function.apply(*args)
    # Of derivatives forwards torch says that there are none.
    if not torch.is_grad_enabled() and getattr(forward_ad, "_current_level", 0) < 0:
        return function.forward(_NO_CONTEXT, *args)
    return super(torch.autograd.Function, function).apply(*args)


class Project(torch.autograd.Function):
    """Gaussians to splats: radii, means2d, depths, conics, compensations.

    Gradients reach means, covars or quats and scales, viewmats and Ks, never opacities, which only
    bound the splats.
    """

    @staticmethod
    def forward(
        ctx: Any,
        means: Tensor,
        covars: MaybeTensor,
        quats: MaybeTensor,
        scales: MaybeTensor,
        viewmats: Tensor,
        Ks: Tensor,
        opacities: MaybeTensor,
        camera: _ops.Camera,
        compensate: bool,
        sparse: bool,
        counted: Optional[_ops.Counted] = None,
    ) -> tuple[MaybeTensor, ...]:
        inputs = [
            None if part is None else part.contiguous()
            for part in (means, covars, quats, scales, viewmats, Ks, opacities)
        ]
        gaussians = _ops.Gaussians(*inputs[:4])  # type: ignore[arg-type]
        cameras = _ops.Cameras(*inputs[4:6])  # type: ignore[arg-type]
        found = _ops.project_forward(gaussians, inputs[6], cameras, camera, compensate, counted)
        ctx.save_for_backward(*inputs[:6], found.radii, found.conics, found.compensations)
        ctx.camera = (camera.width, camera.height, camera.eps2d, camera.model)
        ctx.sparse = sparse
        ctx.mark_non_differentiable(found.radii)
        ctx.set_materialize_grads(False)
        return tuple(found)

    @staticmethod
    @_once_differentiable
    def backward(
        ctx: Any,
        _radii: MaybeTensor,
        v_means2d: MaybeTensor,
        v_depths: MaybeTensor,
        v_conics: MaybeTensor,
        v_compensations: MaybeTensor,
    ) -> tuple[MaybeTensor, ...]:
        *inputs, radii, conics, compensations = ctx.saved_tensors
        upstream = (
            _or_zeros(v_means2d, conics, 2),
            None if v_depths is None else v_depths.contiguous(),
            _or_zeros(v_conics, conics, 3),
            None if compensations is None else _or_zeros(v_compensations, conics),
        )
        needed = ctx.needs_input_grad[:6]
        found = _ops.project_backward(
            _ops.Gaussians(*inputs[:4]),
            _ops.Cameras(*inputs[4:]),
            ctx.camera,
            (radii, conics, compensations),
            upstream,
            (needed[4], needed[5]),
        )
        gradients: list[MaybeTensor] = [
            gradient if need else None for gradient, need in zip(found, needed)
        ]
        if ctx.sparse:
            seen = (radii > 0).all(-1).reshape(-1, radii.shape[-2]).any(0).nonzero()[:, 0]
            sparse = (None if part is None else _sparse(part, seen) for part in gradients[:4])
            gradients[:4] = sparse
        return (*gradients, None, None, None, None, None)


class PackRows(torch.autograd.Function):
    """The rows ``[n, ...]`` of tensors ``[..., C, N, ...]``, in the order of ``rows``.

    A row is a place in ``[..., C, N]``, which are the first ``leading`` dimensions. Behind the
    tensors ``parts``, which have gradients, those of ``whole`` are returned, int32 without.
    """

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, leading: int, whole: tuple[Tensor, ...], *parts: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.save_for_backward(rows)
        ctx.shape = parts[0].shape[:leading]
        ctx.set_materialize_grads(False)
        packed, packed_whole = _ops.gather_rows(rows, leading, parts, whole)
        ctx.mark_non_differentiable(*packed_whole)
        return (*packed, *packed_whole)

    @staticmethod
    @_once_differentiable
    def backward(ctx: Any, *gradients: MaybeTensor) -> tuple[MaybeTensor, ...]:
        (rows,) = ctx.saved_tensors
        given = [part.contiguous() for part in gradients if part is not None]
        spread = iter(_ops.scatter_rows(rows, ctx.shape, given))
        wanted = gradients[: len(ctx.needs_input_grad) - 3]
        found = [None if part is None else next(spread) for part in wanted]
        return (None, None, None, *found)


def _sparse(gradient: Tensor, rows: Tensor) -> Tensor:
    """The rows of a gradient, as a coalesced COO tensor; the others are zero."""
    # Said in so many words, since some versions of torch warn otherwise.
    with torch.sparse.check_sparse_tensor_invariants(False):
        return torch.sparse_coo_tensor(
            rows[None], gradient[rows], gradient.shape, is_coalesced=True, check_invariants=False
        )


class Rasterize(torch.autograd.Function):
    """Splats to images and alphas. ``means2d`` gets the attribute ``absgrad`` if wanted."""

    @staticmethod
    def forward(
        ctx: Any,
        means2d: Tensor,
        conics: Tensor,
        colors: Tensor,
        opacities: Tensor,
        backgrounds: MaybeTensor,
        lists: _tiles.Lists,
        absgrad: bool,
        kept: _tiles.Kept = _tiles.Kept(),
    ) -> tuple[Tensor, Tensor]:
        parts = [part.contiguous() for part in (means2d, conics, colors, opacities)]
        splats = _tiles.Splats(*parts)
        backgrounds = None if backgrounds is None else backgrounds.contiguous()
        lists = lists._replace(backgrounds=backgrounds)
        image, alphas, needed = _tiles.rasterize_forward(splats, lists, kept)
        _keep_splats(ctx, means2d, splats, lists, alphas, needed)
        ctx.absgrad = absgrad
        return image, alphas

    @staticmethod
    @_once_differentiable
    def backward(ctx: Any, v_image: MaybeTensor, v_alphas: MaybeTensor) -> tuple[MaybeTensor, ...]:
        given, *parts, backgrounds, masks, tile_offsets, flatten_ids, alphas, kept = (
            ctx.saved_tensors
        )
        width, height, tile_size, alpha_max = ctx.rest
        splats = _tiles.Splats(*parts)
        lists = _tiles.Lists(
            backgrounds, masks, width, height, tile_size, tile_offsets, flatten_ids, alpha_max
        )
        channels = splats.colors.shape[-1]
        v_alphas = None if v_alphas is None else v_alphas.contiguous()
        v_image = _or_zeros(v_image, alphas, channels)
        found = _tiles.rasterize_backward(
            splats, lists, alphas, kept, v_image, v_alphas, ctx.absgrad
        )
        if ctx.absgrad:
            tensor: Any = splats.means2d if given is None else given
            tensor.absgrad = found.means2d_abs
        v_backgrounds = None
        if ctx.needs_input_grad[4]:
            v_backgrounds = (v_image * (1 - alphas)).sum((-3, -2))
        return (
            found.means2d,
            found.conics,
            found.colors,
            found.opacities,
            v_backgrounds,
            None,
            None,
            None,
        )


def _keep_splats(
    ctx: Any, given: Tensor, splats: _tiles.Splats, lists: _tiles.Lists, *images: MaybeTensor
) -> None:
    """Keeps what the backward pass needs. ``given`` is means2d, which gets ``absgrad``."""
    backgrounds, masks, *sizes, tile_offsets, flatten_ids, alpha_max = lists
    other = None if given is splats.means2d else given
    ctx.save_for_backward(other, *splats, backgrounds, masks, tile_offsets, flatten_ids, *images)
    ctx.rest = (*sizes, alpha_max)
    ctx.set_materialize_grads(False)


class Draw(Rasterize):
    """As ``Rasterize``, which finds the lists of tiles too."""

    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any,
        means2d: Tensor,
        conics: Tensor,
        colors: Tensor,
        opacities: Tensor,
        backgrounds: MaybeTensor,
        drawing: _tiles.Drawing,
        absgrad: bool,
    ) -> tuple[Tensor, Tensor]:
        splats = _tiles.Splats(means2d, conics, colors.contiguous(), opacities.contiguous())
        backgrounds = None if backgrounds is None else backgrounds.contiguous()
        lists, image, alphas, needed = _tiles.draw_forward(splats, backgrounds, drawing)
        _keep_splats(ctx, means2d, splats, lists, alphas, needed)
        ctx.absgrad = absgrad
        return image, alphas


class Harmonics(torch.autograd.Function):
    """Sums of spherical harmonics; gradients of dirs and coeffs."""

    @staticmethod
    def forward(ctx: Any, degree: int, dirs: Tensor, coeffs: Tensor, masks: MaybeTensor) -> Tensor:
        dirs, coeffs = dirs.contiguous(), coeffs.contiguous()
        masks = None if masks is None else masks.contiguous()
        ctx.save_for_backward(dirs, coeffs, masks)
        ctx.degree = degree
        return _ops.harmonics_forward(degree, dirs, coeffs, masks)

    @staticmethod
    @_once_differentiable
    def backward(ctx: Any, v_colors: Tensor) -> tuple[MaybeTensor, ...]:
        dirs, coeffs, masks = ctx.saved_tensors
        v_coeffs, v_dirs = _ops.harmonics_backward(
            ctx.degree, dirs, coeffs, masks, v_colors.contiguous(), ctx.needs_input_grad[1]
        )
        return None, v_dirs, v_coeffs, None


Viewed = tuple[Tensor, Tensor, MaybeTensor, Tensor]


class ViewColors(torch.autograd.Function):
    """max(harmonics + 1/2, 0) in the directions of view ``[..., C, N, D]``.

    Gradients of means, viewmats and coeffs, which are ``[..., N, K, D]`` or ``[..., C, N, K, D]``.
    Where ``radii`` are 0, coefficients are not read.
    """

    @staticmethod
    def forward(
        ctx: Any, degree: int, means: Tensor, viewmats: Tensor, coeffs: Tensor, radii: MaybeTensor
    ) -> Tensor:
        viewed = ViewColors.colors(degree, means, viewmats, coeffs, radii)
        ctx.save_for_backward(viewmats, *viewed)
        ctx.is_shared, ctx.degree = coeffs.dim() == means.dim() + 1, degree
        return viewed[0]

    @staticmethod
    @_once_differentiable
    def backward(ctx: Any, v_colors: Tensor) -> tuple[MaybeTensor, ...]:
        viewmats, *viewed = ctx.saved_tensors
        wanted = ctx.needs_input_grad[1:3]
        gradients = ViewColors.gradients(
            ctx.degree, ctx.is_shared, tuple(viewed), viewmats, v_colors, wanted
        )
        return None, *gradients, None

    @staticmethod
    def colors(
        degree: int, means: Tensor, viewmats: Tensor, coeffs: Tensor, radii: MaybeTensor
    ) -> Viewed:
        """Colours, and what the gradients need: directions, masks, coefficients."""
        means, viewmats = means.contiguous(), viewmats.contiguous()
        cameras = viewmats.shape[-3]
        if coeffs.dim() == means.dim() + 1 and cameras != 1:
            *batch, n, k, d = coeffs.shape
            coeffs = coeffs.unsqueeze(-4).expand(*batch, cameras, n, k, d)
        coeffs = coeffs.contiguous()
        colors, dirs, masks = _ops.view_colors(degree, means, viewmats, radii, coeffs)
        return colors, dirs, masks, coeffs

    @staticmethod
    def gradients(
        degree: int,
        is_shared: bool,
        viewed: Viewed,
        viewmats: Tensor,
        v_colors: Tensor,
        wanted: tuple[bool, bool],
    ) -> tuple[MaybeTensor, MaybeTensor, Tensor]:
        """Those of means, viewmats and coeffs; ``wanted``: whether those of the first two are."""
        colors, dirs, masks, coeffs = viewed
        want_means, want_viewmats = wanted
        v_coeffs, v_dirs = _ops.harmonics_backward(
            *(degree, dirs, coeffs, masks, v_colors.contiguous()),
            *(want_means or want_viewmats, colors),
        )
        cameras = dirs.shape[-3]
        if is_shared and cameras != 1:
            v_coeffs = v_coeffs.sum(-4)
        v_means = v_viewmats = None
        if want_means and v_dirs is not None:
            v_means = v_dirs.squeeze(-3) if cameras == 1 else v_dirs.sum(-3)
        if want_viewmats and v_dirs is not None:
            # Of the inverse M of a matrix V: dM = -M dV M. A centre is a part of M's last column.
            inverse = torch.inverse(viewmats)
            # No matrix product, which autocast would compute in half precision.
            rows = (v_dirs.sum(-2)[..., :, None] * inverse[..., :3, :]).sum(-2)
            v_viewmats = rows[..., None] * inverse[..., None, :, 3]
        return v_means, v_viewmats, v_coeffs


class Covariances(torch.autograd.Function):
    """Quaternions and scales to covariances and precisions."""

    @staticmethod
    def forward(
        ctx: Any, quats: Tensor, scales: Tensor, covar: bool, preci: bool, triu: bool
    ) -> tuple[MaybeTensor, MaybeTensor]:
        quats, scales = quats.contiguous(), scales.contiguous()
        ctx.save_for_backward(quats, scales)
        ctx.triu = triu
        ctx.set_materialize_grads(False)
        return _ops.covariances_forward(quats, scales, covar, preci, triu)

    @staticmethod
    @_once_differentiable
    def backward(ctx: Any, v_covars: MaybeTensor, v_precis: MaybeTensor) -> tuple[MaybeTensor, ...]:
        quats, scales = ctx.saved_tensors
        upstream = [
            None if part is None else (part.to_dense() if part.is_sparse else part).contiguous()
            for part in (v_covars, v_precis)
        ]
        v_quats, v_scales = _ops.covariances_backward(quats, scales, ctx.triu, *upstream)
        return v_quats, v_scales, None, None, None
