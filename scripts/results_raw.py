"""Reads the raw files of docs/results/raw, for scripts/results."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RAW = ROOT / "docs/results/raw"

INDEX = json.loads((RAW / "index.json").read_text())

# The pictures' models, and how their files are called.
FOX = ["fox_220k", "fox_mcmc_1m"]
# Trained on the card: photos are smaller than the images.
TRAINED = ["bonsai", "chair"]
SCANS = ["hon_sui_sen_2500k", "rock_186k_sog_v1", "biker_153k", "playbot_125k", "massa_59k"]
OTHERS = TRAINED + SCANS

# The default with `--interpolate`.
INTERPOLATED = "exact+splatcore, interpolated"

# Of every run in training/runs.txt.
CARD = "NVIDIA H200, driver 580.159.04"


# Raw files that a table or a plot was made from.
USED = set()


def load(name):
    USED.add(name)
    return json.loads((RAW / name).read_text())


def lines_of(name):
    """The lines of a raw file of text."""
    USED.add(name)
    return (RAW / name).read_text().splitlines()


def json_lines(name):
    """The values of a raw file with one JSON value a line."""
    return [json.loads(line) for line in lines_of(name)]


def about(name):
    """What index.json says of a raw file: machine, commit, date, command and more."""
    entry = dict(INDEX["folders"][name.split("/")[0]])
    entry.update(INDEX["files"].get(name, {}))
    return entry


def source(*names):
    """The line below a table: where and when its raw files were measured."""
    groups = {}
    for name in names:
        entry = about(name)
        key = (entry["machine"], entry["commit"], entry["date"])
        groups.setdefault(key, []).append(name)
    if len(groups) > 3:
        return short(names)
    parts = []
    for (machine, commit, date), files in groups.items():
        listed = ", ".join(f"`{file}`" for file in files)
        parts.append(f"{machine}; commit {commit}, {date}: {listed}.")
    return "*" + " ".join(parts).rstrip(".") + ".*"


def short(names):
    """The same of many commits: cards and files."""
    machines = {}
    for name in names:
        machines.setdefault(about(name)["machine"], []).append(f"`{name}`")
    parts = [f"{machine}: {', '.join(files)}." for machine, files in machines.items()]
    return "*" + " ".join(parts) + " Commits and dates: `raw/index.json`.*"


def files(*names):
    """The line below one of several tables: its raw files, also by a pattern."""
    missing = [name for name in names if not any(RAW.glob(name))]
    if missing:
        raise ValueError(f"no raw file {missing}")
    return f"*Raw: {', '.join(f'`{name}`' for name in names)}.*"


def bench(name):
    """Rows of a bench file by `intersect+blend`, and INTERPOLATED, the last one of each."""
    rows = {}
    for row in load(name)["rows"]:
        key = f"{row['intersect']}+{row['blend']}"
        rows[INTERPOLATED if row.get("interpolate") else key] = row
    return rows


def runs():
    """Training runs of training/runs.txt: a list of dictionaries with section and label."""
    by_seed = re.compile(
        r"(?P<label>[\w-]+?)-(?P<seed>\d)\s+(?P<psnr>[\d.]+) dB  without 0110 (?P<without>[\d.]+)"
        r"\s+0110 (?P<view>[\d.]+)(?:\s+(?P<gaussians>\d+) Gaussians)?\s+(?P<seconds>[\d.]+) s"
    )
    after = re.compile(
        r"after, (?P<label>--preset \w+|mcmc|adc)[^.]*, seed (?P<seed>\d)\s+(?P<psnr>[\d.]+) dB\s+"
        r"(?P<gaussians>\d+) Gaussians\s+(?P<seconds>[\d.]+) s"
    )
    means = re.compile(
        r"(?P<label>.*?)\s+psnr (?P<psnr>[\d.]+) without (?P<without>[\d.]+) 0110 "
        r"(?P<views>[\d. ]+) n (?P<gaussians>\d+) s (?P<seconds>[\d.]+)"
        r"(?: aligned (?P<aligned>[\d.]+))?$"
    )
    preset = re.compile(
        r"(?P<label>\w+_\w+) psnr (?P<psnr>[\d.]+) .*worst (?P<worst>[\d.]+) \{(?P<rest>.*)\}$"
    )
    option = re.compile(
        r"(?P<strategy>adc|mcmc)\s+(?P<label>[\w-]+)\s+(?P<psnr>[\d.]+)\s+(?P<spread>[\d.]+)\s+-\s+"
        r"(?P<worst>[\d.]+)\s+(?P<ssim>[\d.]+)\s+(?P<gaussians>\d+)\s+(?P<seconds>[\d.]+)$"
    )
    found, section = [], ""
    for line in (RAW / "training/runs.txt").read_text().splitlines():
        if line.startswith("=="):
            section = line.strip("= ")
        for kind, pattern in [
            ("seed", by_seed),
            ("after", after),
            ("mean", means),
            ("preset", preset),
            ("option", option),
        ]:
            if match := pattern.match(line):
                found.append({"kind": kind, "section": section, **match.groupdict()})
                break
    return found
