"""The tables of the paper on language models, for scripts/results: the paper's numbers as
`splatcore bench --paper llm` prints them, beside what the lab's journals hold."""

from results_lab import GUIDANCE, SEEDS, best_so_far, candidates, geometric, lines
from results_papers import paper_cell
from results_raw import load, source
from results_tables import table
from results_texts import reworded

PAPER = "rendering/paper-llm.json"
SEARCHES = {"Seele": "seele-2", "search, planner and profile": "literal-model"}


def guidance():
    """Of each guidance the runs of its seeds."""
    return {
        words: [candidates(f"guidance-{name}-{seed}") for seed in SEEDS]
        for name, words in GUIDANCE.items()
    }


def origin():
    """Milliseconds of the blend kernels that nobody changed, on fox_220k."""
    part = next(part for part in load(PAPER)["tables"] if part["name"] == "Table I")
    return {"Origin": [f"{ms:.3f}" for ms in part["rows"][0]["cells"][:3]]}


def speed_ups():
    return {
        words: [f"{geometric([best_so_far(run)[-1] for run in found]):.2f}x"]
        for words, found in guidance().items()
    }


def errors():
    found = {}
    for words, seeds in guidance().items():
        verdicts = [one["verdict"]["verdict"] for run in seeds for one in run]
        found[words] = [f"{100 * verdicts.count('rejected') / len(verdicts):.0f}"]
    return found


def uncompiled():
    """How many of each guidance's candidates did not compile, percent."""
    shares = []
    for seeds in guidance().values():
        gates = [one["verdict"].get("gate") for run in seeds for one in run]
        shares.append(f"{100 * gates.count('compile') / len(gates):.0f}")
    return (
        f"Did not compile: {', '.join(shares[:-1])} and {shares[-1]} %; that one used an instruction\n"
        "that the emulator lacks."
    )


def notes(name):
    """Paragraphs below a table that speak of the lab."""
    match name:
        case "Table I":
            return ["For another model see [the lab](lab.md#with-a-plan-with-a-profile-with-neither)."]
        case "Table IV":
            asked = "A live model's answers about planted mistakes are in\n"
            return [f"{asked}[the lab](lab.md#a-model-as-checker)."]
        case "Figure 10":
            return [uncompiled()]
    return []


def held_out():
    """The mean over scenes that the search had not seen."""
    accepted = {line["experiment"]: line["evidence"] for line in lines("accepted.jsonl")}
    return {
        label: [f"{1 / accepted[name]['held_out']['ratio']:.2f}x"]
        for label, name in SEARCHES.items()
    }


def tiles():
    """How lists are spread over tiles, as bench counted them."""
    part = next(part for part in load(PAPER)["tables"] if part["name"] == "Table III")
    kind = part["groups"][0]["columns"][0]["format"]
    counted = [row for row in part["rows"] if row["cells"][0] is not None]
    return {
        row["label"]: [paper_cell(row["cells"][0], row.get("format") or kind)] for row in counted
    }


# By table: the columns that this program and the lab fill, and their cells by row.
FILLED = {
    "Table I": (["here: 3DGS ms", "Seele ms", "TC-GS ms"], origin),
    "Table III": (["here: fox_220k, mean list"], tiles),
    "Figure 9": (["lab: whole frame, try 4, mean of 3 seeds"], speed_ups),
    "Figure 10": (["lab: stopped by any gate %"], errors),
    "Figure 11": (["lab: whole frame, mean of held-out scenes"], held_out),
    "Figure 13": (["lab: whole frame, mean of held-out scenes"], held_out),
}


def llm():
    data = load(PAPER)
    parts = [
        f"{data['paper']['title']} ({data['paper']['reference']}). The paper's card:\n"
        f"{data['paper']['card']}."
    ]
    for part in data["tables"]:
        part = reworded("llm", part)
        columns, cells_of = FILLED.get(part["name"], ([], dict))
        ours, rows = cells_of(), []
        groups = [g for g in part["groups"] if g["title"].startswith("paper")]
        count = sum(len(g["columns"]) for g in groups)
        for row in part["rows"]:
            if row["label"].startswith("splatcore") and part["name"] != "Table III":
                continue
            own = ours.get(row["label"])
            kinds = [c["format"] for g in groups for c in g["columns"]]
            paper = [paper_cell(v, k) for v, k in zip(row["cells"][-count:], kinds)]
            why = "" if own or not row.get("note") else f" ({row['note']})"
            rows.append([row["label"] + why, *(own or ["-"] * len(columns)), *paper])
        heads = [f"{g['title']}: {c['name']}" for g in groups for c in g["columns"]]
        parts.append(f"**{part['name']}: {part['caption']}**")
        parts.append(table(["row", *columns, *heads], rows))
        parts += part["remarks"] + notes(part["name"])
    journals = [f"lab/guidance-{name}-{seed}.jsonl" for name in GUIDANCE for seed in SEEDS]
    parts.append(source(PAPER, *journals, "lab/accepted.jsonl"))
    return {"paper-llm": "\n\n".join(parts)}
