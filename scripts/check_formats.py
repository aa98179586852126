"""Compares two PLY files of Gaussians, for scripts/check-formats.

  check_formats.py compare PROGRAM WHAT OURS.ply THEIRS.ply   a JSON line of largest differences
  check_formats.py record ROWS.jsonl MODEL                    the lines as a raw file
"""

import array
import json
import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
RAW = ROOT / "docs/results/raw/formats/peers.json"


def read(path):
    """The columns of a binary little-endian PLY of floats by name."""
    data = pathlib.Path(path).read_bytes()
    end = data.index(b"end_header\n") + len(b"end_header\n")
    header = data[:end].decode()
    count = int(re.search(r"element vertex (\d+)", header)[1])
    names = re.findall(r"property float (\S+)", header)
    values = array.array("f", data[end : end + 4 * count * len(names)])
    if sys.byteorder == "big":
        values.byteswap()
    return count, {name: values[i :: len(names)] for i, name in enumerate(names)}


def largest(pairs):
    return max((abs(a - b) for a, b in pairs), default=0.0)


def sigmoid(logit):
    return 1 / (1 + math.exp(-logit)) if logit > -700 else 0.0


def angle(a, b):
    """Degrees between two rotations, from the chord: the cosine near 1 tells little."""
    a, b = ([v / math.hypot(*q) for v in q] for q in (a, b))
    chord = min(math.dist(a, b), math.dist(a, [-v for v in b]))
    return math.degrees(4 * math.asin(min(chord / 2, 1)))


def compare(program, what, ours, theirs):
    (count, a), (other, b) = read(ours), read(theirs)
    if count != other:
        sys.exit(f"{program} {what}: {count} Gaussians, {other} by the other program")

    def differ(names):
        return max(largest(zip(a[name], b[name])) for name in names)

    higher = sorted(name for name in a if name.startswith("f_rest_"))
    if higher != sorted(name for name in b if name.startswith("f_rest_")):
        sys.exit(f"{program} {what}: another degree of spherical harmonics")
    quaternions = [zip(*(p[f"rot_{i}"] for i in range(4))) for p in (a, b)]
    alphas = zip(map(sigmoid, a["opacity"]), map(sigmoid, b["opacity"]))
    found = {
        "mean": differ("xyz"),
        "log scale": differ(f"scale_{i}" for i in range(3)),
        "rotation": max((angle(*pair) for pair in zip(*quaternions)), default=0.0),
        "opacity": largest(alphas),
        "base colour": differ(f"f_dc_{i}" for i in range(3)),
        "harmonics": differ(higher) if higher else None,
    }
    found = {name: v if v is None else float(f"{v:.2g}") for name, v in found.items()}
    print(json.dumps({"program": program, "what": what, "gaussians": count, "largest": found}))


def record(rows, model):
    rows = [json.loads(line) for line in pathlib.Path(rows).read_text().splitlines()]
    RAW.parent.mkdir(parents=True, exist_ok=True)
    RAW.write_text(json.dumps({"model": model, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    {"compare": compare, "record": record}[sys.argv[1]](*sys.argv[2:])
