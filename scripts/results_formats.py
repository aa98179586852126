"""The table of what other programs read in our scene files, for scripts/results."""

from results_raw import load
from results_tables import table


def formats():
    """Table by name, from what scripts/check-formats --record wrote."""
    rows = load("formats/peers.json")["rows"]
    kinds = list(rows[0]["largest"])
    lines = []
    for row in rows:
        values = ["-" if v is None else f"{v:g}" for v in row["largest"].values()]
        lines.append([f"`{row['program']}`", row["what"], *values])
    align = ["left", "left"] + ["right"] * len(kinds)
    return {"formats-peers.md": table(["program", "what", *kinds], lines, align)}
