"""3D Gaussian splatting in plain torch, differentiable, pixel by pixel over every Gaussian.

Kerbl et al. 2023; the EWA projection of Zwicker et al. 2001. Written to be compared with, in
float64: no tiles but for the boxes that the three-sigma rule cuts, no lists, no kernels. Names and
shapes are gsplat's: one batch, N Gaussians, C cameras.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

MIN_ALPHA = 1 / 255
MIN_TRANSMITTANCE = 1e-4


@dataclass
class Rules:
    """Constants in which rasterizers differ."""

    alpha_max: float = 0.999
    radius_rule: str = "gsplat-1.5"
    near: float = 0.01
    far: float = 1e10
    eps2d: float = 0.3
    radius_clip: float = 0.0
    tile_size: int = 16
    min_compensation: float = 0.0
    # INRIA counts pixels from centres at whole numbers.
    whole_pixels: bool = False


def rotations(quats: Tensor) -> Tensor:
    """Matrices [..., 3, 3] of quaternions w, x, y, z of any length."""
    w, x, y, z = (quats / quats.norm(dim=-1, keepdim=True)).unbind(-1)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def covariances(quats: Tensor, scales: Tensor) -> Tensor:
    half = rotations(quats) * scales[..., None, :]
    return half @ half.transpose(-1, -2)


def _slopes(rows: list[list[Tensor]]) -> Tensor:
    return torch.stack([torch.stack(row, -1) for row in rows], -2)


def project(means: Tensor, covars: Tensor, K: Tensor, width: int, height: int, model: str):
    """Means [N, 3] and covariances [N, 3, 3] in camera space to the image: [N, 2], [N, 2, 2]."""
    x, y, z = means.unbind(-1)
    fx, fy, cx, cy = K[0, 0], K[1, 1], K[0, 2], K[1, 2]
    zero = torch.zeros_like(z)
    if model == "pinhole":
        # The slopes are those at a point at most 15 % of the image outside of it.
        right, left = (width - cx + 0.15 * width) / fx, (cx + 0.15 * width) / fx
        down, up = (height - cy + 0.15 * height) / fy, (cy + 0.15 * height) / fy
        u = torch.maximum(torch.minimum(x / z, right), -left)
        v = torch.maximum(torch.minimum(y / z, down), -up)
        jacobian = _slopes([[fx / z, zero, -fx * u / z], [zero, fy / z, -fy * v / z]])
        means2d = torch.stack([fx * x / z + cx, fy * y / z + cy], -1)
    elif model == "ortho":
        jacobian = _slopes([[fx + zero, zero, zero], [zero, fy + zero, zero]])
        means2d = torch.stack([fx * x + cx, fy * y + cy], -1)
    else:
        # Equidistant: the distance from the centre is the angle.
        r2 = x * x + y * y
        r, d2 = r2.sqrt(), r2 + z * z
        angle = torch.atan2(r, z)
        along, across = z / (r2 * d2), angle / (r2 * r)
        jacobian = _slopes(
            [
                [
                    fx * (x * x * along + y * y * across),
                    fx * x * y * (along - across),
                    -fx * x / d2,
                ],
                [
                    fy * x * y * (along - across),
                    fy * (y * y * along + x * x * across),
                    -fy * y / d2,
                ],
            ]
        )
        means2d = torch.stack([fx * x * angle / r + cx, fy * y * angle / r + cy], -1)
    return means2d, jacobian @ covars @ jacobian.transpose(-1, -2)


def splats(means, covars, opacities, viewmat, K, width, height, rules, model="pinhole", aa=False):
    """Splats of one camera: means2d, depths, conics, compensations, radii, all [N, ...]."""
    rotation = viewmat[:3, :3]
    seen = means @ rotation.T + viewmat[:3, 3]
    turned = rotation @ covars @ rotation.T
    means2d, cov = project(seen, turned, K, width, height, model)
    before = cov[:, 0, 0] * cov[:, 1, 1] - cov[:, 0, 1] * cov[:, 1, 0]
    cov = cov + rules.eps2d * torch.eye(2, dtype=cov.dtype)
    det = cov[:, 0, 0] * cov[:, 1, 1] - cov[:, 0, 1] * cov[:, 1, 0]
    compensations = (before / det).clamp(min=rules.min_compensation**2).sqrt()
    conics = torch.stack([cov[:, 1, 1], -cov[:, 0, 1], cov[:, 0, 0]], -1) / det[:, None]
    depths = seen[:, 2]
    with torch.no_grad():
        radii = _radii(cov, det, opacities * compensations if aa else opacities, rules)
        inside = (means2d + radii > 0).all(-1)
        inside &= (means2d - radii < torch.tensor([width, height])).all(-1)
        drawn = (
            inside
            & (depths > rules.near)
            & (depths < rules.far)
            & (radii > rules.radius_clip).any(-1)
        )
        radii = torch.where(drawn[:, None], radii, 0).int()
    return means2d, depths, conics, compensations, radii


def _radii(cov, det, opacities, rules):
    if rules.radius_rule == "three-sigma":
        middle = 0.5 * (cov[:, 0, 0] + cov[:, 1, 1])
        # INRIA keeps the eigenvalues apart.
        largest = middle + (middle * middle - det).clamp(min=0.1).sqrt()
        return (3 * largest.sqrt()).ceil()[:, None].expand(-1, 2)
    reach = (2 * (255 * opacities).log()).clamp(min=0).sqrt().clamp(max=3.33)
    radii = (reach[:, None] * torch.stack([cov[:, 0, 0], cov[:, 1, 1]], -1).sqrt()).ceil()
    return torch.where((opacities >= MIN_ALPHA)[:, None], radii, 0)


def _boxes(means2d, radii, width, height, rules):
    """The pixels of the tiles that a splat's box touches: bool [N, H, W]."""
    size = rules.tile_size
    centres = (means2d.detach() - 0.5).floor() if rules.whole_pixels else means2d.detach()
    first = ((centres - radii) / size).floor() * size
    end = ((centres + radii) / size).ceil() * size
    columns, rows = torch.arange(width), torch.arange(height)
    across = (columns >= first[:, :1]) & (columns < end[:, :1])
    down = (rows >= first[:, 1:]) & (rows < end[:, 1:])
    return down[:, :, None] & across[:, None, :]


