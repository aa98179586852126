"""Puts the stand-ins of ``splatcore.compat`` where other packages' names are looked for."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType
from typing import Any

CSRC_VERSION = "1.5.3"
NAMES = ("gsplat", "gsplat.csrc", "inria", "simple_knn", "fused_ssim")
# What gsplat offers at its top and keeps in modules that only it has.
_OWN = {
    "DefaultStrategy": "strategy",
    "MCMCStrategy": "strategy",
    "Strategy": "strategy",
    "PngCompression": "compression",
    "export_splats": "exporter",
    "SelectiveAdam": "optimizers",
    "accumulate": "cuda._torch_impl",
}


class Installation:
    """What ``install`` did. ``undo`` takes it back, as does the end of a ``with`` block."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._undo: list[Callable[[], None]] = []

    def undo(self) -> None:
        """Puts back what was there before. Names that a program has imported stay with it.

        What was installed later stays: it is taken back first and put in place again.
        """
        if self not in _installed:
            return
        later = _installed[_installed.index(self) + 1 :]
        for one in reversed(later):
            one._take_back()
        self._take_back()
        for one in later:
            one._put()

    def _put(self) -> None:
        try:
            for name in self._names:
                _STEPS[name](self)
        except BaseException:
            self._take_back()
            raise
        _installed.append(self)

    def _take_back(self) -> None:
        while self._undo:
            self._undo.pop()()
        if self in _installed:
            _installed.remove(self)

    def __enter__(self) -> Installation:
        return self

    def __exit__(self, *_: object) -> None:
        self.undo()

    def _set(self, module: ModuleType, attribute: str, value: Any) -> Any:
        """Sets a module's attribute; returns what was there, or None."""
        old = getattr(module, attribute, None)
        setattr(module, attribute, value)
        self._undo.append(_attribute_back(module, attribute, old))
        return old

    def _replace(self, modules: dict[str, ModuleType]) -> None:
        """Puts modules into ``sys.modules``; what was below their names goes."""
        tops = {name.split(".")[0] for name in modules}
        before = _below(tops)

        def restore() -> None:
            for name in _below(tops):
                del sys.modules[name]
            sys.modules.update(before)

        self._undo.append(restore)
        for name in before:
            del sys.modules[name]
        sys.modules.update(modules)
        for name, module in modules.items():
            parent, _, last = name.rpartition(".")
            if parent in modules:
                setattr(modules[parent], last, module)


def install(*names: str) -> Installation:
    """Makes ``import gsplat`` and the like find splatcore's stand-ins, in this process only.

    =====================  ==================================================================
    name                   modules
    =====================  ==================================================================
    ``"gsplat"``           with gsplat 1.5.3 installed: its own, on ``"gsplat.csrc"``, but for
                           ``rasterization``, which is splatcore's where that does what is
                           asked; else ``gsplat``, ``gsplat.rendering``,
                           ``gsplat.cuda._wrapper``, ``gsplat.relocation``, and others, such
                           as ``gsplat.strategy``, from a gsplat that is installed (1.4 or
                           1.5), whose constants are taken
    ``"gsplat.csrc"``      ``gsplat.csrc``, below a gsplat 1.5.3 that is installed
    ``"inria"``            ``diff_gaussian_rasterization``
    ``"simple_knn"``       ``simple_knn``, ``simple_knn._C``
    ``"fused_ssim"``       ``fused_ssim``
    =====================  ==================================================================

    No name: all but ``"gsplat.csrc"``. Call it before the program imports those names. Nothing is
    written to disk.

    Raises ValueError for another name, ImportError without torch or, for ``"gsplat.csrc"``, without
    gsplat 1.5.3.
    """
    if not names:
        names = ("gsplat", "inria", "simple_knn", "fused_ssim")
    for name in names:
        if name not in NAMES:
            raise ValueError(f"names must be of {', '.join(NAMES)}, found {name!r}")
    if {"gsplat", "gsplat.csrc"} <= set(names):
        raise ValueError("names must have one of 'gsplat' and 'gsplat.csrc', found both")
    installation = Installation(names)
    installation._put()
    return installation


def _below(tops: set[str]) -> dict[str, ModuleType]:
    """The imported modules whose names begin with one of these."""
    modules = list(sys.modules.items())
    return {name: module for name, module in modules if name.split(".")[0] in tops}


def _ours(name: str) -> ModuleType:
    return importlib.import_module(f"splatcore.compat.{name}")


def _gsplat_version() -> str | None:
    try:
        return version("gsplat")
    except PackageNotFoundError:
        return None


def _stand_in(name: str, ours: ModuleType, path: list[str] | None = None) -> ModuleType:
    """A module with the public names of ours; a package if a path is given."""
    module = ModuleType(name, ours.__doc__)
    public = {key: value for key, value in vars(ours).items() if not key.startswith("_")}
    vars(module).update(public)
    if path is not None:
        module.__path__ = path
    return module


