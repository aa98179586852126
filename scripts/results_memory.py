"""The table of a card's memory while training, for scripts/results."""

import re

from results_raw import lines_of, source
from results_tables import table

RAW = "training/memory.txt"
ROW = re.compile(
    r"^tiles (\d+) spread ([\d.]+) moments (\w+) gaussians (\d+) peak (\d+) MiB(, 300 steps)?"
)
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
    return {"training-memory": "\n\n".join([table(head, cells, align), source(RAW)])}
