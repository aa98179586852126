"""INRIA's ``diff_gaussian_rasterization`` on splatcore's kernels, in its three variants.

    from splatcore.compat.inria import GaussianRasterizationSettings, GaussianRasterizer

=====================  ==========================================  ============================
variant                how a call tells                            results
=====================  ==========================================  ============================
main, 2023             settings without ``antialiasing``           color, radii
``dr_aa``, 2024        settings with ``antialiasing``              color, radii, inverse depths
``3dgs_accel``, 2024   the same, and ``dc=`` beside ``shs=``       color, radii, inverse depths
=====================  ==========================================  ============================

Matrices are for row vectors: ``viewmatrix`` is the transpose of world to camera, ``projmatrix``
that of world to clip space. The focal lengths come from ``tanfovx`` and ``tanfovy``, the principal
point from ``projmatrix``. ``means2D`` is a leaf ``[N, 3]`` of zeros whose gradient is that of the
splats' positions in normalised device coordinates. Cameras and background have no gradient.
``settings`` holds INRIA's constants. What differs: quaternions are normalised, and the gradient is
the derivative of the image, which is zero where alpha is capped.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from . import _checks, _ops, _tiles
from ._functions import Harmonics, Project, Rasterize, apply
from ._settings import inria as settings
from .gsplat._pieces import adam, degree_of

__all__ = [
    "GaussianRasterizationSettings",
    "GaussianRasterizer",
    "SparseGaussianAdam",
    "mark_visible",
    "rasterize_gaussians",
    "settings",
]

MaybeTensor = Optional[Tensor]
TILE = 16
FAR = 1e30
BLUR = 0.3  # pixels squared
MIN_COMPENSATION = 0.005  # dr_aa's floor of the factor, the root of 0.000025


class GaussianRasterizationSettings(NamedTuple):
    """The camera and the options of a rasterizer, in INRIA's order.

    ``bg`` ``[3]``, ``viewmatrix`` and ``projmatrix`` ``[4, 4]`` for row vectors, ``campos``
    ``[3]``. ``prefiltered`` and ``debug`` change nothing. ``antialiasing`` None: the variant of
    2023.
    """

    image_height: int
    image_width: int
    tanfovx: float
    tanfovy: float
    bg: Tensor
    scale_modifier: float
    viewmatrix: Tensor
    projmatrix: Tensor
    sh_degree: int
    campos: Tensor
    prefiltered: bool
    debug: bool
    antialiasing: Optional[bool] = None


class GaussianRasterizer(torch.nn.Module):
    """Draws Gaussians into one camera's image."""

    def __init__(self, raster_settings: GaussianRasterizationSettings) -> None:
        super().__init__()
        self.raster_settings = raster_settings

    def markVisible(self, positions: Tensor) -> Tensor:
        """Which positions ``[N, 3]`` lie behind the near plane: bool ``[N]``."""
        return mark_visible(positions, self.raster_settings.viewmatrix)

    def forward(
        self,
        means3D: Tensor,
        means2D: Tensor,
        opacities: Tensor,
        shs: MaybeTensor = None,
        colors_precomp: MaybeTensor = None,
        scales: MaybeTensor = None,
        rotations: MaybeTensor = None,
        cov3D_precomp: MaybeTensor = None,
        *,
        dc: MaybeTensor = None,
    ) -> tuple[Tensor, ...]:
        """Colours ``[3, H, W]``, radii int32 ``[N]`` and, with antialiasing given, inverse depths.

        ``means3D`` ``[N, 3]``, ``means2D`` ``[N, 3]``, ``opacities`` ``[N, 1]``; either ``shs``
        ``[N, K, 3]`` (``[N, K - 1, 3]`` behind ``dc`` ``[N, 1, 3]``) or ``colors_precomp`` ``[N,
        D]``; either ``scales`` ``[N, 3]`` and ``rotations`` ``[N, 4]``, w first, or
        ``cov3D_precomp`` ``[N, 6]``, upper triangles. Inverse depths ``[1, H, W]`` are sums of 1/z
        by weight. A splat that is not drawn has radius 0.

        Raises ValueError if both or neither of two alternatives are given.
        """
        return rasterize_gaussians(
            means3D,
            means2D,
            shs,
            colors_precomp,
            opacities,
            scales,
            rotations,
            cov3D_precomp,
            self.raster_settings,
            dc=dc,
        )


def mark_visible(positions: Tensor, viewmatrix: Tensor, projmatrix: MaybeTensor = None) -> Tensor:
    """Which positions ``[N, 3]`` lie behind the near plane: bool ``[N]``."""
    _checks.same_kind({"positions": positions, "viewmatrix": viewmatrix})
    _checks.last("positions", positions, -1, 3)
    _checks.shape("viewmatrix", viewmatrix, 4, 4)
    with torch.no_grad():
        return positions @ viewmatrix[:3, 2] + viewmatrix[3, 2] > _near()


def _near() -> float:
    return 0.2 if settings.near_plane is None else float(settings.near_plane)


