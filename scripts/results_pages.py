"""Where generated tables stand in pages, for scripts/results.

A page has the two lines `<!-- results: NAME -->` and `<!-- results: end -->`; what lies between is
written by scripts/results, so that GitHub and the book show the same.
"""

import re

from results_raw import ROOT

BEGIN = re.compile(r"<!-- results: ([\w.-]+) -->")
END = "<!-- results: end -->"


def pages():
    """README.md and the pages of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]


def parts_of(text):
    """The page's text as a list of (name, lines): name is None outside of markers. Raises
    ValueError with what is wrong with the markers."""
    name, found = None, [(None, [])]
    for line in text.splitlines():
        begins = BEGIN.fullmatch(line)
        if line == END:
            if name is None:
                raise ValueError(f"{END} without a beginning")
            name = None
            found.append((None, []))
        elif begins:
            if name is not None:
                raise ValueError(f"{line} inside of {name}")
            name = begins.group(1)
            found.append((name, []))
        else:
            found[-1][1].append(line)
    if name is not None:
        raise ValueError(f"{name} has no {END}")
    return found


def fill(files, tables):
    """The text of every page that has markers, and what is wrong with them."""
    filled, wrong, used = {}, [], set()
    for path in files:
        text = path.read_text()
        if "<!-- results: " not in text:
            continue
        where = path.relative_to(ROOT)
        lines = []
        try:
            parts = parts_of(text)
        except ValueError as error:
            wrong.append(f"{where}: {error}")
            continue
        for name, own in parts:
            if name is None:
                lines += own
            elif name not in tables:
                wrong.append(f"{where}: there is no table {name}")
            else:
                used.add(name)
                lines += [f"<!-- results: {name} -->", "", tables[name], "", END]
        filled[path] = "\n".join(lines) + "\n"
    wrong += [f"the table {name} stands on no page" for name in sorted(set(tables) - used)]
    return filled, wrong
