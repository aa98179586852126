"""Cameras of the unscented transform: lenses, rolling shutters, and gsplat's names for them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum
from typing import Any, NamedTuple, Optional

import torch
from torch import Tensor

from ..._splatcore.tensors import Cameras
from .. import _checks

MaybeTensor = Optional[Tensor]
CAMERA_MODELS = ("pinhole", "ortho", "fisheye", "ftheta")


class RollingShutterType(Enum):
    """In which order a camera reads its lines."""

    ROLLING_TOP_TO_BOTTOM = 0
    ROLLING_LEFT_TO_RIGHT = 1
    ROLLING_BOTTOM_TO_TOP = 2
    ROLLING_RIGHT_TO_LEFT = 3
    GLOBAL = 4


class FThetaPolynomialType(Enum):
    """Which of an f-theta camera's polynomials is the camera's; the other one is not read."""

    PIXELDIST_TO_ANGLE = 0
    ANGLE_TO_PIXELDIST = 1


@dataclass
class FThetaCameraDistortionParameters:
    """An f-theta lens: polynomials of pixels and radians, that of power 0 first, the largest angle
    in radians, and the linear map ((c, d), (e, 1)) of pixels."""

    reference_poly: FThetaPolynomialType
    pixeldist_to_angle_poly: tuple[float, ...]
    angle_to_pixeldist_poly: tuple[float, ...]
    max_angle: float
    linear_cde: tuple[float, float, float]


@dataclass
class UnscentedTransformParameters:
    """The transform's parameters. The defaults are the only ones; a margin about the image, within
    which sigma points count as valid, is not needed and not looked at."""

    alpha: float = 1.0
    beta: float = 2.0
    kappa: float = 0.0
    in_image_margin_factor: float = 0.1
    require_all_sigma_points_valid: bool = True


class Lens(NamedTuple):
    """What ``with_ut`` takes besides ``viewmats`` and ``Ks``."""

    radial_coeffs: MaybeTensor  # [..., C, 6], of a fisheye [..., C, 4]
    tangential_coeffs: MaybeTensor  # [..., C, 2]
    thin_prism_coeffs: MaybeTensor  # [..., C, 4]
    ftheta_coeffs: Any  # FThetaCameraDistortionParameters or None
    rolling_shutter: Any  # a RollingShutterType, ours or gsplat's
    viewmats_rs: MaybeTensor  # [..., C, 4, 4]


def without_ut(lens: Lens) -> None:
    """Raises ValueError if there is something that only the unscented transform has."""
    for name, value in zip(lens._fields, lens):
        if value is None or value is RollingShutterType.GLOBAL:
            continue
        if getattr(value, "name", None) != "GLOBAL":
            raise ValueError(f"{name} needs with_ut=True")


def check_parameters(parameters: Any) -> None:
    """Raises ValueError unless the parameters of the transform are the engine's."""
    if parameters is None:
        return
    for field in fields(UnscentedTransformParameters):
        found = getattr(parameters, field.name)
        if found != field.default:
            raise ValueError(
                f"ut_params must be None or have {field.name} {field.default}, the only one that "
                f"splatcore has, found {found}"
            )


def cameras_of(
    model: Any, viewmats: Tensor, Ks: Tensor, width: int, height: int, lens: Lens
) -> tuple[Cameras, Tensor, Tensor]:
    """Cameras for ``camera_model``; ``viewmats``, with a rolling shutter those in the middle of the
    read-out; and ``Ks``, from which gradients flow where they count. Waits for a card."""
    _checks.choice("camera_model", model, CAMERA_MODELS)
    images = tuple(viewmats.shape[:-2])
    readout = _readout(lens)
    for name, part, size in (
        ("tangential_coeffs", lens.tangential_coeffs, (2,)),
        ("thin_prism_coeffs", lens.thin_prism_coeffs, (4,)),
        ("viewmats_rs", lens.viewmats_rs, (4, 4)),
    ):
        if part is not None:
            _is_tensor(name, part)
            _checks.shape(name, part, *images, *size)
    if lens.radial_coeffs is not None:
        _is_tensor("radial_coeffs", lens.radial_coeffs)
        count = 4 if model == "fisheye" else 6
        _checks.shape("radial_coeffs", lens.radial_coeffs, *images, count)
    focal = Ks[..., [0, 1, 0, 1], [0, 1, 2, 2]]
    cameras = Cameras(
        (width, height),
        _listed(viewmats, 2),
        _listed(focal, 1),
        model,
        radial=_listed(lens.radial_coeffs, 1),
        tangential=_listed(lens.tangential_coeffs, 1),
        thin_prism=_listed(lens.thin_prism_coeffs, 1),
        ftheta=_ftheta(lens.ftheta_coeffs, model),
        readout=readout,
        last_viewmats=_listed(lens.viewmats_rs, 2),
    )
    if model == "ftheta":
        # Focal lengths are in the polynomial; those of Ks are not read.
        is_read = torch.tensor([[False, False, True]], device=Ks.device)
        Ks = torch.where(is_read, Ks, Ks.detach())
    if readout is None:
        return cameras, viewmats, Ks
    if torch.is_grad_enabled() and (viewmats.requires_grad or lens.viewmats_rs.requires_grad):  # type: ignore[union-attr]
        raise ValueError(
            "viewmats and viewmats_rs must not require gradients with a rolling shutter; detach them"
        )
    return cameras, viewmats.new_tensor(cameras.viewmats()).view(viewmats.shape), Ks


def _is_tensor(name: str, part: Any) -> None:
    if not isinstance(part, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, found {type(part).__name__}")


def _listed(part: MaybeTensor, sides: int) -> Any:
    """The rows of all images, which have so many dimensions."""
    if part is None:
        return None
    return part.detach().reshape(-1, *part.shape[-sides:]).to("cpu", torch.float64).tolist()


def _readout(lens: Lens) -> Optional[str]:
    name = getattr(lens.rolling_shutter, "name", None)
    if name not in RollingShutterType.__members__:
        raise TypeError(
            f"rolling_shutter must be a RollingShutterType, found {lens.rolling_shutter!r}"
        )
    if name == "GLOBAL":
        if lens.viewmats_rs is not None:
            raise ValueError("viewmats_rs must be None with a global rolling_shutter")
        return None
    if lens.viewmats_rs is None:
        raise ValueError(f"viewmats_rs must be given with rolling_shutter={name}")
    return str(name).removeprefix("ROLLING_").lower().replace("_", "-")


def _ftheta(given: Any, model: str) -> Any:
    if model != "ftheta":
        if given is not None:
            raise ValueError(f'ftheta_coeffs must be None with camera_model="{model}"')
        return None
    if given is None:
        raise ValueError('ftheta_coeffs must be given with camera_model="ftheta"')
    from_pixels = given.reference_poly.name == "PIXELDIST_TO_ANGLE"
    polynomial = given.pixeldist_to_angle_poly if from_pixels else given.angle_to_pixeldist_poly
    return from_pixels, list(polynomial), list(given.linear_cde), float(given.max_angle)
