"""What the papers' tables say in words, for scripts/results.

Captions, labels, notes and remarks are those of crates/splatcore-papers/src/tables as it is now; a
raw file of `bench --paper` has those of the day when it was measured. So are rows that nothing
runs for. What was measured is the raw file's.
"""

import math
import re
import tomllib

from results_raw import ROOT

TABLES = ROOT / "crates/splatcore-papers/src/tables"
# Labels of models.rs, which has no description, that changed since a raw file was written.
RENAMED = {"c3dgs": "c3dgs, masks only"}


def described(paper):
    """A paper's tables by name, each with `like` and `$NAME` replaced by what they stand for."""
    data = tomllib.loads((TABLES / f"{paper}.toml").read_text())
    shared, found = data.get("remarks", {}), {}
    for one in data["table"]:
        rows = [{**data["row"].get(row.get("like"), {}), **row} for row in one["rows"]]
        texts = [shared[t[1:]] if t.startswith("$") else t for t in one.get("remarks", [])]
        found[one["name"]] = {**one, "remarks": texts, "rows": rows}
    return found


def about_paper(paper):
    """Title, reference and card of a paper."""
    return tomllib.loads((TABLES / f"{paper}.toml").read_text())["about"]


def quoted(row, ours, count):
    """A row that only quotes the paper."""
    numbers = [None if math.isnan(number) else number for number in row.get("paper", [])]
    cells = [None] * ours + numbers + [None] * (count - len(numbers))
    return {"label": row["label"], "note": row.get("note"), "cells": cells}


def is_new(row, measured):
    """Whether the raw file's next row is another: this one came later."""
    method = row["runs"][0].split(" ")[0]
    return "+" in method and not any(p.startswith(method) for p in measured["pipelines"])


def place(paper, name):
    """The anchor of a paper's table on the page."""
    return re.sub("[^a-z0-9]+", "-", f"{paper} {name}".lower()).strip("-")


def titled(paper, name, caption):
    """What stands above a paper's table, with its anchor."""
    return f'<a id="{place(paper, name)}"></a>**{name}: {caption}**'


def reworded(paper, part):
    """A table of a raw file in the words of today."""
    said = described(paper).get(part["name"])
    if said is None:
        rows = [{**r, "label": RENAMED.get(r["label"], r["label"])} for r in part["rows"]]
        return {**part, "rows": rows}
    groups = [g for g in part["groups"] if said.get("here") or g["title"].startswith("paper")]
    counts = [len(g["columns"]) for g in groups if g["title"].startswith("paper")]
    ours = sum(len(g["columns"]) for g in groups) - sum(counts)
    measured = [row for row in part["rows"] if row.get("pipelines") and said.get("here")]
    rows = []
    for row in said["rows"]:
        if not row.get("runs"):
            rows.append(quoted(row, ours, sum(counts)))
            continue
        if not measured or is_new(row, measured[0]):
            row = {**row, "note": row.get("note") or "not measured yet"}
            rows.append(quoted(row, ours, sum(counts)))
            continue
        old = measured.pop(0)
        # bench fills in pipelines, and says what it could not measure.
        label = old["label"] if "{" in row["label"] else row["label"]
        rows.append({**old, "label": label, "note": row.get("note") or old.get("note")})
    left = [row["label"] for row in measured]
    if left:
        raise ValueError(f"{paper}, {part['name']}: nothing says what these rows are: {left}")
    texts = {"caption": said["caption"], "remarks": said["remarks"]}
    return {**part, **texts, "groups": groups, "rows": rows}
