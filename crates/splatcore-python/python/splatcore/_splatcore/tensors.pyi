"""Functions on torch tensors and NumPy arrays, of which ``splatcore.compat`` is made.

Outputs are arguments, filled wholly; gradients are those with a name that begins with ``v_``. All
tensors of a call are contiguous, on one device and of one float type (float32 or float64), but for
those of integers and booleans. Shapes are in the docstrings, where the first side may be any number
of dimensions, but for ``N`` and ``total``. ``stream`` is the CUDA stream, as
``torch.cuda.current_stream().cuda_stream`` gives it; without CUDA tensors it has no effect.
"""

from typing import Any, Literal, Protocol, TypeAlias, final

import numpy.typing as npt

__all__ = [
    "Cameras",
    "Totals",
    "adam",
    "all_finite",
    "draw_fwd",
    "gather_rows",
    "intersect_count",
    "intersect_fill",
    "intersect_offset",
    "list_drawn",
    "nearest_neighbours",
    "projection_bwd",
    "projection_fwd",
    "quat_scale_to_covar_preci_bwd",
    "quat_scale_to_covar_preci_fwd",
    "rasterize_bwd",
    "rasterize_fwd",
    "rasterize_to_indices_count",
    "rasterize_to_indices_fill",
    "scatter_rows",
    "spherical_harmonics_bwd",
    "spherical_harmonics_fwd",
    "splats_fwd",
    "ssim_bwd",
    "ssim_fwd",
    "view_colors_fwd",
]

class _TorchTensor(Protocol):
    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def device(self) -> Any: ...
    @property
    def requires_grad(self) -> bool: ...
    def data_ptr(self) -> int: ...
    def is_contiguous(self) -> bool: ...

_Tensor: TypeAlias = npt.NDArray[Any] | _TorchTensor
_CameraModel: TypeAlias = Literal["pinhole", "ortho", "fisheye"]
_RadiusRule: TypeAlias = Literal["gsplat-1.5", "three-sigma"]
_Padding: TypeAlias = Literal["same", "valid"]

@final
class Cameras:
    def __new__(
        cls,
        size: tuple[int, int],
        viewmats: list[list[list[float]]],
        intrinsics: list[list[float]],
        model: str,
        radial: list[list[float]] | None = None,
        tangential: list[list[float]] | None = None,
        thin_prism: list[list[float]] | None = None,
        ftheta: tuple[bool, list[float], list[float], float] | None = None,
        readout: str | None = None,
        last_viewmats: list[list[list[float]]] | None = None,
    ) -> Cameras: ...
    def viewmats(self) -> list[list[list[float]]]: ...

@final
class Totals:
    def wait(self) -> tuple[int, int]: ...

