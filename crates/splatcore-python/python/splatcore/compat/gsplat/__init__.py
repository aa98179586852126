"""gsplat 1.5.3 on splatcore's kernels: the same names, arguments, results and ``meta``.

    from splatcore.compat.gsplat import rasterization

Tensors are float32 on the CPU or a CUDA device, or float64 on the CPU, all of one kind. A wrong
shape or value raises ValueError, a wrong type TypeError, and what is not supported
NotImplementedError; each names the argument. More than in gsplat: gradients of ``Ks``,
``backgrounds`` with ``packed=True``, images of zero Gaussians, gradients through lenses. ``settings`` holds the constants in
which gsplat's versions differ.
"""

from __future__ import annotations

from .._settings import Settings
from .._settings import gsplat as settings
from ._lenses import (
    FThetaCameraDistortionParameters,
    FThetaPolynomialType,
    RollingShutterType,
    UnscentedTransformParameters,
)
from ._pieces import (
    adam,
    compute_relocation,
    isect_offset_encode,
    isect_tiles,
    proj,
    quat_scale_to_covar_preci,
    rasterize_to_indices_in_range,
    rasterize_to_pixels,
    spherical_harmonics,
    world_to_cam,
)
from ._projection import fully_fused_projection, fully_fused_projection_with_ut
from ._rasterization import rasterization
from ._unsupported import (
    accumulate_2dgs,
    fully_fused_projection_2dgs,
    rasterization_2dgs,
    rasterization_2dgs_inria_wrapper,
    rasterization_inria_wrapper,
    rasterize_to_indices_in_range_2dgs,
    rasterize_to_pixels_2dgs,
    rasterize_to_pixels_eval3d,
)

__version__ = "1.5.3"

__all__ = [
    "FThetaCameraDistortionParameters",
    "FThetaPolynomialType",
    "RollingShutterType",
    "Settings",
    "UnscentedTransformParameters",
    "accumulate_2dgs",
    "adam",
    "compute_relocation",
    "fully_fused_projection",
    "fully_fused_projection_2dgs",
    "fully_fused_projection_with_ut",
    "isect_offset_encode",
    "isect_tiles",
    "proj",
    "quat_scale_to_covar_preci",
    "rasterization",
    "rasterization_2dgs",
    "rasterization_2dgs_inria_wrapper",
    "rasterization_inria_wrapper",
    "rasterize_to_indices_in_range",
    "rasterize_to_indices_in_range_2dgs",
    "rasterize_to_pixels",
    "rasterize_to_pixels_2dgs",
    "rasterize_to_pixels_eval3d",
    "settings",
    "spherical_harmonics",
    "world_to_cam",
]
