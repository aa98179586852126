"""The table about the viewers, for scripts/results."""

from results_raw import load, source
from results_tables import table

SOAK = "viewer/soak.json"
# Names of the counts in words.
COUNTS = {
    "frames": "pictures drawn, sent and acknowledged",
    "pages": "files of the page",
    "photos": "photos",
    "picks": "points picked",
    "pauses": "pauses of the training",
    "sessions": "browsers that came and went",
    "cut": "browsers that vanished in the middle",
    "slow": "browsers that asked for large pictures and did not read",
    "malformed": "connections that broke the rules",
    "silent": "connections that said nothing, or half a request",
}


def viewer():
    """Table by name."""
    return {"viewer-soak.md": soak()}


def soak():
    report = load(SOAK)
    counts = report["counts"]
    lines = [[COUNTS[name], f"{counts[name]:,}"] for name in COUNTS]
    pairs = {
        "memory in the second and in the last quarter of the training, MiB": "memory_mib",
        "threads before the first browser and at most": "threads",
        "sockets before the first browser and after the last": "sockets",
    }
    for what, key in pairs.items():
        from_, to = (f"{v:.1f}" if isinstance(v, float) else str(v) for v in report[key])
        lines.append([what, f"{from_}, {to}"])
    lines.append(["training steps", f"{report['steps']:,}"])
    lines.append(["minutes", f"{report['seconds'] / 60:.1f}"])
    return f"{table(['what', 'number'], lines, ['left', 'right'])}\n\n{source(SOAK)}"
