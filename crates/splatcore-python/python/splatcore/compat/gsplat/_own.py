"""splatcore's ``rasterization`` in a gsplat that is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Optional

from . import _rasterization

_gsplats: Optional[Callable[..., Any]] = None


def gsplats() -> Optional[Callable[..., Any]]:
    """gsplat's own ``rasterization``, if it was set."""
    return _gsplats


def use(own: Optional[Callable[..., Any]]) -> Optional[Callable[..., Any]]:
    """Sets gsplat's own ``rasterization``; returns what was set before."""
    global _gsplats
    before, _gsplats = _gsplats, own
    return before


# Its name stays this module's, by which it is pickled.
@functools.wraps(_rasterization.rasterization, assigned=("__doc__", "__annotations__"))
def rasterization(*arguments: Any, **named: Any) -> Any:
    try:
        return _rasterization.rasterization(*arguments, **named)
    except NotImplementedError:
        if _gsplats is None:
            raise
    return _gsplats(*arguments, **named)
