from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, TypeAlias, final

import numpy as np
import numpy.typing as npt

from . import tensors

__all__ = [
    "Camera",
    "Dataset",
    "Error",
    "Gradients",
    "Renderer",
    "Rendering",
    "Scene",
    "TrainedRun",
    "TrainingInterrupted",
    "TrainingState",
    "__version__",
    "command_line",
    "psnr",
    "render",
    "ssim",
    "tensors",
    "train",
]

__version__: str

class _DLPack(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...

_Array: TypeAlias = npt.NDArray[Any] | _DLPack
_Floats: TypeAlias = npt.NDArray[np.float32]
_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Path: TypeAlias = str | PathLike[str]
_Three: TypeAlias = Sequence[float] | npt.NDArray[Any]
_Matrix: TypeAlias = Sequence[Sequence[float]] | npt.NDArray[Any] | _DLPack

class Error(Exception): ...

class TrainingInterrupted(KeyboardInterrupt):
    run: TrainedRun

@final
class Scene:
    def __new__(
        cls,
        means: _Array,
        scales: _Array,
        rotations: _Array,
        opacities: _Array,
        sh: _Array,
        antialiased: bool = False,
        sky: _Array | None = None,
    ) -> Scene: ...
    @staticmethod
    def load(path: _Path, *, lod: int | None = None) -> Scene: ...
    def save(
        self,
        path: _Path,
        *,
        keep_order: bool = False,
        spz_version: int | None = None,
        sog_iterations: int | None = None,
        sog_levels: int | None = None,
    ) -> None: ...
    def replace(
        self,
        *,
        means: _Array | None = None,
        scales: _Array | None = None,
        rotations: _Array | None = None,
        opacities: _Array | None = None,
        sh: _Array | None = None,
        antialiased: bool | None = None,
        sky: _Array | None = None,
    ) -> Scene: ...
    @property
    def means(self) -> _Floats: ...
    @property
    def scales(self) -> _Floats: ...
    @property
    def rotations(self) -> _Floats: ...
    @property
    def opacities(self) -> _Floats: ...
    @property
    def sh(self) -> _Floats: ...
    @property
    def sh_degree(self) -> int: ...
    @property
    def antialiased(self) -> bool: ...
    @property
    def sky(self) -> _Floats | None: ...
    def __len__(self) -> int: ...
    def __getnewargs__(
        self,
    ) -> tuple[_Floats, _Floats, _Floats, _Floats, _Floats, bool, _Floats | None]: ...

@final
class Camera:
    def __new__(
        cls,
        width: int,
        height: int,
        fx: float,
        fy: float,
        cx: float,
        cy: float,
        world_to_camera: _Matrix,
    ) -> Camera: ...
    @staticmethod
    def look_at(
        eye: _Three,
        target: _Three,
        width: int,
        height: int,
        *,
        up: _Three | None = None,
        fov_y: float = 0.8,
    ) -> Camera: ...
    @property
    def lens(self) -> str: ...
    @property
    def width(self) -> int: ...
    @property
    def height(self) -> int: ...
    @property
    def fx(self) -> float: ...
    @property
    def fy(self) -> float: ...
    @property
    def cx(self) -> float: ...
    @property
    def cy(self) -> float: ...
    @property
    def world_to_camera(self) -> npt.NDArray[np.float64]: ...
    @property
    def position(self) -> tuple[float, float, float]: ...
    def resized(self, width: int, height: int) -> Camera: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __getnewargs__(
        self,
    ) -> tuple[int, int, float, float, float, float, list[list[float]]]: ...

@final
class Rendering:
    @property
    def image(self) -> _Floats: ...
    @property
    def alpha(self) -> _Floats: ...
    @property
    def depth(self) -> _Floats | None: ...
    def save(self, path: _Path) -> None: ...

@final
class Gradients:
    @property
    def means(self) -> _Floats: ...
    @property
    def scales(self) -> _Floats: ...
    @property
    def rotations(self) -> _Floats: ...
    @property
    def opacities(self) -> _Floats: ...
    @property
    def sh(self) -> _Floats: ...
    def pose(
        self, scene: Scene, camera: Camera, sh_degree: int | None = None
    ) -> tuple[list[float], list[float]]: ...

@final
class Renderer:
    def __new__(
        cls,
        scene: Scene,
        backend: str = "auto",
        *,
        threads: int | None = None,
        device: int | None = None,
    ) -> Renderer: ...
    def render(
        self,
        camera: Camera,
        *,
        background: _Three | None = None,
        depth: bool = False,
        pipeline: str = "auto",
        sh_degree: int | None = None,
        antialiased: bool | None = None,
    ) -> Rendering: ...
    def gradients(
        self,
        camera: Camera,
        image_gradient: _Array,
        *,
        alpha_gradient: _Array | None = None,
        depth_gradient: _Array | None = None,
        background: _Three | None = None,
        pipeline: str = "auto",
        sh_degree: int | None = None,
        antialiased: bool | None = None,
    ) -> Gradients: ...
    @property
    def backend(self) -> str: ...
    def __len__(self) -> int: ...

@final
class Dataset:
    @staticmethod
    def load(
        path: _Path,
        *,
        images: str | None = None,
        max_size: int | None = None,
        test_every: int | None = None,
        background: str | _Three | None = None,
        seed: int | None = None,
        lens: str | None = None,
        readout_time: float | None = None,
        readout_direction: str | None = None,
    ) -> Dataset: ...
    @property
    def path(self) -> Path: ...
    @property
    def names(self) -> list[str]: ...
    @property
    def cameras(self) -> list[Camera]: ...
    @property
    def train(self) -> list[int]: ...
    @property
    def test(self) -> list[int]: ...
    @property
    def points(self) -> _Floats: ...
    @property
    def point_colours(self) -> _Bytes: ...
    def image(self, index: int) -> _Bytes: ...
    def mask(self, index: int) -> _Bytes | None: ...
    def __len__(self) -> int: ...

@final
class TrainingState:
    @property
    def step(self) -> int: ...
    @property
    def iterations(self) -> int: ...
    @property
    def loss(self) -> float: ...
    @property
    def count(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    def render(
        self, camera: Camera, *, background: _Three | None = None, depth: bool = False
    ) -> Rendering: ...
    def stop(self) -> None: ...

@final
class TrainedRun:
    @property
    def scene(self) -> Scene: ...
    @property
    def steps(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def finished(self) -> bool: ...
    @property
    def loss(self) -> float | None: ...
    @property
    def curve(self) -> list[tuple[int, float, int, float]]: ...
    @property
    def backend(self) -> str: ...
    @property
    def config(self) -> str: ...

def render(
    scene: Scene,
    camera: Camera,
    *,
    backend: str = "auto",
    background: _Three | None = None,
    depth: bool = False,
    pipeline: str = "auto",
    sh_degree: int | None = None,
    antialiased: bool | None = None,
) -> Rendering: ...
def train(
    dataset: Dataset,
    preset: str | None = None,
    iterations: int | None = None,
    *,
    callback: Callable[[TrainingState], object] | None = None,
    callback_every: int = 100,
    checkpoint: _Path | None = None,
    resume: bool = False,
    device: int | None = None,
    **settings: object,
) -> TrainedRun: ...
def psnr(image: _Array, photo: _Array, mask: _Array | None = None) -> float: ...
def ssim(image: _Array, photo: _Array, mask: _Array | None = None) -> float: ...
def command_line(arguments: Sequence[str], again: Sequence[str]) -> int: ...
