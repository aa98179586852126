"""splatcore's ``rasterization`` in a gsplat that is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._rasterization import rasterization


def or_own(own: Callable[..., Any]) -> Callable[..., Any]:
    """splatcore's ``rasterization``; gsplat's ``own`` does what splatcore's does not support."""

    @functools.wraps(rasterization)
    def drawn(*arguments: Any, **named: Any) -> Any:
        try:
            return rasterization(*arguments, **named)
        except NotImplementedError:
            pass
        return own(*arguments, **named)

    return drawn