def quat_scale_to_covar_preci_fwd(
    quats: _Tensor,
    scales: _Tensor,
    triu: bool,
    covars: _Tensor | None,
    precis: _Tensor | None,
    *,
    stream: int = 0,
) -> None: ...
def quat_scale_to_covar_preci_bwd(
    quats: _Tensor,
    scales: _Tensor,
    triu: bool,
    v_covars: _Tensor | None,
    v_precis: _Tensor | None,
    v_quats: _Tensor,
    v_scales: _Tensor,
    *,
    stream: int = 0,
) -> None: ...
def projection_fwd(
    means: _Tensor,
    covars: _Tensor | None,
    quats: _Tensor | None,
    scales: _Tensor | None,
    opacities: _Tensor | None,
    viewmats: _Tensor,
    Ks: _Tensor,
    width: int,
    height: int,
    eps2d: float,
    near_plane: float,
    far_plane: float,
    radius_clip: float,
    camera_model: _CameraModel | Cameras,
    radius_rule: _RadiusRule,
    radii: _Tensor,
    means2d: _Tensor,
    depths: _Tensor,
    conics: _Tensor,
    compensations: _Tensor | None,
    *,
    stream: int = 0,
) -> None: ...
def projection_bwd(
    means: _Tensor,
    covars: _Tensor | None,
    quats: _Tensor | None,
    scales: _Tensor | None,
    viewmats: _Tensor,
    Ks: _Tensor,
    width: int,
    height: int,
    eps2d: float,
    camera_model: _CameraModel | Cameras,
    radii: _Tensor,
    conics: _Tensor,
    compensations: _Tensor | None,
    v_means2d: _Tensor,
    v_depths: _Tensor | None,
    v_conics: _Tensor,
    v_compensations: _Tensor | None,
    v_means: _Tensor | None,
    v_covars: _Tensor | None,
    v_quats: _Tensor | None,
    v_scales: _Tensor | None,
    v_viewmats: _Tensor | None,
    v_Ks: _Tensor | None,
    *,
    stream: int = 0,
) -> None: ...
def all_finite(*tensors: _Tensor | None) -> bool: ...
def splats_fwd(
    means: _Tensor,
    covars: _Tensor | None,
    quats: _Tensor | None,
    scales: _Tensor | None,
    opacities: _Tensor | None,
    viewmats: _Tensor,
    Ks: _Tensor,
    width: int,
    height: int,
    eps2d: float,
    near_plane: float,
    far_plane: float,
    radius_clip: float,
    camera_model: _CameraModel | Cameras,
    radius_rule: _RadiusRule,
    tile_size: int,
    exact_tiles: bool,
    radii: _Tensor,
    means2d: _Tensor,
    depths: _Tensor,
    conics: _Tensor,
    compensations: _Tensor | None,
    tiles_per_gauss: _Tensor,
    order: _Tensor | None = None,
    *,
    stream: int = 0,
) -> tuple[int, int] | Totals: ...
def draw_fwd(
    means2d: _Tensor,
    radii: _Tensor,
    depths: _Tensor,
    conics: _Tensor,
    colors: _Tensor,
    opacities: _Tensor,
    backgrounds: _Tensor | None,
    image_ids: _Tensor | None,
    tiles_per_gauss: _Tensor,
    width: int,
    height: int,
    tile_size: int,
    alpha_max: float,
    exact_tiles: bool,
    isect_ids: _Tensor,
    flatten_ids: _Tensor,
    offsets: _Tensor,
    render_colors: _Tensor,
    render_alphas: _Tensor,
    kept: _Tensor | None,
    order: _Tensor | None = None,
    halves: bool = False,
    *,
    stream: int = 0,
) -> None: ...
def view_colors_fwd(
    degree: int,
    means: _Tensor,
    viewmats: _Tensor,
    radii: _Tensor | None,
    coeffs: _Tensor,
    dirs: _Tensor,
    masks: _Tensor | None,
    colors: _Tensor,
    *,
    stream: int = 0,
) -> None: ...
def spherical_harmonics_fwd(
    degree: int,
    dirs: _Tensor,
    coeffs: _Tensor,
    masks: _Tensor | None,
    colors: _Tensor,
    *,
    stream: int = 0,
) -> None: ...
def scatter_rows(
    rows: _Tensor, count: int, floats: int, *tensors: _Tensor, stream: int = 0
) -> None: ...
def spherical_harmonics_bwd(
    degree: int,
    dirs: _Tensor,
    coeffs: _Tensor,
    masks: _Tensor | None,
    v_colors: _Tensor,
    v_coeffs: _Tensor,
    v_dirs: _Tensor | None,
    colors: _Tensor | None = None,
    *,
    stream: int = 0,
) -> None: ...
def list_drawn(
    radii: _Tensor, per_image: int, rows: _Tensor, images: _Tensor, *, stream: int = 0
) -> None: ...
def gather_rows(
    rows: _Tensor, count: int, floats: int, *tensors: _Tensor, stream: int = 0
) -> None: ...
def intersect_count(
    means2d: _Tensor,
    radii: _Tensor,
    tile_size: int,
    tile_width: int,
    tile_height: int,
    tiles_per_gauss: _Tensor,
    conics: _Tensor | None = None,
    opacities: _Tensor | None = None,
    *,
    stream: int = 0,
) -> None: ...
def intersect_fill(
    means2d: _Tensor,
    radii: _Tensor,
    depths: _Tensor,
    image_ids: _Tensor | None,
    I: int,
    tile_size: int,
    tile_width: int,
    tile_height: int,
    ends: _Tensor,
    sort: bool,
    isect_ids: _Tensor,
    flatten_ids: _Tensor,
    conics: _Tensor | None = None,
    opacities: _Tensor | None = None,
    *,
    stream: int = 0,
) -> None: ...
def intersect_offset(
    isect_ids: _Tensor,
    I: int,
    tile_width: int,
    tile_height: int,
    offsets: _Tensor,
    *,
    stream: int = 0,
) -> None: ...
def rasterize_fwd(
    means2d: _Tensor,
    conics: _Tensor,
    colors: _Tensor,
    opacities: _Tensor,
    backgrounds: _Tensor | None,
    masks: _Tensor | None,
    width: int,
    height: int,
    tile_size: int,
    tile_offsets: _Tensor,
    flatten_ids: _Tensor,
    alpha_max: float,
    render_colors: _Tensor,
    render_alphas: _Tensor,
    kept: _Tensor | None,
    halves: bool = False,
    *,
    stream: int = 0,
) -> None: ...
def rasterize_bwd(
    means2d: _Tensor,
    conics: _Tensor,
    colors: _Tensor,
    opacities: _Tensor,
    backgrounds: _Tensor | None,
    masks: _Tensor | None,
    width: int,
    height: int,
    tile_size: int,
    tile_offsets: _Tensor,
    flatten_ids: _Tensor,
    alpha_max: float,
    render_alphas: _Tensor,
    kept: _Tensor,
    v_render_colors: _Tensor,
    v_render_alphas: _Tensor | None,
    v_means2d: _Tensor,
    v_means2d_abs: _Tensor | None,
    v_conics: _Tensor,
    v_colors: _Tensor,
    v_opacities: _Tensor,
    halves: bool = False,
    *,
    stream: int = 0,
) -> None: ...
def rasterize_to_indices_count(
    range_start: int,
    range_end: int,
    transmittances: _Tensor,
    means2d: _Tensor,
    conics: _Tensor,
    opacities: _Tensor,
    width: int,
    height: int,
    tile_size: int,
    tile_offsets: _Tensor,
    flatten_ids: _Tensor,
    alpha_max: float,
    counts: _Tensor,
    *,
    stream: int = 0,
) -> None: ...
def rasterize_to_indices_fill(
    range_start: int,
    range_end: int,
    transmittances: _Tensor,
    means2d: _Tensor,
    conics: _Tensor,
    opacities: _Tensor,
    width: int,
    height: int,
    tile_size: int,
    tile_offsets: _Tensor,
    flatten_ids: _Tensor,
    alpha_max: float,
    starts: _Tensor,
    gaussian_ids: _Tensor,
    pixel_ids: _Tensor,
    *,
    stream: int = 0,
) -> None: ...
def adam(
    param: _Tensor,
    grad: _Tensor,
    exp_avg: _Tensor,
    exp_avg_sq: _Tensor,
    valid: _Tensor | None,
    lr: float,
    b1: float,
    b2: float,
    eps: float,
    *,
    stream: int = 0,
) -> None: ...
def nearest_neighbours(
    points: _Tensor,
    squared_distance: _Tensor,
    *,
    stream: int = 0,
) -> None: ...
def ssim_fwd(
    img1: _Tensor,
    img2: _Tensor,
    padding: _Padding,
    map: _Tensor,
    partials: _Tensor | None,
    *,
    stream: int = 0,
) -> None: ...
def ssim_bwd(
    img1: _Tensor,
    img2: _Tensor,
    padding: _Padding,
    partials: _Tensor,
    v_map: _Tensor,
    v_img1: _Tensor,
    *,
    stream: int = 0,
) -> None: ...
