"""Checks that every number of docs/results has a source, for scripts/results --check.

  - every raw JSON file of `bench` has a machine, a commit and a date in raw/index.json, and the
    card that the file names is that machine's
  - a commit that the file itself names (`made.commit`) is index.json's, and the history has it
  - tables and plots come from files of at least PASSES passes over the cameras
  - no page of docs/results has a measured number in its prose: those stand in generated tables
"""

import json
import re
import subprocess

from results_raw import INDEX, RAW, ROOT, USED, about

PASSES = 10

# A number with the unit of something that is measured.
MEASURED = re.compile(r"(?<![\w.,-])\d[\d,.]*(?:x|\s?(?:us|ms|s|fps|FPS|dB|%|times|MB|GB))(?!\w)")
# What is promised or defined rather than measured.
DEFINED = {"60 dB", "120 dB"}


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
        if name in USED and data.get("passes", PASSES) < PASSES:
            yield f"{name}: {data['passes']} passes, at least {PASSES} are the rule"
    listed = INDEX["files"]
    for name in listed:
        if not (RAW / name).exists():
            yield f"raw/index.json: {name} does not exist"


def check_prose():
    for page in sorted((ROOT / "docs/results").glob("*.md")):
        code = False
        for number, line in enumerate(page.read_text().splitlines(), 1):
            if line.startswith("```"):
                code = not code
            prose = re.sub(r"`[^`]*`", "", line)
            for found in MEASURED.findall(prose):
                if not code and found not in DEFINED:
                    yield f"docs/results/{page.name}:{number}: {found} has no raw file"


def findings():
    return [*check_raw(), *check_prose()]
