"""Names of gsplat that programs import and that splatcore does not have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def _missing(name: str) -> Callable[..., NoReturn]:
    def function(*arguments: Any, **named: Any) -> NoReturn:
        raise NotImplementedError(f"splatcore.compat.gsplat has no {name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Raises NotImplementedError."
    return function


accumulate_2dgs = _missing("accumulate_2dgs")
fully_fused_projection_2dgs = _missing("fully_fused_projection_2dgs")
rasterization_2dgs = _missing("rasterization_2dgs")
rasterization_2dgs_inria_wrapper = _missing("rasterization_2dgs_inria_wrapper")
rasterization_inria_wrapper = _missing("rasterization_inria_wrapper")
rasterize_to_indices_in_range_2dgs = _missing("rasterize_to_indices_in_range_2dgs")
rasterize_to_pixels_2dgs = _missing("rasterize_to_pixels_2dgs")
rasterize_to_pixels_eval3d = _missing("rasterize_to_pixels_eval3d")


# What to do about it, behind the words that name an argument.
INSTEAD = {
    "with_eval3d": ", which draws Gaussians as splats in the image, not along rays; pass "
    "with_eval3d=False",
}


def refuse(arguments: dict[str, Any]) -> None:
    """Raises NotImplementedError for the first argument that is not off: false or None."""
    for name, value in arguments.items():
        if value is None or value is False:
            continue
        instead = INSTEAD.get(name, "")
        raise NotImplementedError(
            f"{name}={value!r} is not supported by splatcore.compat.gsplat{instead}"
        )
