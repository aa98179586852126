"""splatcore's ``rasterization`` in a gsplat that is installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Optional

from . import _rasterization

# gsplat's own ``rasterization``, which ``splatcore.install`` sets.
gsplats: Optional[Callable[..., Any]] = None


# Its name stays this module's, by which it is pickled.
@functools.wraps(_rasterization.rasterization, assigned=("__doc__", "__annotations__"))
def rasterization(*arguments: Any, **named: Any) -> Any:
    try:
        return _rasterization.rasterization(*arguments, **named)
    except NotImplementedError as error:
        if gsplats is None:
            raise
        refused = error
    try:
        return gsplats(*arguments, **named)
    except NotImplementedError:
        # Of the two the one that says what to pass instead.
        raise refused from None
