"""``fully_fused_projection``: Gaussians to splats, all of them or those that are drawn.

``fully_fused_projection_with_ut``: the same through lenses and rolling shutters.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Optional

from torch import Tensor

from ..._splatcore.tensors import Cameras
from .. import _checks, _ops
from .._functions import PackRows, Project, apply
from .._settings import gsplat as settings
from . import _lenses
from ._lenses import RollingShutterType
from ._unsupported import refuse

MaybeTensor = Optional[Tensor]
CAMERA_MODELS = _ops.CAMERA_MODELS


def camera_model_of(name: Any) -> _ops.Model:
    """Checks a camera's model, or takes cameras as they are; NotImplementedError for ``ftheta``,
    which only the unscented transform has."""
    if isinstance(name, Cameras):
        return name
    if name == "ftheta":
        refuse({"camera_model": name})
    return _checks.choice("camera_model", name, CAMERA_MODELS)


def fully_fused_projection(
    means: Tensor,
    covars: MaybeTensor,
    quats: MaybeTensor,
    scales: MaybeTensor,
    viewmats: Tensor,
    Ks: Tensor,
    width: int,
    height: int,
    eps2d: float = 0.3,
    near_plane: float = 0.01,
    far_plane: float = 1e10,
    radius_clip: float = 0.0,
    packed: bool = False,
    sparse_grad: bool = False,
    calc_compensations: bool = False,
    camera_model: str = "pinhole",
    opacities: MaybeTensor = None,
) -> tuple[MaybeTensor, ...]:
    """Gaussians to splats in images.

    ``means`` ``[..., N, 3]``; ``covars`` ``[..., N, 6]``, or ``quats`` ``[..., N, 4]`` and
    ``scales`` ``[..., N, 3]``; ``viewmats`` ``[..., C, 4, 4]``; ``Ks`` ``[..., C, 3, 3]``;
    ``opacities`` ``[..., N]`` bound the splats more tightly.

    Returns radii int32 ``[..., C, N, 2]``, means2d ``[..., C, N, 2]``, depths ``[..., C, N]``,
    conics ``[..., C, N, 3]``, compensations ``[..., C, N]`` or None. With ``packed`` only the
    splats that are drawn, ``[n, ...]``, behind their batch, camera and Gaussian, int64 ``[n]``.
    They are found among all, so that ``packed`` saves memory behind the projection only.
    """
    named = {
        "means": means,
        "covars": covars,
        "quats": quats,
        "scales": scales,
        "opacities": opacities,
        "viewmats": viewmats,
        "Ks": Ks,
    }
    c, n = check_projection(named, packed, sparse_grad)
    _checks.finite(named, settings.check_finite)
    batch = means.shape[:-2]
    if covars is not None:
        quats, scales = None, None
    camera = camera_of(
        _checks.size("width", width),
        _checks.size("height", height),
        (eps2d, near_plane, far_plane, radius_clip),
        camera_model,
    )
    given = (means, covars, quats, scales, viewmats, Ks, opacities)
    found: tuple[MaybeTensor, ...] = apply(
        Project, *given, camera, calc_compensations, sparse_grad, None
    )
    if not packed:
        return found
    radii, *splats = found
    rows, images = rows_of(radii)  # type: ignore[arg-type]
    leading, is_there = len(batch) + 2, [part for part in splats if part is not None]
    *parts, radii = apply(PackRows, rows, leading, (radii,), *is_there)
    compensations = parts.pop() if calc_compensations else None
    ids = ids_of(rows, images, math.prod(batch), c, n)
    return (*ids, radii, *parts, compensations)


def fully_fused_projection_with_ut(
    means: Tensor,
    quats: Tensor,
    scales: Tensor,
    opacities: MaybeTensor,
    viewmats: Tensor,
    Ks: Tensor,
    width: int,
    height: int,
    eps2d: float = 0.3,
    near_plane: float = 0.01,
    far_plane: float = 1e10,
    radius_clip: float = 0.0,
    calc_compensations: bool = False,
    camera_model: str = "pinhole",
    ut_params: Any = None,
    radial_coeffs: MaybeTensor = None,
    tangential_coeffs: MaybeTensor = None,
    thin_prism_coeffs: MaybeTensor = None,
    ftheta_coeffs: Any = None,
    rolling_shutter: Any = RollingShutterType.GLOBAL,
    viewmats_rs: MaybeTensor = None,
) -> tuple[MaybeTensor, ...]:
    """Gaussians to splats in images by the unscented transform, through lenses and shutters.

    Shapes and results are those of ``fully_fused_projection``. ``camera_model``: ``"pinhole"``,
    ``"ortho"``, ``"fisheye"`` or ``"ftheta"``. ``radial_coeffs`` ``[..., C, 6]``, of a fisheye
    ``[..., C, 4]``, ``tangential_coeffs`` ``[..., C, 2]`` and ``thin_prism_coeffs`` ``[..., C, 4]``
    are OpenCV's and have no gradients. ``viewmats_rs`` ``[..., C, 4, 4]`` are the poses when the
    last line is read. ``ut_params``: None, or the defaults of ``UnscentedTransformParameters``.

    Gradients reach means, quats, scales, ``viewmats`` (with a global shutter) and ``Ks``; gsplat
    has none. Depths through wide fisheyes and f-theta lenses are distances.
    """
    named = {
        "means": means,
        "covars": None,
        "quats": quats,
        "scales": scales,
        "opacities": opacities,
        "viewmats": viewmats,
        "Ks": Ks,
    }
    check_projection(named, False, False)
    _checks.finite(named, settings.check_finite)
    _lenses.check_parameters(ut_params)
    width, height = _checks.size("width", width), _checks.size("height", height)
    lens = _lenses.Lens(
        *(radial_coeffs, tangential_coeffs, thin_prism_coeffs, ftheta_coeffs),
        *(rolling_shutter, viewmats_rs),
    )
    cameras, viewmats, Ks = _lenses.cameras_of(camera_model, viewmats, Ks, width, height, lens)
    camera = camera_of(width, height, (eps2d, near_plane, far_plane, radius_clip), cameras)
    given = (means, None, quats, scales, viewmats, Ks, opacities)
    found: tuple[MaybeTensor, ...] = apply(
        Project, *given, camera, calc_compensations, False, None
    )
    return found


def rows_of(radii: Tensor) -> tuple[Tensor, Tensor]:
    """The places, int64 ``[n]``, of splats that are drawn, of radii ``[..., C, N, 2]``, and their
    images. Waits for a card."""
    rows = radii.all(-1).view(-1).nonzero().view(-1)
    return rows, rows // max(radii.shape[-2], 1)  # Of nothing, nothing is drawn.


def check_projection(
    named: Mapping[str, MaybeTensor], packed: bool, sparse_grad: bool
) -> tuple[int, int]:
    """Checks the tensors of a projection; returns how many cameras and Gaussians there are."""
    _checks.same_kind(named, {"covars", "quats", "scales", "opacities"})
    tensors: dict[str, Any] = dict(named)
    means, viewmats = tensors["means"], tensors["viewmats"]
    _checks.last("means", means, -1, 3)
    batch, n = means.shape[:-2], means.shape[-2]
    if tensors["covars"] is not None:
        _checks.shape("covars", tensors["covars"], *batch, n, 6)
    elif tensors["quats"] is None or tensors["scales"] is None:
        missing = "quats" if tensors["quats"] is None else "scales"
        raise ValueError(f"{missing} must be given unless covars are, found None")
    else:
        _checks.shape("quats", tensors["quats"], *batch, n, 4)
        _checks.shape("scales", tensors["scales"], *batch, n, 3)
    if tensors["opacities"] is not None:
        _checks.shape("opacities", tensors["opacities"], *batch, n)
    _checks.last("viewmats", viewmats, -1, 4, 4)
    c = viewmats.shape[-3]
    _checks.shape("viewmats", viewmats, *batch, c, 4, 4)
    _checks.shape("Ks", tensors["Ks"], *batch, c, 3, 3)
    if sparse_grad and not packed:
        raise ValueError("sparse_grad must be False unless packed is True, found True")
    if sparse_grad and batch:
        raise ValueError(f"sparse_grad must be False with batch dimensions, found {list(batch)}")
    return c, n


def camera_of(
    width: int, height: int, limits: tuple[float, float, float, float], model: Any
) -> _ops.Camera:
    """What a projection takes. ``limits``: eps2d, near and far plane, radius_clip."""
    eps2d, near_plane, far_plane, radius_clip = limits
    if settings.near_plane is not None:
        near_plane = settings.near_plane
    return _ops.Camera(
        width,
        height,
        _checks.number("eps2d", eps2d),
        _checks.number("near_plane", near_plane),
        _checks.number("far_plane", far_plane),
        _checks.number("radius_clip", radius_clip),
        camera_model_of(model),
        settings.radius_rule,
    )


def ids_of(
    rows: Tensor, images: Tensor, b: int, c: int, n: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch, camera and Gaussian, int64, of rows of ``[B, C, N]``, whose images are ``[B, C]``."""
    if b * c == 1:
        return images, images, rows
    c = max(c, 1)  # Of nothing, nothing is drawn.
    return images // c, images % c, rows - images * n
