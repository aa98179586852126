"""The table of presets in docs/results, for scripts/results."""

import re

from results_raw import RAW, source
from results_tables import mean, table

NAME = "training/presets.txt"

RUN = re.compile(
    r"(?P<scene>\w+)-own-(?P<preset>\w+)-(?P<seed>\d+) psnr (?P<psnr>[\d.]+) ssim (?P<ssim>[\d.]+) "
    r"gaussians (?P<gaussians>\d+) steps (?P<steps>\d+) seconds [\d.]+ worst (?P<worst>[\d.]+)"
)


def presets():
    """Trainings at each preset's own length, by scene and preset, over their seeds."""
    groups = {}
    for line in (RAW / NAME).read_text().splitlines():
        if match := RUN.match(line):
            groups.setdefault((match["scene"], match["preset"]), []).append(match)
    lines = []
    for (scene, preset), found in groups.items():
        psnrs = [float(run["psnr"]) for run in found]
        lines.append(
            [
                scene,
                "defaults" if preset == "default" else f"`--preset {preset}`",
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
        "a photo in any seed. chair on white."
    )
    return {
        "quality-presets.md": "\n\n".join(
            [table(head, lines, ["left", "left"] + ["right"] * 7), note, source(NAME)]
        )
    }
