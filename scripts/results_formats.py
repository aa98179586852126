"""The table of what other programs read in our scene files, for scripts/results."""

from results_raw import json_lines, load
from results_tables import table

# What the example's files hold.
NAMES = {
    "scene.ply": "PLY",
    "scene.glb": "glTF",
    "scene.compressed.ply": "compressed PLY",
    "v2.spz": "SPZ 2",
    "v3.spz": "SPZ 3",
    "v3-8bits.spz": "SPZ 3, `--spz-sh-bits 8`",
    "v4.spz": "SPZ 4",
    "scene.sog": "SOG",
    "lod-meta.json": "streamed SOG, finest level",
    "scene.splat": ".splat",
}


def formats():
    """Table by name, from what scripts/check-formats --record wrote."""
    rows = load("formats/peers.json")["rows"]
    kinds = list(rows[0]["largest"])
    lines = []
    for row in rows:
        values = ["-" if v is None else f"{v:g}" for v in row["largest"].values()]
        lines.append([f"`{row['program']}`", row["what"], *values])
    align = ["left", "left"] + ["right"] * len(kinds)
    return {
        "formats-peers": table(["program", "what", *kinds], lines, align),
        "formats-losses": losses(),
        "formats-large": large(),
    }


def large():
    """Conversions of a PLY that fits no memory."""
    lines = []
    for row in load("formats/large.json")["rows"]:
        size = "-" if row["gigabytes"] is None else f"{row['gigabytes']:.2f}"
        memory = f"{1000 * row['memory_gb']:.0f}"
        lines.append([row["what"], size, f"{row['seconds']:.0f}", memory])
    heads = ["conversion", "file written, GB", "s", "memory, MB"]
    return table(heads, lines, ["left", "right", "right", "right"])


def losses():
    """What each format costs, from what the example format_losses printed: a file for each scene."""
    lines = []
    for scene in ["demo", "fox"]:
        rows = json_lines(f"formats/losses-{scene}.jsonl")
        for row in rows[1:]:
            change = row["photos"] - rows[0]["photos"]
            values = ["equal" if row[k] is None else f"{row[k]:.1f}" for k in ["psnr", "worst"]]
            again = "equal" if row["again"] is None else f"{row['again']:.1f}"
            size = f"{row['bytes'] / 1e6:.2f}"
            lines.append([scene, NAMES[row["file"]], size, *values, f"{change:+.2f}", again])
    heads = ["scene", "format", "MB", "PSNR, mean", "PSNR, worst", "on photos", "written again"]
    return table(heads, lines, ["left", "left"] + ["right"] * 5)
