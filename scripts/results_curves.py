"""Quality against time of whole trainings, for scripts/results."""

import re

from results_raw import lines_of, load, source
from results_svg import curves as curves_svg
from results_tables import mean, table

CURVES, GROWTH, PEERS = "training/quality-time.txt", "training/growth.txt", "peers/h100.json"
# Newer runs, in place of those of CURVES that asked for the same.
LATER = "training/quality-time-fox.txt"

RUN = re.compile(
    r"(?P<scene>bonsai|chair|fox_colmap)-(?P<settings>\w+-)?(?P<seed>\d+) psnr (?P<psnr>[\d.]+) "
    r"ssim (?P<ssim>[\d.]+) gaussians (?P<gaussians>\d+) steps (?P<steps>\d+) seconds [\d.]+ "
    r"wall (?P<wall>[\d.]+)(?: worst (?P<worst>[\d.]+))?(?: flags (?P<flags>.*))?"
)
SCENES = {
    "bonsai": "bonsai: 220 photos of 800x533, 32 held out",
    "fox_colmap": "fox_colmap: 43 photos of 1080x1920, 7 held out",
    "chair": "chair: 100 renderings of 800x800, 10 held out",
}


def runs_of(name):
    return [match for match in map(RUN.match, lines_of(name)) if match]


def own():
    """Runs of the default strategy, by scene and what was asked for: steps, or a time."""
    found = {}
    for name in [CURVES, LATER]:
        groups = {}
        for run in runs_of(name):
            groups.setdefault((run["scene"], run["flags"] or int(run["steps"])), []).append(run)
        found.update(groups)
    return found


def adc():
    """Runs of adc on bonsai."""
    return [run for run in runs_of(GROWTH) if run["settings"] == "adc-"]


def peers():
    """(scene, program, steps, seconds, seconds of training alone, PSNR, SSIM, Gaussians, worst)"""
    training = load(PEERS)["training"]
    found = []
    for key, scene in [("bonsai", "bonsai"), ("fox", "fox_colmap")]:
        run = training["litegs"][key]
        quality = run["test_own"]
        numbers = quality["PSNR"], quality["SSIM"], run["n"], None
        found.append((scene, "LiteGS", run["steps"], run["process_s"], run["train_s"], *numbers))
    run = training["gsplat_simple_trainer"]["one_card"]
    numbers = run["steps"], None, run["train_s"], run["psnr"], None, run["n"], None
    found.append(("fox_colmap", "gsplat, simple_trainer mcmc", *numbers))
    return found


def rows():
    lines = []
    for (scene, asked), found in own().items():
        psnrs = [float(run["psnr"]) for run in found]
        few = {1: "one seed", 2: "two seeds: "}.get(len(found), "")
        spread = few if len(found) == 1 else f"{few}{min(psnrs):.2f} to {max(psnrs):.2f}"
        lines.append(
            (
                scene,
                f"splatcore, `{asked}`" if isinstance(asked, str) else "splatcore",
                round(mean(int(run["steps"]) for run in found)),
                mean(float(run["wall"]) for run in found),
                None,
                mean(psnrs),
                mean(float(run["ssim"]) for run in found),
                mean(int(run["gaussians"]) for run in found),
                min((float(run["worst"]) for run in found if run["worst"]), default=None),
                spread,
            )
        )
    for run in adc():
        numbers = float(run["psnr"]), float(run["ssim"]), int(run["gaussians"]), None, "one seed"
        named = "splatcore, `--strategy adc`"
        lines.append((run["scene"], named, int(run["steps"]), float(run["wall"]), None, *numbers))
    lines += [(*peer, "one seed") for peer in peers()]
    order = list(SCENES)
    return sorted(lines, key=lambda row: (order.index(row[0]), row[3] or row[4]))


def quality_curves():
    lines = []
    for scene, program, steps, wall, alone, psnr, ssim, gaussians, worst, seeds in rows():
        lines.append(
            [
                scene,
                program,
                f"{steps:,}",
                f"{wall:.1f}" if wall else "-",
                f"{alone:.1f}" if alone else "",
                f"{psnr:.2f}",
                seeds,
                f"{worst:.2f}" if worst else "-",
                f"{ssim:.4f}" if ssim else "-",
                f"{gaussians:,.0f}",
            ]
        )
    head = ["scene", "program", "steps", "seconds", "training alone", "PSNR"]
    head += ["three seeds", "worst view", "SSIM", "Gaussians"]
    note = (
        "Seconds: from the program's start to its end. PSNR and SSIM: means over the held-out photos\n"
        "and the seeds; *worst view*: the lowest PSNR of a photo in any of the seeds' runs. Photos at\n"
        "their own size, chair on white. Of gsplat only the seconds of its training are known;\n"
        "INRIA's trainer was not run beside these. LiteGS: 004b952 with the settings of its\n"
        "`full_eval_aggressive.py` and an equivalent kernel of the loss in place of its own."
    )
    align = ["left", "left"] + ["right"] * 4 + ["left"] + ["right"] * 3
    parts = [table(head, lines, align), note, source(CURVES, LATER, GROWTH, PEERS)]
    return {"quality-curves": "\n\n".join(parts)}


def figures():
    """A plot for each scene."""
    files = {}
    for scene, title in SCENES.items():
        lines, points = [], []
        for row in rows():
            if row[0] != scene:
                continue
            at = (row[3] or row[4], row[5])
            if row[1] == "splatcore":
                lines.append(at)
            else:
                points.append((*at, f"{row[1].replace('`', '')}, {row[2]:,} steps"))
        files[f"curve-{scene}.svg"] = curves_svg(
            title, "seconds, whole program", "PSNR, dB", "splatcore", lines, points
        )
    return files
