"""Held-out PSNR of real captures with and without what is meant for them, for scripts/results."""

import json
import re

from results_raw import lines_of, source
from results_tables import mean, table

NAME = "training/real-captures.txt"
GSPLAT = "training/real-captures-gsplat.txt"
COPIES = "training/real-captures-copies.txt"
POSES = "training/real-captures-poses.txt"
CLEAN = "training/clean-captures.txt"

RUN = re.compile(r"(?P<long>long-)?(?P<set>[a-z]+)-(?P<option>[a-z0-9-]+)-(?P<seed>\d+) (?P<json>\{.*\})")
OPTIONS = {
    ("arkit", "none"): "no option",
    ("arkit", "depths"): "`--depths auto`",
    ("arkit", "ppispl"): "`--appearance ppisp-linear`",
    ("statue", "none"): "no option",
    ("statue", "affine"): "`--appearance affine`",
    ("statue", "ppisp"): "`--appearance ppisp`",
    ("corridor", "none"): "no option",
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
# How the held-out photos are measured, by the key of the raw file.
HOW = {"eval": "as they are", "controller": "`--look controller`"}
LENSES = {
    ("undistort", "eval"): "photos undistorted",
    ("undistort", "other"): "photos as taken",
    ("taken", "eval"): "photos as taken",
    ("taken", "other"): "photos undistorted",
}


def runs(long, name=NAME):
    """{(set, option): {key: [value of each seed]}}"""
    found = {}
    for run in filter(None, map(RUN.match, lines_of(name))):
        if bool(run["long"]) == long:
            of = found.setdefault((run["set"], run["option"]), {})
            for key, value in json.loads(run["json"]).items():
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
            how = LENSES.get((option, key)) if name == "aria" else HOW.get(key)
            if how:
                rows.append([SETS[name], label, how, seeds])
    return rows


def captures():
    head = ["capture", "trained with", "measured", "steps", "PSNR", "colours aligned", "seeds"]
    lines = []
    for steps, long in (("3,000", False), ("7,000", True)):
        for name, label, how, seeds in rows_of(long):
            both = [spread([seed[k] for seed in seeds]) for k in range(2)]
            lines.append([name, label, how, steps, *both, len(seeds)])
    align = ["left"] * 3 + ["right"] * 4
    return {
        "captures": "\n\n".join([table(head, lines, align), source(NAME)]),
        "captures-poses": poses(),
        "captures-gsplat": beside_gsplat(),
        "captures-gyro": gyro(),
        "captures-clean": clean(),
    }


def poses():
    """Captures with and without refined poses, both measured with fitted poses too."""
    found = {}
    for line in lines_of(POSES):
        name, _, data = line.partition(" ")
        if name != "#":
            place, option, steps, _ = name.split("-")
            found.setdefault((place, int(steps), option), []).append(json.loads(data))
    rows = []
    for (place, steps, option), seeds in sorted(found.items()):
        given = spread([seed["given"] for seed in seeds])
        both = [spread([seed["fitted"][k] for seed in seeds]) for k in range(2)]
        label = {"none": "no option", "poses": "`--refine-poses`"}[option]
        rows.append([SETS[place], f"{steps:,}", label, *both, given, len(seeds)])
    head = ["capture", "steps", "trained with", "poses fitted", "and colours aligned"]
    head += ["poses as they are", "seeds"]
    align = ["left", "right", "left"] + ["right"] * 4
    return "\n\n".join([table(head, rows, align), source(POSES)])


CLEAN_OPTIONS = {
    "none": "no option",
    "poses": "`--refine-poses`",
    "intr": "`--refine-intrinsics`",
    "affine": "`--appearance affine`",
    "ppispl": "`--appearance ppisp-linear`",
}
CLEAN_SETS = {"bonsai": "bonsai", "fox": "fox_colmap", "chair": "chair"}


GYRO = "training/gyro-video.txt"
GYRO_RUNS = {
    "global": ["no", "no option"],
    "motion": ["no", "`--refine-motion top-to-bottom`"],
    "global-poses": ["no", "`--refine-poses`"],
    "gyro": ["yes", "no option"],
    "gyro-poses": ["yes", "`--refine-poses`"],
}


def gyro():
    """A painted video whose frames were read row by row, with and without its gyroscope."""
    found, rows = runs(False, GYRO), []
    for name, words in GYRO_RUNS.items():
        of = found["video", name]
        # eval knows no motion that the run found; the run's own number has it.
        fitted = spread(of["psnr" if name == "motion" else "fitted"])
        given = spread(of["given"]) if name in ["global", "gyro"] else "-"
        rows.append([*words, given, fitted, len(of["psnr"])])
    head = ["gyroscope used", "trained with", "PSNR", "poses fitted", "seeds"]
    return "\n\n".join([table(head, rows, ["left", "left"] + ["right"] * 3), source(GYRO)])


def clean():
    """Captures whose poses and colours are right, with and without what is meant for others."""
    found = {}
    for line in lines_of(CLEAN):
        name, _, data = line.partition(" ")
        if name != "#":
            place, option, _ = name.split("-")
            found.setdefault((place, option), []).append(json.loads(data.partition(" ")[2]))
    rows = []
    for place, full in CLEAN_SETS.items():
        for option, label in CLEAN_OPTIONS.items():
            seeds = found.get((place, option), [])
            if not seeds:
                continue
            keys = [key for key in seeds[0] if key.startswith("--")]
            fitted = [key for key in keys if "--fit-poses" in key]
            looks = [key for key in keys if "--look" in key]
            key = (looks or ["plain"])[0]
            given = spread([seed[key]["psnr"] for seed in seeds])
            aligned = spread([seed[key]["psnr_aligned"] for seed in seeds])
            own = spread([seed[fitted[0]]["psnr"] for seed in seeds]) if fitted else "-"
            rows.append([full, label, given, aligned, own, len(seeds)])
    head = ["capture", "trained with", "PSNR", "colours aligned", "poses fitted", "seeds"]
    align = ["left", "left"] + ["right"] * 4
    return "\n\n".join([table(head, rows, align), source(CLEAN)])


# What gsplat's own options are beside, on the same copies: set, how photos are measured, options of
# splatcore, of gsplat.
BESIDE = [
    ("arkit", "eval", [("none", "no option")], [("every100", "`--refine-every 100`")]),
    ("arkit", "fitted", [("none", "no option"), ("poses", "`--refine-poses`")],
     [("every100", "`--refine-every 100`"), ("poses10", "`--refine-every 100`, `pose_opt`")]),
    ("corridor", "eval", [("none", "no option")], [("none", "no option")]),
    ("corridor", "fitted", [("none", "no option"), ("poses", "`--refine-poses`")],
     [("none", "no option"), ("poses10", "`pose_opt`")]),
    ("statue", "eval", [("none", "no option"), ("affine", "`--appearance affine`"), ("bilateral", "`--appearance bilateral`")],
     [("every100", "`--refine-every 100`"), ("app", "`--refine-every 100`, `app_opt`"), ("bilateral", "`--refine-every 100`, bilateral grids")]),
    ("aria", "eval", [("astaken", "`--lens as-taken`")], [("ut", "`with_ut`, `with_eval3d`")]),
]


def beside_gsplat():
    programs = {"splatcore": runs(False, COPIES), "gsplat 1.5.3": runs(False, GSPLAT)}
    lines = []
    for place, key, *options in BESIDE:
        how = {"eval": "as they are", "fitted": "poses fitted"}[key]
        for (program, found), own in zip(programs.items(), options):
            for option, label in own:
                of = found[place, option]
                both = [spread([seed[k] for seed in of[key]]) for k in range(2)]
                gaussians = f"{round(mean(of['gaussians']), -3):,.0f}"
                lines.append([SETS[place], how, program, label, gaussians, *both, len(of[key])])
    head = ["capture", "held-out photos", "program", "trained with", "Gaussians"]
    head += ["PSNR", "colours aligned", "seeds"]
    align = ["left"] * 4 + ["right"] * 4
    return "\n\n".join([table(head, lines, align), source(COPIES, GSPLAT)])
