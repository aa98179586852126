"""The tables of presets in docs/results, for scripts/results."""

import re

from results_raw import RAW, source
from results_tables import mean, table

NAME = "training/presets.txt"

RUN = re.compile(
    r"(?P<scene>\w+)-(?P<length>own|\d+)-(?P<preset>\w+)-(?P<seed>\d+) psnr (?P<psnr>[\d.]+) "
    r"ssim (?P<ssim>[\d.]+) gaussians (?P<gaussians>\d+) steps (?P<steps>\d+) "
    r"seconds [\d.]+ worst (?P<worst>[\d.]+)"
)
PRESETS = {
    "default": "`--strategy adc`",
    "fast": "`fast` then",
    "balanced": "`balanced` then",
    "quality": "`quality` then",
}


GROWTH = "training/growth.txt"
GROWN = re.compile(
    r"bonsai-(?P<settings>\w+)-0 psnr (?P<psnr>[\d.]+) ssim (?P<ssim>[\d.]+) "
    r"gaussians (?P<gaussians>\d+) steps (?P<steps>\d+) seconds [\d.]+ wall (?P<wall>[\d.]+)"
)
SETTINGS = {
    "adc": "`--strategy adc`",
    "fast": "`--preset fast`",
    "balanced": "`--preset balanced`",
    "default": "defaults",
}


def grown():
    """Trainings of bonsai by the default strategy, and by adc."""
    lines = (RAW / GROWTH).read_text().splitlines()
    return [match for match in map(GROWN.match, lines) if match]


def growth():
    """The table of them."""
    lines = [
        [
            SETTINGS[run["settings"]],
            f"{int(run['steps']):,}",
            f"{float(run['wall']):.1f}",
            f"{float(run['psnr']):.2f}",
            f"{float(run['ssim']):.4f}",
            f"{int(run['gaussians']):,}",
        ]
        for run in sorted(grown(), key=lambda run: float(run["wall"]))
    ]
    head = ["bonsai", "steps", "seconds", "PSNR", "SSIM", "Gaussians"]
    note = (
        "220 photos of 800x533 to train on, 32 held out; seed 0. Seconds: from the program's start to\n"
        "its end."
    )
    return "\n\n".join([table(head, lines, ["left"] + ["right"] * 5), note, source(GROWTH)])


def runs():
    """All trainings of the raw file."""
    lines = (RAW / NAME).read_text().splitlines()
    return [match for match in map(RUN.match, lines) if match]


def presets():
    """Trainings at each preset's own length, by scene and preset, over their seeds."""
    groups = {}
    for run in runs():
        if run["length"] == "own":
            groups.setdefault((run["scene"], run["preset"]), []).append(run)
    lines = []
    for (scene, preset), found in groups.items():
        psnrs = [float(run["psnr"]) for run in found]
        lines.append(
            [
                scene,
                PRESETS[preset],
                len(found),
                f"{mean(psnrs):.2f}",
                f"{min(psnrs):.2f} to {max(psnrs):.2f}",
                f"{mean(float(run['ssim']) for run in found):.3f}",
                f"{min(float(run['worst']) for run in found):.2f}",
                f"{mean(int(run['gaussians']) for run in found):,.0f}",
                f"{int(found[0]['steps']):,}",
            ]
        )
    head = [
        "scene",
        "settings",
        "seeds",
        "PSNR, mean",
        "lowest to highest seed",
        "SSIM",
        "worst view",
        "Gaussians",
        "steps",
    ]
    note = (
        "PSNR and SSIM: means over the held-out photos and the seeds. Worst view: the lowest PSNR of\n"
        "a photo in any seed. chair on white. The file says which lines are of a later commit and of an\n"
        "H100."
    )
    tables = [table(head, lines, ["left", "left"] + ["right"] * 7), note, source(NAME)]
    return {
        "quality-growth": growth(),
        "quality-presets": "\n\n".join(tables),
        "quality-equal-lengths": equal_lengths(),
    }


def equal_lengths():
    """PSNR of every preset after as many steps, of seed 0."""
    found = {}
    for run in runs():
        if run["seed"] == "0" and run["scene"] != "sceaux":
            rows = found.setdefault((run["scene"], int(run["steps"])), {})
            rows[run["preset"]] = f"{float(run['psnr']):.2f} ({int(run['gaussians']) / 1000:,.0f} k)"
    lines = [
        [scene, f"{steps:,}"] + [rows[preset] for preset in PRESETS]
        for (scene, steps), rows in sorted(found.items())
    ]
    head = ["scene", "steps", *PRESETS.values()]
    note = (
        "Mean PSNR of the held-out photos, dB, and thousands of Gaussians; seed 0. chair on white.\n"
        "The file says which lines are of a later commit and of an H100."
    )
    return "\n\n".join([table(head, lines, ["left"] + ["right"] * 5), note, source(NAME)])
