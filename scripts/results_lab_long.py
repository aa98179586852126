"""The long searches by a live model, whose candidates a card timed in batches."""

import re
import textwrap
from statistics import median

from results_raw import json_lines, source
from results_tables import table

# By raw file: the start, and the seed.
LONG = {
    "live-literal-3": "`aabb+literal`, seed 3",
    "live-literal-4": "`aabb+literal`, seed 4",
    "live-seele-3": "`exact+seele`, seed 3",
    "live-tc-gs-3": "`exact+tc-gs`, seed 3",
    "live-splatcore-3": "`exact+splatcore`, seed 3",
    "live-literal-5": "`aabb+literal`, seed 5",
    "live-seele-4": "`exact+seele`, seed 4",
    "live-tc-gs-4": "`exact+tc-gs`, seed 4",
    "live-back-1": "`exact+splatcore+splatcore`, seed 1",
}


def speed_up(ratio):
    """A ratio of times, over the start's, as a speed-up."""
    return f"{1 / ratio:.2f}"


def events(name):
    return [line["event"] for line in json_lines(f"lab/{name}.jsonl")]


def tries(name):
    """A search's tries in order, with the ratio of a verdict, else of a first look, and the batch."""
    found, batch, is_card = {}, 0, False
    for event in events(name):
        what = event["what"]
        if what == "opened":
            batch += is_card and event["device"] == "the emulator"
            is_card = event["device"] != "the emulator"
        elif what == "proposed":
            found[event["id"]] = {"about": event["about"], "batch": batch + 1, "device": 0.0}
        elif what in ["judged", "looked"]:
            one = found[event["id"]]
            one["device"] += event["device_seconds"]
            if what == "looked":
                one["ratio"], one["how"] = event["ratio"], "first look"
            else:
                one["verdict"] = event["verdict"]
                if "ratio" in event["verdict"]:
                    verdict = event["verdict"]
                    one["ratio"] = verdict["ratio"]
                    one["how"] = f"{verdict['low']:.4f} to {verdict['high']:.4f}"
    # The last may have been in work when a card took the others.
    return [one for one in found.values() if "verdict" in one]


def searches_from(start):
    """The long searches from a start, `literal` say, by seed."""
    return [name for name in LONG if name.startswith(f"live-{start}-")]


def fastest(name):
    """The ratio of a search's fastest try and whether it has a verdict: of those with one, else at a
    first look; 1 if none is faster."""
    found = [one for one in tries(name) if one.get("ratio", 1.0) < 1.0]
    judged = [one["ratio"] for one in found if one["how"] != "first look"]
    looked = [one["ratio"] for one in found]
    return (min(judged), True) if judged else (min(looked, default=1.0), False)


def batches(name):
    """What each batch brought: the tries that were timed before the next ones were written."""
    rows, best, count, found = [], 1.0, 0, tries(name)
    for batch in sorted({one["batch"] for one in found}):
        own = [one for one in found if one["batch"] == batch]
        ratios = sorted(one["ratio"] for one in own if "ratio" in one)
        rejected = sum(one["verdict"]["verdict"] == "rejected" for one in own)
        count += len(own)
        best = min([best, *ratios])
        cells = [speed_up(median(ratios)), speed_up(ratios[0])] if ratios else ["-", "-"]
        device = sum(one["device"] for one in own)
        cells = [*cells, speed_up(best), f"{device:.1f}"]
        rows.append([LONG[name], batch, len(own), count, rejected, *cells])
    return rows


def best_after(name):
    """The best speed-up after each try."""
    best, found = 1.0, []
    for one in tries(name):
        best = min(best, one.get("ratio", 1.0))
        found.append(1 / best)
    return found


def curve(name):
    """The best speed-up after so many tries, the tokens, and what rejected."""
    curve, gates = best_after(name), {}
    for one in tries(name):
        if one["verdict"]["verdict"] == "rejected":
            gate = one["verdict"]["gate"]
            gates[gate] = gates.get(gate, 0) + 1
    marks = [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80]
    cells = [f"{curve[n - 1]:.2f}" if n <= len(curve) else "" for n in marks]
    by_gate = ", ".join(f"{count} `{gate}`" for gate, count in sorted(gates.items())) or "none"
    bills = [event for event in events(name) if event["what"] == "answered"]
    told, wrote = (sum(bill[key] for bill in bills) for key in ["tokens_in", "tokens_out"])
    return [LONG[name], *cells, by_gate, f"{told // 1000:,}", f"{wrote // 1000:,}"], marks


def long():
    """The long searches: their batches, and their curves."""
    head = ["start", "batch", "tries", "in all", "rejected", "median", "best", "best so far"]
    body = table([*head, "device, s"], [row for name in LONG for row in batches(name)])
    rows, marks = zip(*[curve(name) for name in LONG])
    head = ["start", *[f"after {n}" for n in marks[0]], "rejected by"]
    body += "\n\n" + table([*head, "thousand tokens read", "written"], list(rows))
    return "\n\n".join([body, source(*[f"lab/{name}.jsonl" for name in LONG])])


def change(about):
    """What a try says of itself, without its number and what it expects, in a line of a table."""
    about = re.sub(r"^try \d+: ", "", re.split(r"[;.,:] expected ", about)[0])
    return textwrap.shorten(about, 130, placeholder=" ...").replace("|", "\\|")


def bests():
    """The tries that were faster than all before."""
    rows = []
    for name in LONG:
        best = 1.0
        for number, one in enumerate(tries(name), 1):
            if one.get("ratio", 1.0) < best:
                best = one["ratio"]
                rows.append([LONG[name], number, change(one["about"]), speed_up(best), one["how"]])
    head = ["start", "try", "change", "speed-up", "time over the start's"]
    body = table(head, rows, ["left", "right", "left", "right", "right"])
    return "\n\n".join([body, source(*[f"lab/{name}.jsonl" for name in LONG])])
