"""The short table that opens each paper's section of docs/results/papers.md, for scripts/results.

Its numbers are those of the page's other tables. results_headlines.py says which, in expressions:

  {ROW|COLUMN}        of the line's own table: the first row that begins so, all columns that match
  {PLACE>ROW|COLUMN}  of another table: its anchor, or its name in the page's markers
  {A / B}, {A - B}    cell by cell; {A & B}: the cells of both; {sum A}, {mean A}
  {~REGEX}            a number in the prose around the line's own table
  {A .DIGITS}         with so many digits after the point, instead of 2

`*` stands for any text; a row with it means all rows that match. Columns of means are left out
unless COLUMN has the word.
"""

import re
from fnmatch import fnmatchcase

from results_headlines import LINES, OPEN
from results_peers import H100, author
from results_raw import FOX, about
from results_tables import mean, table
from results_texts import about_paper, place

# Numbers further than this below or above all of the paper's are apart.
APART = 0.15
MEAN = re.compile(r"mean of \d+ scenes|: mean$")
EXPRESSION = re.compile(r"\{([^{}]+?)(?: \.(\d))?\}")
HEAD = ["table or figure", "paper", "authors' code, run here", "here", "why, if apart"]
SCALAR = """\
Gains here are over `scalar`, which is vanilla here, those of the authors' code over INRIA's
([three baselines](#the-three-baselines))."""
LITERAL = "`literal` is vanilla's blend as published."
RANGES = """\
Ranges are over scenes or datasets, or over what the line names; here over all four scenes unless
the cell says otherwise. Two numbers here are of fox_220k and fox_mcmc_1m."""
NOTES = {
    "tc-gs": f"""\
{SCALAR} {LITERAL} The authors' code has tight lists, so it stands beside Speedy-Splat with TC-GS.
Where the paper prints no gain, it is of its frame rates. {RANGES}""",
    "gemm-gs": f"{SCALAR} {RANGES}",
    "tensor-gs": f"{SCALAR} {LITERAL} These authors' code was not at hand. {RANGES}",
    "atomic-aggregation": f"""\
Gains here are over `atomic` with boxes, which stand for INRIA's lists. These authors' code was not
at hand. {RANGES}""",
    "llm": """\
Numbers here are of fox_220k, in figures 11 and 13 of two scenes that were held out, those of
winners of long searches of six scenes. In place of authors' code, table I has that of INRIA and
TC-GS.""",
}
RULE = (
    f"Apart: more than {100 * APART:.0f} % below or above all of the paper's in the line. Card and scene\n"
    "differ from the paper's in every line, and what they do was not separated."
)


def tables_of(found):
    """All tables by anchor or name, as rows of (text, cells by column), and the prose there."""
    rows, words = {}, {}
    for name, text in found.items():
        at, head = name, None
        for line in text.splitlines():
            if begins := re.match(r'<a id="([^"]+)">', line):
                at = begins.group(1)
            if not line.startswith("|"):
                words[at] = f"{words.get(at, '')} {line}"
                head = None
                continue
            cells = line[2:-2].split(" | ")
            if head is None:
                head = cells
            elif not set(line) <= set("|-: "):
                # Of columns with one name the first counts.
                values = dict(zip(reversed(head), reversed(cells)))
                rows.setdefault(at, []).append((", ".join(cells), values))
    # The one quantity of the authors' code that no table has: PSNR against the photos.
    psnr = lambda peer, model: author(H100, peer, model)["psnr_gt"]
    rows["lost"] = [(m, {"dB": str(psnr("inria", m) - psnr("tcgs", m))}) for m in FOX]
    return rows, words


def cells_of(term, own, page):
    """The numbers of a term, None for cells without one."""
    rows, words = page
    if term.startswith("~"):
        return [float(re.search(term[1:], words[own]).group(1))]
    at, _, cell = term.rpartition(">")
    row, column = cell.split("|")
    found = [cells for text, cells in rows[at or own] if fnmatchcase(text, f"{row}*")]
    if not found:
        raise ValueError(f"{at or own}: no row begins with {row}")
    texts = [
        text
        for cells in (found if "*" in row else found[:1])
        for name, text in reversed(cells.items())
        if fnmatchcase(name, column) and ("mean" in column or not MEAN.search(name))
    ]
    numbers = [re.match(r"[-+]?\d+(\.\d+)?", text.replace(",", "")) for text in texts]
    return [number and float(number.group()) for number in numbers]


def value(expression, own, page):
    """The numbers of an expression, at least one."""
    if " & " in expression:
        return [n for one in expression.split(" & ") for n in value(one, own, page)]
    for name, function in [("sum ", sum), ("mean ", mean)]:
        if expression.startswith(name):
            return [function(value(expression.removeprefix(name), own, page))]
    signs = {" - ": lambda a, b: a - b, " / ": lambda a, b: a / b}
    sign = next((sign for sign in signs if sign in expression), None)
    terms = [cells_of(one, own, page) for one in (expression.split(sign) if sign else [expression])]
    rows = [row for row in zip(*terms) if None not in row]
    if not rows:
        raise ValueError(f"{own}: no number in {expression}")
    return [signs[sign](*row) if sign else row[0] for row in rows]


def filled(words, own, page):
    """A cell: its words with the numbers of their expressions."""

    def shown(match):
        digits = int(match[2] or 2)
        numbers = [round(n, digits) + 0 for n in value(match[1], own, page)]
        join = ", "
        if len(numbers) > 2:
            numbers, join = [min(numbers), max(numbers)], " to "
        return join.join(dict.fromkeys(f"{n:,.{digits}f}" for n in numbers))

    return EXPRESSION.sub(shown, words)


def apart(line, own, page):
    """Whether a number is APART from the paper's, by the order in which cells have them; None if
    there is nothing to compare."""
    paper, *others = ([m[0] for m in EXPRESSION.findall(words)] for words in line[2:5])
    pairs = [pair for other in others for pair in zip(paper, other)]
    for published, other in pairs:
        numbers = value(published, own, page)
        low, high = min(numbers), max(numbers)
        low, high = low - APART * abs(low), high + APART * abs(high)
        if any(not low <= n <= high for n in value(other, own, page)):
            return True
    return False if pairs else None


def summary(found):
    """The short tables by name, from all other tables of the page."""
    page, made = tables_of(found), {}
    for paper, lines in LINES.items():
        name, rows = f"rendering/paper-{paper}.json", []
        card = about(name)["machine"].split(",")[0]
        for line in lines:
            own = place(paper, line[0])
            verdict = apart(line, own, page)
            why = line[5] or (OPEN if verdict else "-")
            cells = [filled(words, own, page) for words in line[2:5]]
            label = f"[{line[0]}](#{own})" if own in page[1] else line[0]
            if verdict is False:
                why = f"within {100 * APART:.0f} %{f'; {line[5]}' if line[5] else ''}"
            rows.append([f"{label}: {line[1]}", *cells, why])
        head = (
            "{title} ({reference}). The paper's card:\n{card}.".format(**about_paper(paper))
            + f" Ours, where nothing else is said: {card}."
        )
        note = f"{NOTES[paper]} {RULE}"
        made[f"paper-{paper}-summary"] = "\n\n".join([head, table(HEAD, rows, ["left"] * 5), note])
    return made
