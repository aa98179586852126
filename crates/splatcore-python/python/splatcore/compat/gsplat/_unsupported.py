"""Names of gsplat that programs import and that splatcore does not have."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn


class RollingShutterType(Enum):
    """How a camera's shutter moves; only GLOBAL is supported."""

    ROLLING_TOP_TO_BOTTOM = 0
    ROLLING_LEFT_TO_RIGHT = 1
    ROLLING_BOTTOM_TO_TOP = 2
    ROLLING_RIGHT_TO_LEFT = 3
    GLOBAL = 4


def _missing(name: str) -> Callable[..., NoReturn]:
    def function(*arguments: Any, **named: Any) -> NoReturn:
        raise NotImplementedError(f"splatcore.compat.gsplat has no {name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises NotImplementedError."
    return function


accumulate_2dgs = _missing("accumulate_2dgs")
fully_fused_projection_2dgs = _missing("fully_fused_projection_2dgs")
fully_fused_projection_with_ut = _missing("fully_fused_projection_with_ut")
rasterization_2dgs = _missing("rasterization_2dgs")
rasterization_2dgs_inria_wrapper = _missing("rasterization_2dgs_inria_wrapper")
rasterization_inria_wrapper = _missing("rasterization_inria_wrapper")
rasterize_to_indices_in_range_2dgs = _missing("rasterize_to_indices_in_range_2dgs")
rasterize_to_pixels_2dgs = _missing("rasterize_to_pixels_2dgs")
rasterize_to_pixels_eval3d = _missing("rasterize_to_pixels_eval3d")


def refuse(arguments: dict[str, Any]) -> None:
    """Raises NotImplementedError for the first argument that is not off: false, None, GLOBAL."""
    for name, value in arguments.items():
        if getattr(value, "name", None) == "GLOBAL" or value is None or value is False:
            continue
        raise NotImplementedError(
            f"{name}={value!r} is not supported by splatcore.compat.gsplat"
            if not hasattr(value, "shape")
            else f"{name} is not supported by splatcore.compat.gsplat; leave it None"
        )
