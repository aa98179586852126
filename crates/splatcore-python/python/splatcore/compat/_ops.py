"""The native functions with results allocated by torch and with gsplat's shapes.

``...`` are batch dimensions, any number of them. Tensors are contiguous. Nothing here has a
gradient: ``_functions`` does.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Optional

import torch
from torch import Tensor

from ._native import call

MaybeTensor = Optional[Tensor]
CAMERA_MODELS = ("pinhole", "ortho", "fisheye")


class Camera(NamedTuple):
    """What a projection takes besides tensors: pixels, world units, names."""

    width: int
    height: int
    eps2d: float
    near_plane: float
    far_plane: float
    radius_clip: float
    model: str
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


def _batched(tensor: MaybeTensor, batch: int, dims: int) -> MaybeTensor:
    """``[..., x, y]`` as ``[B, x, y]``: the last ``dims`` dimensions stay."""
    return None if tensor is None else tensor.reshape(batch, *tensor.shape[tensor.dim() - dims :])


def project_forward(
    gaussians: Gaussians, opacities: MaybeTensor, cameras: Cameras, camera: Camera, compensate: bool
) -> Projected:
    """EWA projection (Zwicker et al. 2001, Kerbl et al. 2023) of N Gaussians into C cameras."""
    means = gaussians.means
    batch = means.shape[:-2]
    b = math.prod(batch)
    c, n = cameras.viewmats.shape[-3], means.shape[-2]
    shape = (b, c, n)
    radii = means.new_zeros(shape + (2,), dtype=torch.int32)
    means2d, depths = means.new_zeros(shape + (2,)), means.new_zeros(shape)
    conics = means.new_zeros(shape + (3,))
    compensations = means.new_zeros(shape) if compensate else None
    if radii.numel() > 0:
        call(
            "projection_fwd",
            means.device,
            _batched(means, b, 2),
            _batched(gaussians.covars, b, 2),
            _batched(gaussians.quats, b, 2),
            _batched(gaussians.scales, b, 2),
            _batched(opacities, b, 1),
            _batched(cameras.viewmats, b, 3),
            _batched(cameras.Ks, b, 3),
            *camera,
            radii,
            means2d,
            depths,
            conics,
            compensations,
        )
    images = tuple(batch) + (c, n)
    return Projected(
        radii.view(images + (2,)),
        means2d.view(images + (2,)),
        depths.view(images),
        conics.view(images + (3,)),
        None if compensations is None else compensations.view(images),
    )


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
    camera: tuple[int, int, float, str],
    projected: tuple[Tensor, Tensor, MaybeTensor],
    upstream: tuple[Tensor, Tensor, Tensor, MaybeTensor],
    wanted: tuple[bool, bool],
) -> ProjectionGradients:
    """Gradients of a projection.

    ``camera``: width, height, eps2d, model. ``projected``: radii, conics, compensations.
    ``upstream``: gradients of means2d, depths, conics, compensations. ``wanted``: whether those of
    viewmats and Ks are.
    """
    means = gaussians.means
    b = math.prod(means.shape[:-2])
    parts = [None if part is None else torch.zeros_like(part) for part in gaussians]
    parts += [torch.zeros_like(part) if want else None for part, want in zip(cameras, wanted)]
    found = ProjectionGradients(*parts)  # type: ignore[arg-type]
    radii, conics, compensations = projected
    if radii.numel() > 0:
        v_means2d, v_depths, v_conics, v_compensations = upstream
        call(
            "projection_bwd",
            means.device,
            _batched(means, b, 2),
            *(_batched(part, b, 2) for part in gaussians[1:]),
            *(_batched(part, b, 3) for part in cameras),
            *camera,
            _batched(radii, b, 3),
            _batched(conics, b, 3),
            _batched(compensations, b, 2),
            _batched(v_means2d, b, 3),
            _batched(v_depths, b, 2),
            _batched(v_conics, b, 3),
            _batched(v_compensations, b, 2),
            *(_batched(part, b, 2) for part in found[:4]),
            *(_batched(part, b, 3) for part in found[4:]),
        )
    return found


def covariances_forward(
    quats: Tensor, scales: Tensor, covar: bool, preci: bool, triu: bool
) -> tuple[MaybeTensor, MaybeTensor]:
    """Covariances and precisions of ``[..., 4]`` quaternions and ``[..., 3]`` scales."""
    shape = tuple(quats.shape[:-1]) + ((6,) if triu else (3, 3))
    covars = quats.new_empty(shape) if covar else None
    precis = quats.new_empty(shape) if preci else None
    if quats.numel() > 0 and (covar or preci):
        parts = (_matrices(covars, triu), _matrices(precis, triu))
        device = quats.device
        flat = (quats.view(-1, 4), scales.view(-1, 3))
        call("quat_scale_to_covar_preci_fwd", device, *flat, triu, *parts)
    return covars, precis


def covariances_backward(
    quats: Tensor, scales: Tensor, triu: bool, v_covars: MaybeTensor, v_precis: MaybeTensor
) -> tuple[Tensor, Tensor]:
    """Gradients of quats and scales."""
    v_quats, v_scales = torch.zeros_like(quats), torch.zeros_like(scales)
    if quats.numel() > 0 and (v_covars is not None or v_precis is not None):
        upstream = (_matrices(v_covars, triu), _matrices(v_precis, triu))
        call(
            "quat_scale_to_covar_preci_bwd",
            quats.device,
            quats.view(-1, 4),
            scales.view(-1, 3),
            triu,
            *upstream,
            v_quats.view(-1, 4),
            v_scales.view(-1, 3),
        )
    return v_quats, v_scales


def _matrices(tensor: MaybeTensor, triu: bool) -> MaybeTensor:
    return None if tensor is None else tensor.view((-1, 6) if triu else (-1, 3, 3))


def simple_forward(
    means: Tensor, covars: Tensor, Ks: Tensor, width: int, height: int, model: str
) -> tuple[Tensor, Tensor]:
    """Projection of ``[..., C, N, 3]`` means and covariances in camera space, without blur."""
    shape = tuple(means.shape[:-1])
    means2d, covars2d = means.new_empty(shape + (2,)), means.new_empty(shape + (2, 2))
    if means.numel() > 0:
        inputs = _simple_inputs(means, covars, Ks)
        images = inputs[0].shape[0]
        outputs = (means2d.view(images, -1, 2), covars2d.view(images, -1, 2, 2))
        call("projection_simple_fwd", means.device, *inputs, width, height, model, *outputs)
    return means2d, covars2d


def simple_backward(
    means: Tensor,
    covars: Tensor,
    Ks: Tensor,
    size: tuple[int, int],
    model: str,
    v_means2d: Tensor,
    v_covars2d: Tensor,
) -> tuple[Tensor, Tensor]:
    """Gradients of means and covars."""
    v_means, v_covars = torch.zeros_like(means), torch.zeros_like(covars)
    if means.numel() > 0:
        inputs = _simple_inputs(means, covars, Ks)
        images = inputs[0].shape[0]
        call(
            "projection_simple_bwd",
            means.device,
            *inputs,
            *size,
            model,
            v_means2d.view(images, -1, 2),
            v_covars2d.view(images, -1, 2, 2),
            v_means.view(images, -1, 3),
            v_covars.view(images, -1, 3, 3),
        )
    return v_means, v_covars


def _simple_inputs(means: Tensor, covars: Tensor, Ks: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    n = means.shape[-2]
    return means.view(-1, n, 3), covars.view(-1, n, 3, 3), Ks.view(-1, 3, 3)


def harmonics_forward(degree: int, dirs: Tensor, coeffs: Tensor, masks: MaybeTensor) -> Tensor:
    """Sums of harmonics up to a degree; ``[..., D]`` for ``[..., K, D]`` coefficients."""
    k, d = coeffs.shape[-2:]
    colors = coeffs.new_zeros(tuple(dirs.shape[:-1]) + (d,))
    if colors.numel() > 0:
        call(
            "spherical_harmonics_fwd",
            dirs.device,
            degree,
            dirs.view(-1, 3),
            coeffs.view(-1, k, d),
            None if masks is None else masks.view(-1),
            colors.view(-1, d),
        )
    return colors


def harmonics_backward(
    degree: int,
    dirs: Tensor,
    coeffs: Tensor,
    masks: MaybeTensor,
    v_colors: Tensor,
    want_dirs: bool,
) -> tuple[Tensor, MaybeTensor]:
    """Gradients of coeffs and, if wanted, of dirs."""
    k, d = coeffs.shape[-2:]
    v_coeffs = torch.zeros_like(coeffs)
    v_dirs = torch.zeros_like(dirs) if want_dirs else None
    if v_colors.numel() > 0:
        call(
            "spherical_harmonics_bwd",
            dirs.device,
            degree,
            dirs.view(-1, 3),
            coeffs.view(-1, k, d),
            None if masks is None else masks.view(-1),
            v_colors.view(-1, d),
            v_coeffs.view(-1, k, d),
            None if v_dirs is None else v_dirs.view(-1, 3),
        )
    return v_coeffs, v_dirs