def rasterize_gaussians(
    means3D: Tensor,
    means2D: Tensor,
    sh: MaybeTensor,
    colors_precomp: MaybeTensor,
    opacities: Tensor,
    scales: MaybeTensor,
    rotations: MaybeTensor,
    cov3Ds_precomp: MaybeTensor,
    raster_settings: GaussianRasterizationSettings,
    *,
    dc: MaybeTensor = None,
) -> tuple[Tensor, ...]:
    """``GaussianRasterizer.forward`` as a function. An empty tensor is taken for None."""
    options = raster_settings
    given = {
        "means3D": means3D,
        "means2D": means2D,
        "shs": _or_none(sh),
        "dc": _or_none(dc),
        "colors_precomp": _or_none(colors_precomp),
        "opacities": opacities,
        "scales": _or_none(scales),
        "rotations": _or_none(rotations),
        "cov3D_precomp": _or_none(cov3Ds_precomp),
    }
    _check(given, options)
    n = means3D.shape[0]
    cameras = _cameras(options)
    size = (options.image_width, options.image_height)
    camera = _ops.Camera(*size, BLUR, _near(), FAR, 0.0, "pinhole", settings.radius_rule)
    scaled = None if given["scales"] is None else given["scales"] * options.scale_modifier
    opacity = opacities.reshape(n)
    shaped = (means3D, given["cov3D_precomp"], given["rotations"], scaled)
    radii, means2d, depths, conics, compensations = apply(
        Project, *shaped, *cameras, opacity, camera, bool(options.antialiasing), False
    )
    radii, means2d, depths, conics = radii[0], means2d[0], depths[0], conics[0]
    if compensations is not None:
        opacity = opacity * compensations[0].clamp_min(MIN_COMPENSATION)
    lists, radii = _lists(means2d.detach(), radii, depths.detach(), size)

    features = _colors(given, options, (radii > 0))
    background = options.bg
    if options.antialiasing is not None:
        drawn = depths > 0
        inverse = torch.where(drawn, 1 / torch.where(drawn, depths, 1), 0)
        features = torch.cat([features, inverse[:, None]], 1)
        background = torch.cat([background, background.new_zeros(1)])
    half = means2d.new_tensor([0.5 * size[0], 0.5 * size[1]])
    means2d = _Tap.apply(means2d, means2D, half)
    wants_halves = settings.wants_halves(given["colors_precomp"] is None)
    halves = wants_halves and _tiles.has_halves(features, TILE, settings.alpha_max)
    image, _ = apply(
        Rasterize,
        means2d[None],
        conics[None],
        features[None],
        opacity[None],
        background[None],
        lists,
        False,
        _tiles.Kept(halves, torch.is_grad_enabled()),
    )
    image = image[0].permute(2, 0, 1)
    if options.antialiasing is None:
        return image, radii
    return image[:-1], radii, image[-1:]


class _Tap(torch.autograd.Function):
    """Hands the gradient of splats' positions to a leaf too, in normalised device coordinates."""

    @staticmethod
    def forward(ctx: Any, means2d: Tensor, leaf: Tensor, half: Tensor) -> Tensor:
        ctx.save_for_backward(half)
        ctx.columns = leaf.shape[1]
        return means2d.view_as(means2d)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[MaybeTensor, ...]:
        (half,) = ctx.saved_tensors
        leaf = gradient.new_zeros(gradient.shape[0], ctx.columns)
        leaf[:, :2] = gradient * half
        return gradient, leaf, None


def _or_none(tensor: MaybeTensor) -> MaybeTensor:
    """INRIA's Python passes ``torch.Tensor([])`` for what is not given."""
    return None if isinstance(tensor, Tensor) and tensor.shape == (0,) else tensor


def _check(given: dict[str, Any], options: GaussianRasterizationSettings) -> None:
    for one, other in (("shs", "colors_precomp"), ("scales", "cov3D_precomp")):
        pair = "scales with rotations" if one == "scales" else one
        first = given[one] is not None or (one == "shs" and given["dc"] is not None)
        first = first or (one == "scales" and given["rotations"] is not None)
        if first == (given[other] is not None):
            found = "both" if first else "neither"
            raise ValueError(f"exactly one of {pair} and {other} must be given, found {found}")
    for name, other in (("scales", "rotations"), ("rotations", "scales")):
        if given[name] is None and given[other] is not None:
            raise ValueError(f"{name} must be given with {other}, found None")
    fixed = {name: getattr(options, name) for name in ("bg", "viewmatrix", "projmatrix", "campos")}
    optional = {"shs", "dc", "colors_precomp", "scales", "rotations", "cov3D_precomp"}
    _checks.same_kind({**given, **fixed}, optional)
    n = given["means3D"].shape[0]
    shapes = {
        "means3D": (n, 3),
        "opacities": (n, 1),
        "scales": (n, 3),
        "rotations": (n, 4),
        "cov3D_precomp": (n, 6),
        "dc": (n, 1, 3),
    }
    for name, shape in shapes.items():
        if given[name] is not None:
            _checks.shape(name, given[name], *shape)
    _checks.last("means2D", given["means2D"], -1, -1)
    _checks.shape("means2D", given["means2D"], n, max(given["means2D"].shape[1], 2))
    for name in ("shs", "colors_precomp"):
        if given[name] is not None:
            _checks.shape(name, given[name], n, *given[name].shape[1:])
    if given["shs"] is not None:
        _checks.last("shs", given["shs"], -1, -1, 3)
    if given["colors_precomp"] is not None:
        _checks.last("colors_precomp", given["colors_precomp"], -1, -1)
    channels = 3 if given["colors_precomp"] is None else given["colors_precomp"].shape[1]
    _checks.shape("bg", options.bg, channels)
    _checks.shape("viewmatrix", options.viewmatrix, 4, 4)
    _checks.shape("projmatrix", options.projmatrix, 4, 4)
    _checks.shape("campos", options.campos, 3)
    _checks.size("image_width", options.image_width)
    _checks.size("image_height", options.image_height)
    _checks.number("scale_modifier", options.scale_modifier)
    for name in ("tanfovx", "tanfovy"):
        if _checks.number(name, getattr(options, name)) <= 0:
            raise ValueError(f"{name} must be positive, found {getattr(options, name)}")
    why = "INRIA's rasterizer has none for cameras and background; splatcore.compat.gsplat has"
    _checks.no_gradient(fixed, why)
    _checks.finite({**given, **fixed}, settings.check_finite)