def _gsplat(installation: Installation) -> None:
    ours, found = _ours("gsplat"), _gsplat_version()
    paths: dict[str, list[str]] = {"gsplat": [], "gsplat.cuda": []}
    if found is not None:
        if not found.startswith(("1.4.", "1.5.")):
            raise ImportError(
                f"gsplat's stand-in goes with gsplat 1.4 or 1.5, found {found}: "
                "pip install gsplat==1.5.3, or import splatcore.compat.gsplat by its own name"
            )
        before = vars(ours.settings).copy()
        ours.settings.like_gsplat(found)
        installation._undo.append(lambda: ours.settings.update(**before))
        if found == CSRC_VERSION:
            return _own_gsplat(installation)
        paths = _paths_of_gsplat()
    modules = {
        name: _stand_in(name, ours, paths.get(name))
        for name in (
            "gsplat",
            "gsplat.rendering",
            "gsplat.relocation",
            "gsplat.cuda",
            "gsplat.cuda._wrapper",
        )
    }
    top = modules["gsplat"]
    vars(top)["__version__"] = found or ours.__version__

    def missing(name: str) -> Any:
        if name in _OWN:
            module = f"gsplat.{_OWN[name]}"
            try:
                return getattr(importlib.import_module(module), name)
            except ModuleNotFoundError as error:
                raise ImportError(
                    f"gsplat.{name} is gsplat's own: install gsplat beside splatcore ({error})"
                ) from None
        raise AttributeError(f"module 'gsplat' (splatcore.compat.gsplat) has no attribute {name!r}")

    vars(top)["__getattr__"] = missing
    installation._replace(modules)


def _own_gsplat(installation: Installation) -> None:
    """gsplat's own modules on splatcore's kernels, with splatcore's ``rasterization``."""
    if "gsplat" not in sys.modules:
        installation._undo.append(_forget_gsplat)
    _csrc(installation)
    importlib.import_module("gsplat.rendering")
    ours = _ours("gsplat._own")
    own = _set_rasterization(installation, ours.rasterization)
    installation._set(ours, "gsplats", own)


def _set_rasterization(installation: Installation, function: Any) -> Any:
    """Replaces ``rasterization`` in gsplat's own modules; returns what was there."""
    modules = (sys.modules["gsplat"], sys.modules["gsplat.rendering"])
    before = [installation._set(module, "rasterization", function) for module in modules]
    return before[-1]


def _forget_gsplat() -> None:
    """Drops gsplat's modules but for the native one, of which ``_csrc`` takes care."""
    for name in _below({"gsplat"}):
        if name != "gsplat.csrc":
            del sys.modules[name]


def _paths_of_gsplat() -> dict[str, list[str]]:
    """Where the installed gsplat's modules are, without importing it."""
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "gsplat"}
    try:
        spec = importlib.util.find_spec("gsplat")
    finally:
        sys.modules.update(before)
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    return {"gsplat": places, "gsplat.cuda": [f"{place}/cuda" for place in places]}


def _csrc(installation: Installation) -> None:
    found = _gsplat_version()
    if found != CSRC_VERSION:
        raise ImportError(
            f"gsplat.csrc must stand below gsplat {CSRC_VERSION}, found {found or 'no gsplat'}: "
            f"BUILD_NO_CUDA=1 pip install gsplat=={CSRC_VERSION}, or install('gsplat')"
        )
    csrc, ours = _ours("csrc"), _ours("gsplat._own")
    before = sys.modules.get("gsplat.csrc")
    sys.modules["gsplat.csrc"] = csrc
    installation._undo.append(lambda: _put("gsplat.csrc", before))
    rendering = sys.modules.get("gsplat.rendering")
    if rendering is not None and rendering.rasterization is ours.rasterization:
        _set_rasterization(installation, ours.gsplats)
    if "gsplat.cuda._backend" not in sys.modules:
        # gsplat looks for its native module there, once, when it is first needed.
        installation._undo.append(lambda: _put("gsplat.cuda._backend", None))
    # A parent that is imported already has the module as an attribute, and its backend has looked.
    for name, attribute in (("gsplat", "csrc"), ("gsplat.cuda._backend", "_C")):
        module = sys.modules.get(name)
        if module is not None:
            installation._set(module, attribute, csrc)


def _attribute_back(module: ModuleType, attribute: str, old: object) -> Callable[[], None]:
    def undo() -> None:
        if old is None and attribute == "csrc":
            vars(module).pop(attribute, None)
        else:
            setattr(module, attribute, old)

    return undo


def _put(name: str, module: ModuleType | None) -> None:
    if module is None:
        sys.modules.pop(name, None)
    else:
        sys.modules[name] = module


def _inria(installation: Installation) -> None:
    ours = _ours("inria")
    top = _stand_in("diff_gaussian_rasterization", ours, [])
    native = ModuleType("diff_gaussian_rasterization._C", ours.__doc__)
    vars(native)["mark_visible"] = ours.mark_visible
    installation._replace({top.__name__: top, native.__name__: native})


def _simple_knn(installation: Installation) -> None:
    ours = _ours("simple_knn")
    names = ("simple_knn", "simple_knn._C")
    installation._replace({name: _stand_in(name, ours, []) for name in names})


def _fused_ssim(installation: Installation) -> None:
    installation._replace({"fused_ssim": _stand_in("fused_ssim", _ours("fused_ssim"))})


_STEPS: dict[str, Callable[[Installation], None]] = {
    "gsplat": _gsplat,
    "gsplat.csrc": _csrc,
    "inria": _inria,
    "simple_knn": _simple_knn,
    "fused_ssim": _fused_ssim,
}
# Those that were not taken back, in their order.
_installed: list[Installation] = []