def blend(means2d, depths, conics, colors, opacities, radii, background, width, height, rules):
    """One image: colours [H, W, D], alphas [H, W, 1]."""
    rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
    pixels = torch.stack([columns, rows], -1).to(means2d.dtype) + 0.5
    image = torch.zeros(height, width, colors.shape[-1], dtype=means2d.dtype)
    left = torch.ones(height, width, dtype=means2d.dtype)
    done = torch.zeros(height, width, dtype=torch.bool)
    boxes = _boxes(means2d, radii, width, height, rules)
    for i in torch.argsort(depths.detach().float(), stable=True).tolist():
        if not (radii[i] > 0).all():
            continue
        dx, dy = (pixels - means2d[i]).unbind(-1)
        a, b, c = conics[i].unbind()
        power = 0.5 * (a * dx * dx + c * dy * dy) + b * dx * dy
        alpha = (opacities[i] * (-power).exp()).clamp(max=rules.alpha_max)
        drawn = boxes[i] & (alpha >= MIN_ALPHA) & (power >= 0) & ~done
        last = drawn & (left * (1 - alpha) <= MIN_TRANSMITTANCE)
        done = done | last
        alpha = torch.where(drawn & ~last, alpha, 0)
        image = image + (left * alpha)[..., None] * colors[i]
        left = left * (1 - alpha)
    if background is not None:
        image = image + left[..., None] * background
    return image, 1 - left[..., None]


def harmonics(degree: int, dirs: Tensor, coeffs: Tensor) -> Tensor:
    """Sums of real harmonics, [..., K, D] to [..., D], by the recurrence of Legendre functions."""
    x, y, z = (dirs / dirs.norm(dim=-1, keepdim=True)).unbind(-1)
    cosines, sines = [torch.ones_like(x)], [torch.zeros_like(x)]
    for _ in range(degree):
        # (x + iy)^m: cos(m phi) and sin(m phi) times sin(theta)^m.
        c, s = cosines[-1], sines[-1]
        cosines.append(x * c - y * s)
        sines.append(x * s + y * c)
    total = torch.zeros_like(coeffs[..., 0, :])
    for m in range(degree + 1):
        below, now = torch.zeros_like(z), torch.ones_like(z) * math.prod(range(1, 2 * m, 2))
        now = now * (-1) ** m
        for level in range(m, degree + 1):
            if level > m:
                top = (2 * level - 1) * z * now - (level + m - 1) * below
                below, now = now, top / (level - m)
            scale = (2 * level + 1) / (4 * math.pi)
            scale *= math.factorial(level - m) / math.factorial(level + m)
            scale = math.sqrt(scale * (1 if m == 0 else 2))
            middle = level * (level + 1)
            total = total + (scale * now * cosines[m])[..., None] * coeffs[..., middle + m, :]
            if m > 0:
                total = total + (scale * now * sines[m])[..., None] * coeffs[..., middle - m, :]
    return total


def rasterization(
    means,
    quats,
    scales,
    opacities,
    colors,
    viewmats,
    Ks,
    width,
    height,
    *,
    covars=None,
    sh_degree=None,
    backgrounds=None,
    render_mode="RGB",
    rasterize_mode="classic",
    camera_model="pinhole",
    rules=None,
    shifts=None,
):
    """Images [C, H, W, X], alphas [C, H, W, 1] and the splats of each camera.

    Backgrounds are [C, D]. ``shifts`` [C, N, 2], zeros, are added to the splats' means: their
    gradient is that of the splats' positions.
    """
    rules = rules or Rules()
    aa = rasterize_mode == "antialiased"
    if covars is None:
        covars = covariances(quats, scales)
    images, alphas, parts = [], [], []
    for i, (viewmat, K) in enumerate(zip(viewmats, Ks)):
        part = splats(means, covars, opacities, viewmat, K, width, height, rules, camera_model, aa)
        means2d, depths, conics, compensations, radii = part
        if shifts is not None:
            means2d = means2d + shifts[i]
        own = colors if colors.dim() == (2 if sh_degree is None else 3) else colors[i]
        if sh_degree is not None:
            centre = torch.linalg.inv(viewmat)[:3, 3]
            own = (harmonics(sh_degree, means - centre, own) + 0.5).clamp(min=0)
        background = None if backgrounds is None else backgrounds[i]
        if render_mode in ("D", "ED"):
            own, background = depths[:, None], None
        elif render_mode != "RGB":
            own = torch.cat([own, depths[:, None]], -1)
            if background is not None:
                background = torch.cat([background, background.new_zeros(1)])
        seen = opacities * compensations if aa else opacities
        image, alpha = blend(
            means2d, depths, conics, own, seen, radii, background, width, height, rules
        )
        if render_mode in ("ED", "RGB+ED"):
            expected = image[..., -1:] / alpha.clamp(min=1e-10)
            image = torch.cat([image[..., :-1], expected], -1)
        images.append(image)
        alphas.append(alpha)
        parts.append(part)
    return torch.stack(images), torch.stack(alphas), parts