def _cameras(options: GaussianRasterizationSettings) -> tuple[Tensor, Tensor]:
    """World to camera ``[1, 4, 4]`` and intrinsics ``[1, 3, 3]``."""
    view, clip = options.viewmatrix, options.projmatrix
    w, h = options.image_width, options.image_height
    # Clip x is P00 x + P02 z: its product with the camera's z axis is P02, the offset of the
    # principal point in normalised device coordinates.
    shift = clip[:3, :2].T @ view[:3, 2]
    half = view.new_tensor([0.5 * w, 0.5 * h])
    centre = (1 + shift) * half
    K = view.new_zeros(3, 3)
    K[0, 0], K[1, 1], K[2, 2] = 0.5 * w / options.tanfovx, 0.5 * h / options.tanfovy, 1.0
    K[:2, 2] = centre
    return view.T.contiguous()[None], K[None]


def _lists(
    means2d: Tensor, radii: Tensor, depths: Tensor, size: tuple[int, int]
) -> tuple[_tiles.Lists, Tensor]:
    """The lists of tiles, and radii ``[N]``, 0 for a splat in no tile."""
    columns, rows = math.ceil(size[0] / TILE), math.ceil(size[1] / TILE)
    # INRIA's pixels have their centres at whole numbers, and its boxes end at whole pixels.
    centres = (means2d - 0.5).floor()
    counts, isect_ids, flatten_ids = _tiles.intersect(
        centres[None], radii[None].contiguous(), depths[None], None, 1, (TILE, columns, rows), True
    )
    offsets = _tiles.offsets(isect_ids, 1, columns, rows)
    lists = _tiles.Lists(None, None, *size, TILE, offsets, flatten_ids, settings.alpha_max)
    return lists, torch.where(counts[0] > 0, radii.amax(-1), 0)


def _colors(given: dict[str, Any], options: GaussianRasterizationSettings, masks: Tensor) -> Tensor:
    """Colours of splats ``[N, D]``: as given, or max(harmonics + 1/2, 0)."""
    if given["colors_precomp"] is not None:
        precomputed: Tensor = given["colors_precomp"]
        return precomputed
    parts = [part for part in (given["dc"], given["shs"]) if part is not None]
    coeffs = parts[0] if len(parts) == 1 else torch.cat(parts, 1)
    degree_of("sh_degree", options.sh_degree, coeffs.shape[1])
    dirs = given["means3D"] - options.campos
    found: Tensor = apply(Harmonics, options.sh_degree, dirs, coeffs, masks)
    return (found + 0.5).clamp_min(0)


class SparseGaussianAdam(torch.optim.Adam):
    """Adam without bias correction that moves only the Gaussians that were seen (3dgs_accel)."""

    def __init__(self, params: Any, lr: float, eps: float) -> None:
        super().__init__(params=params, lr=lr, eps=eps)

    @torch.no_grad()
    def step(self, visibility: Tensor, N: int) -> None:  # type: ignore[override]
        """One step. ``visibility`` bool ``[N]``; each group has one parameter, ``[N, ...]``."""
        for group in self.param_groups:
            if len(group["params"]) != 1:
                raise ValueError(f"a group must have one parameter, found {len(group['params'])}")
            param = group["params"][0]
            if param.grad is None:
                continue
            _checks.shape("visibility", visibility, N)
            state = self.state[param]
            if len(state) == 0:
                state["step"] = torch.tensor(0.0)
                state["exp_avg"] = torch.zeros_like(param, memory_format=torch.contiguous_format)
                state["exp_avg_sq"] = torch.zeros_like(state["exp_avg"])
            moments = (state["exp_avg"], state["exp_avg_sq"])
            grad = param.grad.contiguous()
            first, second = group["betas"]
            lr, eps = group["lr"], group["eps"]
            adam(param, grad, *moments, visibility, lr, first, second, eps)
