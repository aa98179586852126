"""adc and mcmc at several lengths, for scripts/results."""

import re

from results_raw import RAW, source
from results_tables import table

NAME = "training/presets.txt"

RUN = re.compile(
    r"(?P<scene>\w+)-(?P<length>own|\d+)-(?P<preset>\w+)-(?P<seed>\d+) psnr (?P<psnr>[\d.]+) "
    r"ssim (?P<ssim>[\d.]+) gaussians (?P<gaussians>\d+) steps (?P<steps>\d+) "
    r"seconds [\d.]+ worst (?P<worst>[\d.]+)"
)
PRESETS = {
    "default": "adc",
    "fast": "mcmc, 300 k",
    "balanced": "mcmc, 500 k",
    "quality": "mcmc, 1 M",
}


def runs():
    """All trainings of the raw file."""
    lines = (RAW / NAME).read_text().splitlines()
    return [match for match in map(RUN.match, lines) if match]


def presets():
    """PSNR of adc and mcmc after as many steps, of seed 0."""
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
        "Runs at their own lengths are of commit efa3ef6, 2026-11-24, on an H200."
    )
    parts = [table(head, lines, ["left"] + ["right"] * 5), note, source(NAME)]
    return {"quality-equal-lengths": "\n\n".join(parts)}
