"""Constants in which versions of the packages differ."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, fields

RADIUS_RULES = ("gsplat-1.5", "three-sigma")
PRECISIONS = ("half", "single")


@dataclass
class Settings:
    """Constants of a rasterizer. One object a module, for the whole process.

    alpha_max: the cap of a fragment's alpha; gsplat 1.5.3 has 0.999, its main branch and INRIA
    0.99. radius_rule: the half size of a splat's box in pixels. ``gsplat-1.5``: an axis, min(3.33,
        sqrt(2 ln(255 opacity))) standard deviations. ``three-sigma`` (INRIA, gsplat 1.4.0): three
        standard deviations of the longer axis, for both axes.
    near_plane: Gaussians nearer than this depth, in world units, are not drawn; None: the depth
        that a call's argument gives.
    radii_per_axis: whether ``meta["radii"]`` has two entries a splat, as gsplat 1.5.3 has, or one,
        as 1.4.0 has.
    exact_tiles: whether ``gsplat.rasterization`` lists a splat only in tiles where it counts at
        some pixel, or in all tiles of its box, as gsplat does. Images and gradients are the same;
        ``meta``'s lists are shorter.
    check_finite: whether NaN and infinity in arguments are refused. None: on the CPU only, since
        the check waits for the card.
    precision: what a card computes images and gradients of three or four channels in. ``half``:
        products of halves on its matrix units, as splatcore's own training; ``single``: float32.
        None: ``half`` for colours from harmonics (and their depth), else ``single``. The CPU,
        other numbers of channels, ``absgrad``, tiles other than of 16 pixels, an ``alpha_max``
        above 0.999, an ``eps2d`` below 0.05, ``rasterize_to_pixels`` and ``gsplat.csrc`` always
        have ``single``.

    A value that is not allowed raises ValueError.
    """

    alpha_max: float = 0.999
    radius_rule: str = "gsplat-1.5"
    near_plane: float | None = None
    radii_per_axis: bool = True
    exact_tiles: bool = True
    check_finite: bool | None = None
    precision: str | None = None

    def __setattr__(self, name: str, value: object) -> None:
        if name not in {field.name for field in fields(self)}:
            raise AttributeError(f"no setting {name}; there are {_names(self)}")
        if name == "alpha_max" and not (isinstance(value, (int, float)) and 0 < value < 1):
            raise ValueError(f"alpha_max must be between 0 and 1, found {value!r}")
        if name == "radius_rule" and value not in RADIUS_RULES:
            expected = " or ".join(map(repr, RADIUS_RULES))
            raise ValueError(f"radius_rule must be {expected}, found {value!r}")
        if name == "precision" and value is not None and value not in PRECISIONS:
            expected = ", ".join(map(repr, PRECISIONS))
            raise ValueError(f"precision must be {expected} or None, found {value!r}")
        object.__setattr__(self, name, value)

    def wants_halves(self, harmonics: bool) -> bool:
        """Whether images of colours, from ``harmonics`` or others, are drawn in halves."""
        return harmonics if self.precision is None else self.precision == "half"

    def update(self, **values: object) -> None:
        """Changes several settings: none of them if one is not allowed."""
        before = vars(self).copy()
        try:
            for name, value in values.items():
                setattr(self, name, value)
        except (AttributeError, ValueError):
            vars(self).update(before)
            raise

    @contextlib.contextmanager
    def changed(self, **values: object) -> Iterator[Settings]:
        """Changes settings until the ``with`` block ends."""
        before = vars(self).copy()
        self.update(**values)
        try:
            yield self
        finally:
            vars(self).update(before)

    def like_gsplat(self, version: str) -> None:
        """Takes the constants of a version of gsplat: "1.4.0", "1.5.3" or "main"."""
        if version.startswith("1.4."):
            self.update(alpha_max=0.999, radius_rule="three-sigma", radii_per_axis=False)
        elif version.startswith("1.5."):
            self.update(alpha_max=0.999, radius_rule="gsplat-1.5", radii_per_axis=True)
        elif version == "main":
            self.update(alpha_max=0.99, radius_rule="gsplat-1.5", radii_per_axis=True)
        else:
            raise ValueError(f"version must be 1.4.x, 1.5.x or main, found {version!r}")


def _names(settings: Settings) -> str:
    return ", ".join(field.name for field in fields(settings))


# gsplat's and csrc's.
gsplat = Settings()
inria = Settings(alpha_max=0.99, radius_rule="three-sigma", near_plane=0.2)
