"""The operations that have gradients, as torch's autograd functions.

Projection and rasterization are two functions, so that a program can read the gradient of the
splats' positions in the image between them, which densification needs. Gradients of gradients are
not there.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from . import _ops, _tiles

MaybeTensor = Optional[Tensor]


def _or_zeros(gradient: MaybeTensor, like: Tensor) -> Tensor:
    """Autograd gives None for an output that nothing used."""
    return like.new_zeros(like.shape) if gradient is None else gradient.contiguous()


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
    ) -> tuple[MaybeTensor, ...]:
        inputs = [
            None if part is None else part.contiguous()
            for part in (means, covars, quats, scales, viewmats, Ks, opacities)
        ]
        gaussians = _ops.Gaussians(*inputs[:4])  # type: ignore[arg-type]
        cameras = _ops.Cameras(*inputs[4:6])  # type: ignore[arg-type]
        found = _ops.project_forward(gaussians, inputs[6], cameras, camera, compensate)
        ctx.save_for_backward(*inputs[:6], found.radii, found.conics, found.compensations)
        ctx.camera = (camera.width, camera.height, camera.eps2d, camera.model)
        ctx.sparse = sparse
        ctx.mark_non_differentiable(found.radii)
        ctx.set_materialize_grads(False)
        return tuple(found)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any,
        _radii: MaybeTensor,
        v_means2d: MaybeTensor,
        v_depths: MaybeTensor,
        v_conics: MaybeTensor,
        v_compensations: MaybeTensor,
    ) -> tuple[MaybeTensor, ...]:
        *inputs, radii, conics, compensations = ctx.saved_tensors
        gaussians, cameras = _ops.Gaussians(*inputs[:4]), _ops.Cameras(*inputs[4:])
        upstream = (
            _or_zeros(v_means2d, conics[..., :2]),
            _or_zeros(v_depths, conics[..., 0]),
            _or_zeros(v_conics, conics),
            None if compensations is None else _or_zeros(v_compensations, compensations),
        )
        needed = ctx.needs_input_grad[:6]
        found = _ops.project_backward(
            gaussians,
            cameras,
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
            gradients[:4] = [
                None if part is None else _sparse(part, seen) for part in gradients[:4]
            ]
        return (*gradients, None, None, None, None)


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
    ) -> tuple[Tensor, Tensor]:
        parts = [part.contiguous() for part in (means2d, conics, colors, opacities)]
        splats = _tiles.Splats(*parts)
        backgrounds = None if backgrounds is None else backgrounds.contiguous()
        lists = lists._replace(backgrounds=backgrounds)
        image, alphas, last_ids = _tiles.rasterize_forward(splats, lists)
        # means2d twice: as it was given, which is the tensor that gets `absgrad`.
        ctx.save_for_backward(
            means2d,
            *parts,
            backgrounds,
            lists.masks,
            lists.tile_offsets,
            lists.flatten_ids,
            alphas,
            last_ids,
        )
        ctx.rest = (lists.width, lists.height, lists.tile_size, lists.alpha_max)
        ctx.absgrad = absgrad
        ctx.set_materialize_grads(False)
        return image, alphas

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, v_image: MaybeTensor, v_alphas: MaybeTensor) -> tuple[MaybeTensor, ...]:
        given, *parts, backgrounds, masks, tile_offsets, flatten_ids, alphas, last_ids = (
            ctx.saved_tensors
        )
        width, height, tile_size, alpha_max = ctx.rest
        splats = _tiles.Splats(*parts)
        lists = _tiles.Lists(
            backgrounds, masks, width, height, tile_size, tile_offsets, flatten_ids, alpha_max
        )
        channels = splats.colors.shape[-1]
        v_alphas = _or_zeros(v_alphas, alphas)
        v_image = _or_zeros(v_image, alphas.expand(*alphas.shape[:-1], channels))
        found = _tiles.rasterize_backward(
            splats, lists, alphas, last_ids, v_image, v_alphas, ctx.absgrad
        )
        if ctx.absgrad:
            given.absgrad = found.means2d_abs
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
        )


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
    @once_differentiable
    def backward(ctx: Any, v_colors: Tensor) -> tuple[MaybeTensor, ...]:
        dirs, coeffs, masks = ctx.saved_tensors
        v_coeffs, v_dirs = _ops.harmonics_backward(
            ctx.degree, dirs, coeffs, masks, v_colors.contiguous(), ctx.needs_input_grad[1]
        )
        return None, v_dirs, v_coeffs, None


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
    @once_differentiable
    def backward(ctx: Any, v_covars: MaybeTensor, v_precis: MaybeTensor) -> tuple[MaybeTensor, ...]:
        quats, scales = ctx.saved_tensors
        upstream = [
            None if part is None else (part.to_dense() if part.is_sparse else part).contiguous()
            for part in (v_covars, v_precis)
        ]
        v_quats, v_scales = _ops.covariances_backward(quats, scales, ctx.triu, *upstream)
        return v_quats, v_scales, None, None, None


class SimpleProjection(torch.autograd.Function):
    """Means and covariances in camera space to the image; gradients of both."""

    @staticmethod
    def forward(
        ctx: Any, means: Tensor, covars: Tensor, Ks: Tensor, width: int, height: int, model: str
    ) -> tuple[Tensor, Tensor]:
        inputs = (means.contiguous(), covars.contiguous(), Ks.contiguous())
        ctx.save_for_backward(*inputs)
        ctx.size, ctx.model = (width, height), model
        ctx.set_materialize_grads(False)
        return _ops.simple_forward(*inputs, width, height, model)

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, v_means2d: MaybeTensor, v_covars2d: MaybeTensor
    ) -> tuple[MaybeTensor, ...]:
        means, covars, Ks = ctx.saved_tensors
        v_means2d = _or_zeros(v_means2d, means[..., :2])
        v_covars2d = _or_zeros(v_covars2d, covars[..., :2, :2])
        gradients = _ops.simple_backward(
            means, covars, Ks, ctx.size, ctx.model, v_means2d, v_covars2d
        )
        return (*gradients, None, None, None, None)
