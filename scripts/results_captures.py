"""Held-out PSNR of real captures with and without what is meant for them, for scripts/results."""

import json
import re

from results_raw import lines_of, source
from results_tables import mean, table

NAME = "training/real-captures.txt"

RUN = re.compile(r"(?P<long>long-)?(?P<set>[a-z]+)-(?P<option>[a-z-]+)-(?P<seed>\d) (?P<json>\{.*\})")
OPTIONS = {
    ("arkit", "none"): "none",
    ("arkit", "poses"): "`--refine-poses`",
    ("arkit", "depths"): "`--depths auto`",
    ("arkit", "depths-poses"): "`--depths auto --refine-poses`",
    ("arkit", "ppispl"): "`--appearance ppisp-linear`",
    ("statue", "none"): "none",
    ("statue", "affine"): "`--appearance affine`",
    ("statue", "ppisp"): "`--appearance ppisp`",
    ("corridor", "none"): "none",
    ("corridor", "poses"): "`--refine-poses`",
    ("corridor", "ppisp"): "`--appearance ppisp`",
    ("aria", "undistort"): "`--lens undistort`",
    ("aria", "taken"): "`--lens as-taken`",
}
SETS = {
    "arkit": "arkit_corridor",
    "statue": "statue",
    "corridor": "corridor_video",
    "aria": "fisheye_aria2",
}
# How the held-out photos are compared, by the key of the raw file.
HOW = {"eval": "", "fitted": ", held-out poses fitted", "controller": ", `--look controller`"}
LENSES = {
    ("undistort", "eval"): "undistorted",
    ("undistort", "other"): "as taken",
    ("taken", "eval"): "as taken",
    ("taken", "other"): "undistorted",
}


def runs(long):
    """{(set, option): {key: [[PSNR, PSNR aligned] of each seed]}}"""
    found = {}
    for run in filter(None, map(RUN.match, lines_of(NAME))):
        if bool(run["long"]) == long:
            of = found.setdefault((run["set"], run["option"]), {})
            for key, value in json.loads(run["json"]).items():
                if isinstance(value, list) and not key.endswith("_views"):
                    of.setdefault(key, []).append(value)
    return found


def spread(values):
    """A mean and, of several, what they lie between."""
    low, high = min(values), max(values)
    return f"{mean(values):.2f}" + (f" ({low:.2f} to {high:.2f})" if len(values) > 1 else "")


def rows_of(long):
    found, rows = runs(long), []
    for (name, option), label in OPTIONS.items():
        for key, seeds in found.get((name, option), {}).items():
            if name == "aria":
                rows.append([SETS[name], label, f"{LENSES[option, key]}", seeds])
            else:
                rows.append([SETS[name], label + HOW[key], "", seeds])
    return rows


def captures():
    head = ["capture", "with", "steps", "PSNR", "PSNR, colours aligned", "seeds"]
    lines = []
    for steps, long in (("3,000", False), ("7,000", True)):
        for name, label, photos, seeds in rows_of(long):
            what = f"{label}, on photos {photos}" if photos else label
            both = [spread([seed[k] for seed in seeds]) for k in range(2)]
            lines.append([name, what, steps, *both, len(seeds)])
    align = ["left", "left"] + ["right"] * 4
    return {"captures": "\n\n".join([table(head, lines, align), source(NAME)])}
