"""Tables of a card's memory while training and of what it costs in quality, for scripts/results."""

import re
from statistics import mean

from results_raw import lines_of, source
from results_tables import table

RAW = "training/memory.txt"
ROW = re.compile(
    r"^tiles (\d+) spread ([\d.]+) moments (\w+) gaussians (\d+) peak (\d+) MiB(, 300 steps)?"
)
MOMENTS = "training/moments.txt"
RUN = re.compile(
    r"^(\w+)-\d moments (\w+) psnr ([\d.]+) ssim ([\d.]+) gaussians \d+ steps (\d+) seconds ([\d.]+)"
)
KINDS = ["compact", "second", "small"]
MIB = 1024 * 1024
# Of the driver's own, in each program that uses a card (the raw file's third line).
CONTEXT = 527


def memory():
    """Tables by name."""
    rows = []
    for match in filter(None, map(ROW.match, lines_of(RAW))):
        tiles, spread, moments, count, peak, again = match.groups()
        near = float(spread) < 1
        if near and again:
            continue
        seen = "all" if near else f"one in {tiles}"
        a_million = (int(peak) - CONTEXT) * MIB / int(count) / 1e3
        total = int(peak) * MIB / 1e9
        rows.append((not near, moments, int(count), [f"{int(count) / 1e6:.1f} million", seen]
                     + [f"`{moments}`", f"{total:.1f}", f"{a_million:.2f}"]))
    head = ["Gaussians", "in view of a photo", "`--moments`", "peak, GB", "GB a million"]
    cells = [row for *_, row in sorted(rows, key=lambda row: row[:3])]
    align = ["left", "left", "left", "right", "right"]
    return {
        "training-memory": "\n\n".join([table(head, cells, align), source(RAW)]),
        "training-moments": of_moments(),
    }


def of_moments():
    """PSNR, SSIM and seconds of training, by how moments are kept: means over the seeds."""
    runs = {}
    for match in filter(None, map(RUN.match, lines_of(MOMENTS))):
        name, kind, psnr, ssim, steps, seconds = match.groups()
        found = runs.setdefault((name, int(steps)), {}).setdefault(kind, [])
        found.append((float(psnr), float(ssim), float(seconds)))
    cells = []
    for (name, steps), kinds in runs.items():
        row = [name, f"{steps:,}", str(len(kinds["compact"]))]
        for kind in KINDS:
            if kind not in kinds:
                row.append("-")
                continue
            psnr, ssim, seconds = map(list, zip(*kinds[kind]))
            spread = f" ({min(psnr):.2f} to {max(psnr):.2f})" if len(psnr) > 1 else ""
            row.append(f"{mean(psnr):.2f}{spread}, {mean(ssim):.4f}, {mean(seconds):.1f} s")
        compact, small = (mean(run[0] for run in kinds[kind]) for kind in ("compact", "small"))
        cells.append(row + [f"{small - compact:+.2f}"])
    head = ["photos", "steps", "seeds"] + [f"`{kind}`" for kind in KINDS] + ["`small` - `compact`"]
    align = ["left", "right", "right"] + ["left"] * 3 + ["right"]
    return "\n\n".join([table(head, cells, align), source(MOMENTS)])
