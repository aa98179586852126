"""Checks that every number of docs/results has a source, for scripts/results --check.

  - every raw JSON file of `bench` has a machine, a commit and a date in raw/index.json, and the
    card that the file names is that machine's
  - a commit that the file itself names (`made.commit`) is index.json's, and the history has it
  - tables and plots come from files of at least PASSES passes over the cameras, or from FEWER
  - a number in the prose of a page of docs/results stands in a table that scripts/results wrote
    into the same section, or is one of the page's definitions (DEFINED)
"""

import json
import re
import subprocess

from results_pages import parts_of
from results_raw import INDEX, RAW, ROOT, USED, about

PASSES = 10
# Files of fewer passes, which their tables name.
FEWER = {"rendering/plain-add-fox_mcmc_1m.json"}

# A number of prose.
NUMBER = re.compile(r"(?<![\w.,/-])\d[\d,]*(?:\.\d+)?(?![\w]*[\d-]|[.,/]\d)")
# By page, numbers that are no measurements here: settings, sizes of datasets, and what others
# published.
DEFINED = {
    "index.md": {"60", "50", "220135", "252"},  # the bound of equal quality; photos, Gaussians
    "papers.md": {"1.34", "1.54", "108"},  # GEMM-GS; multiprocessors of an A100
    "lab.md": {"1.25", "1.68", "1.38", "1.06", "40", "32"},  # Hu & Zhou; threads of a warp
    "lab-strategies.md": {"32", "1.01"},  # rounds; a shift
    "quality.md": {"43", "220", "0110"},  # photos to train on, a photo's name
    "python.md": {"7000", "20", "48"},  # steps; bytes a splat, by the structs
    "formats.md": {"480", "1500"},  # width of the images, steps
    "viewer.md": {"7000", "15", "172800", "24", "36000", "2200", "200"},  # steps; a day's requests
}
# Up to here a number without a point is a count of things named beside it.
COUNTED = 10
# What is no measurement: code, links, dates, commits, sizes of images, versions, and numbers of
# tables and sections, degrees and photos.
NAMED = [
    re.compile(r"`[^`]*`"),
    re.compile(r"\]\([^)]*\)"),
    re.compile(r"Mip-NeRF 360|\b20\d\d(?:-\d\d-\d\d)?\b(?=[,):;. ]|$)"),
    re.compile(r"(?:tables?|figures?|sections?|equations?|versions?|arXiv|RTX|degree) [\d.]+", re.I),
]
def is_known(commit):
    """Whether the history has a commit; a shallow clone is taken at its word."""
    git = ["git", "-C", str(ROOT)]
    shallow = subprocess.run(
        [*git, "rev-parse", "--is-shallow-repository"], capture_output=True, text=True
    )
    if shallow.returncode != 0 or shallow.stdout.strip() == "true":
        return True
    found = subprocess.run([*git, "cat-file", "-e", f"{commit}^{{commit}}"], capture_output=True)
    return found.returncode == 0


def raw_files():
    for path in sorted(RAW.glob("*/**/*.json")):
        name = str(path.relative_to(RAW))
        data = json.loads(path.read_text())
        # Others hold trainings, whose device their run's config names.
        if isinstance(data, dict) and "device" in data:
            yield name, data


def check_raw():
    for name, data in raw_files():
        entry = about(name)
        for key in ["machine", "commit", "date"]:
            if not entry.get(key):
                yield f"{name}: raw/index.json has no {key} for it"
        device = data["device"].split(",")[0]
        if data.get("backend", "cuda") == "cuda" and not entry.get("machine", "").startswith(device):
            yield f"{name}: measured on {device}, raw/index.json says {entry.get('machine')}"
        made = data.get("made", {}).get("commit")
        if made and made != entry.get("commit"):
            yield f"{name}: made by {made}, raw/index.json says {entry.get('commit')}"
        if not is_known(entry.get("commit", "")):
            yield f"{name}: commit {entry.get('commit')} is not in the history"
        if name in USED - FEWER and data.get("passes", PASSES) < PASSES:
            yield f"{name}: {data['passes']} passes, at least {PASSES} are the rule"
    listed = INDEX["files"]
    for name in listed:
        if not (RAW / name).exists():
            yield f"raw/index.json: {name} does not exist"


def bare(number):
    return number.replace(",", "").rstrip(".")


def sections_of(text):
    """For each section of level 2 its prose, as (number, line), and the numbers of its tables."""
    found, number = [([], set())], 0
    for name, lines in parts_of(text):
        number += name is not None  # the line of the beginning
        for line in lines:
            number += 1
            if name is None and line.startswith("## "):
                found.append(([], set()))
            prose, known = found[-1]
            if name is None:
                prose.append((number, line))
            else:
                known.update(map(bare, NUMBER.findall(line)))
        number += name is not None  # the line of the end
    return found


def check_prose():
    for page in sorted((ROOT / "docs/results").glob("*.md")):
        sections = sections_of(page.read_text())
        # What stands before the first section speaks of all of them.
        sections[0][1].update(*[known for _, known in sections])
        for prose, known in sections:
            known |= DEFINED.get(page.name, set())
            code = False
            for number, line in prose:
                if line.startswith("```"):
                    code = not code
                for pattern in NAMED:
                    line = pattern.sub(" ", line)
                for found in NUMBER.findall("" if code else line):
                    measured = "." in found or int(bare(found)) > COUNTED
                    if measured and bare(found) not in known:
                        where = f"docs/results/{page.name}:{number}"
                        yield f"{where}: {found} is in no table of this section"


def findings():
    return [*check_raw(), *check_prose()]
