"""Functions that no frame and no step of ``rasterization`` calls, as expressions of torch, with
autograd's gradients.

``...`` are batch dimensions, any number of them, C cameras, N Gaussians. Arguments are checked by
``gsplat``, and results are of their float type and on their device. Matrices are multiplied as sums
of products: torch's own product has fewer bits under autocast or with TF32.
"""

from __future__ import annotations

import torch
from torch import Tensor

# A pinhole's Jacobian is evaluated at most half of this part of the image's side beyond its edges.
MARGIN = 0.3
# The squared tangent of a fisheye's angle below which power series take the place of differences
# that cancel, and their terms: what is left out is below 1e-16.
NEAR_AXIS = 0.05
SERIES_TERMS = 13


def proj(
    means: Tensor, covars: Tensor, Ks: Tensor, width: int, height: int, model: str
) -> tuple[Tensor, Tensor]:
    """Means ``[..., C, N, 2]`` and covariances ``[..., C, N, 2, 2]`` in the image, in pixels.

    EWA splatting (Zwicker et al. 2001) without culling and blur: J V J^T with the Jacobian J of the
    projection, for ``means`` ``[..., C, N, 3]`` and ``covars`` V ``[..., C, N, 3, 3]`` in camera
    space. Of ``Ks`` ``[..., C, 3, 3]`` the skew is ignored. ``model`` is "pinhole", "ortho" or
    "fisheye"; each takes (x, y, z) to g (x, y) about its axis, with g a function of rho = x^2 + y^2
    and z, so that J has the rows (g + x^2 c, x y c, x dg/dz) and (x y c, g + y^2 c, y dg/dz) with
    c = 2 dg/drho.
    """
    at, z = means[..., :2], means[..., 2:]
    focal = torch.stack([Ks[..., None, 0, 0], Ks[..., None, 1, 1]], -1)
    centre = Ks[..., None, :2, 2]
    bend = torch.zeros_like(z)
    if model == "ortho":
        stretch, slope = torch.ones_like(z), torch.zeros_like(z)
    elif model == "fisheye":
        stretch, bend, slope = _fisheye(at.square().sum(-1, keepdim=True), z)
    else:
        stretch, slope = 1 / z, -1 / (z * z)
    means2d = focal * at * stretch + centre
    if model == "pinhole":
        side = Ks.new_tensor([width, height])
        margin = MARGIN / 2 * side
        at = (at / z).clamp((-centre - margin) / focal, (side - centre + margin) / focal) * z
    across = (bend * at)[..., None] * at[..., None, :]
    square = across + torch.diag_embed(stretch.expand_as(at))
    jacobian = focal[..., None] * torch.cat([square, (at * slope)[..., None]], -1)
    half = (jacobian[..., None] * covars[..., None, :, :]).sum(-2)
    return means2d, (half[..., None, :] * jacobian[..., None, :, :]).sum(-1)


def _fisheye(rho: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """g, c and dg/dz of an equidistant fisheye: g = theta / s with s = sqrt(rho) and the angle from
    the axis theta = atan2(s, z).

    Near the axis by power series in u = rho / z^2: z g is the sum of (-u)^k / (2k + 1).
    """
    near = (z > 0) & (rho < NEAR_AXIS * z * z)
    # The way that is not taken is given numbers whose gradients are finite.
    far, depth = torch.where(near, 1, rho), torch.where(near, z, 1)
    s = far.sqrt()
    far_stretch = torch.atan2(s, z) / s
    far_bend = (z / (far + z * z) - far_stretch) / far
    u = torch.where(near, rho, 0) / (depth * depth)
    stretch = bend = torch.zeros_like(u)
    for k in range(SERIES_TERMS, 0, -1):
        term = (-1) ** k / (2 * k + 1)
        stretch, bend = stretch * u + term, bend * u + 2 * k * term
    stretch = torch.where(near, (stretch * u + 1) / depth, far_stretch)
    bend = torch.where(near, bend / (depth * depth * depth), far_bend)
    return stretch, bend, -1 / (rho + z * z)


def relocation(
    opacities: Tensor, scales: Tensor, ratios: Tensor, binoms: Tensor
) -> tuple[Tensor, Tensor]:
    """Opacities p ``[N]`` and scales ``[N, 3]`` of each of r = ``ratios`` ``[N]`` copies, which are
    1 to n_max, of Gaussians of ``opacities`` o ``[N]`` and ``scales`` ``[N, 3]``.

    Equation 9 of Kheradmand et al. 2024: p = 1 - (1 - o)^(1/r), and scales times o over the sum for
    i = 1 to r and k = 0 to i - 1 of binom(i - 1, k) (-1)^k p^(k + 1) / sqrt(k + 1). ``binoms``
    ``[n_max, n_max]``. Sums are in double precision, since terms of opposite signs cancel. A
    Gaussian of opacity 0 keeps its scales, the limit. Waits for a card, as the strategy did before
    to count the copies.
    """
    old, last = opacities.double(), ratios.long() - 1
    new = -torch.expm1(torch.log1p(-old) / ratios)
    most = int(ratios.max()) if len(ratios) > 0 else 0
    # The sum over i comes first: factors of (-p)^k, a row for each r.
    k = torch.arange(len(binoms), dtype=torch.float64, device=binoms.device)
    factors = binoms.double().tril().cumsum(0) / (k + 1).sqrt()
    total = torch.zeros_like(new)
    for column in reversed(factors[:, :most].unbind(1)):
        total = column[last] - total * new
    total = total * new
    stretch = torch.where(total == 0, 1, old / total)
    return new.to(opacities.dtype), (stretch[:, None] * scales).to(scales.dtype)
