"""The long searches by a live model, whose candidates a card timed in batches."""

import math
import re
import textwrap
from statistics import median

from results_raw import json_lines, lines_of, source
from results_tables import mean, table

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
    "live-seele-5": "`exact+seele`, seed 5",
    "live-tc-gs-5": "`exact+tc-gs`, seed 5",
    "live-splatcore-4": "`exact+splatcore`, seed 4",
    "live-back-2": "`exact+splatcore+splatcore`, seed 2",
}


# Timed on two scenes, of long and of short lists; the others on fox_220k alone.
TWO_SCENES = ["live-seele-5", "live-tc-gs-5", "live-splatcore-4", "live-back-2"]


def speed_up(ratio):
    """A ratio of times, over the start's, as a speed-up."""
    return f"{1 / ratio:.2f}"


def start_of(name):
    """Where a search by a live model began: `literal`, `seele`, `tc-gs`, `splatcore` or `back`."""
    return name.removeprefix("live-").rpartition("-")[0]


def is_clean(name):
    """Whether a search began with a file that holds the method and nothing else."""
    return name in LONG and start_of(name) in ["literal", "seele", "tc-gs"]


def in_batches(name):
    """Who proposed the tries of a long search."""
    seed, count = name.rpartition("-")[2], max(one["batch"] for one in tries(name))
    return f"agent, seed {seed}, {count} batch{'es' if count > 1 else ''}"


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
    """The long searches from a start, `literal` say, by seed, that were timed on fox_220k."""
    on_fox = [name for name in LONG if name not in TWO_SCENES]
    return [name for name in on_fox if name.startswith(f"live-{start}-")]


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
    marks = [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    cells = [f"{curve[n - 1]:.2f}" if n <= len(curve) else "" for n in marks]
    by_gate = ", ".join(f"{count} `{gate}`" for gate, count in sorted(gates.items())) or "none"
    bills = [event for event in events(name) if event["what"] == "answered"]
    wrote = sum(bill["tokens_out"] for bill in bills)
    return [LONG[name], *cells, by_gate, f"{wrote // 1000:,}"], marks


def long():
    """The long searches: their batches, and their curves."""
    head = ["start", "batch", "tries", "in all", "rejected", "median", "best", "best so far"]
    body = table([*head, "device, s"], [row for name in LONG for row in batches(name)])
    rows, marks = zip(*[curve(name) for name in LONG])
    head = ["start", *[f"after {n}" for n in marks[0]], "rejected by", "thousand tokens written"]
    body += "\n\n" + table(head, list(rows))
    judged = [one["verdict"]["verdict"] for name in LONG for one in tries(name)]
    note = (
        "A try counts with its verdict if it has one, else with its first look; the best is of all\n"
        f"tries. Of {len(judged)} tries {judged.count('faster')} have a verdict on a card."
    )
    return "\n\n".join([body, note, source(*[f"lab/{name}.jsonl" for name in LONG])])


def costs():
    """What searches of one batch took: to write and check, and on the card."""
    rows = []
    for name in TWO_SCENES:
        lines, spans, is_card = json_lines(f"lab/{name}.jsonl"), [[], []], False
        for line in lines:
            event = line["event"]
            if event["what"] == "opened":
                is_card = event["device"] != "the emulator"
            if is_card or event["what"] in ["proposed", "judged"]:
                spans[is_card].append(line["at"])
        wrote, timed = (max(span) - min(span) for span in spans)
        looks = sum(line["event"]["what"] == "looked" for line in lines)
        found = tries(name)
        verdicts = sum("ratio" in one["verdict"] for one in found)
        device = sum(one["device"] for one in found)
        counts = [len(found), f"{wrote / 60:.0f}", looks, verdicts, f"{timed:.0f}", f"{device:.1f}"]
        rows.append([LONG[name], *counts])
    head = ["start", "tries", "to write and check, min", "first looks", "verdicts"]
    head += ["on the card, s", "of which it timed, s"]
    return "\n\n".join([table(head, rows), source(*[f"lab/{name}.jsonl" for name in TWO_SCENES])])


def change(about):
    """What a try says of itself, without its number and what it expects, in a line of a table."""
    about = re.sub(r"^try \d+: ", "", re.split(r"[;.,:] expected ", about)[0])
    return textwrap.shorten(about, 130, placeholder=" ...").replace("|", "\\|")


def bests():
    """The fastest try of each long search."""
    rows = []
    for name in LONG:
        found = [one for one in enumerate(tries(name), 1) if one[1].get("ratio", 1.0) < 1.0]
        if found:
            number, one = min(found, key=lambda one: one[1]["ratio"])
            rows.append([LONG[name], number, change(one["about"]), speed_up(one["ratio"]), one["how"]])
    head = ["start", "try", "change, in the agent's words", "speed-up", "time over the start's"]
    return table(head, rows, ["left", "right", "left", "right", "right"])


# Each with the times of the starts in the same run.
SCENES_NAMES = ["lab/live-scenes.txt", "lab/live-scenes-2.txt"]
# Of the same photos as the scene of the searches, and it itself.
FOX = ["fox_220k", "fox_mcmc_1m"]
STAGES = ["blend", "frame"]


def geometric(values):
    """The geometric mean, as figures.rs takes it of speed-ups."""
    return math.exp(sum(map(math.log, values)) / len(values))


def on_scenes():
    """Of winners of long searches, by name and scene: ms of start and winner by stage, each the mean
    of two processes; splats of a tile's list; dB of the winner's images where they were compared."""
    found = {}
    for name in SCENES_NAMES:
        for kernels, scenes in on_scenes_of(name).items():
            found[kernels] = scenes
    return found


def on_scenes_of(name):
    """The same of one file."""
    times, images = {}, {}
    for line in lines_of(name):
        if line.startswith("#"):
            continue
        scene, pipeline, kernels, process, *rest = line.split()
        values = dict(zip(rest[::2], map(float, rest[1::2])))
        if process == "images":
            images[kernels, scene] = values["vanilla"]
        else:
            times.setdefault((pipeline, kernels, scene), []).append(values)
    found = {}
    for (pipeline, kernels, scene), after in times.items():
        if kernels != "start":
            before = times[pipeline, "start", scene]
            one = {s: [mean([v[s] for v in side]) for side in [before, after]] for s in STAGES}
            found.setdefault(kernels, {})[scene] = (one, after[0]["list"], images.get((kernels, scene)))
    return found


def gains(name, scenes=None):
    """The geometric means over scenes, all by default, of what a winner gains in blend and frame."""
    found = on_scenes()[name]
    times = [found[scene][0] for scene in scenes or found]
    return {stage: geometric([one[stage][0] / one[stage][1] for one in times]) for stage in STAGES}


def unseen(name):
    """Scenes of captures that a search did not see."""
    seen = [*FOX, "massa_59k"] if name in TWO_SCENES else FOX
    return [scene for scene in on_scenes()[name] if scene not in seen]


def by_capture(name, stage):
    """The geometric mean over captures of what a winner gains: the two models of fox are one."""
    others = [scene for scene in on_scenes()[name] if scene not in FOX]
    return geometric([gains(name, scenes)[stage] for scenes in [FOX, *([one] for one in others)]])


# The backward pass found by the search of seed 2, beside the one before it.
BACKWARD = "lab/back-2-bench.txt"


def backward():
    """By scene, what `blend_backward` and the step take before and now, us: means of the runs."""
    times = {}
    for line in lines_of(BACKWARD):
        if not line.startswith("#"):
            scene, kernel, _, *rest = line.split()
            times.setdefault(scene, {}).setdefault(kernel, []).append([float(v) for v in rest[1::2]])
    means = lambda runs: [mean(list(column)) for column in zip(*runs)]
    return {scene: [means(kernels["before"]), means(kernels["now"])] for scene, kernels in times.items()}


def goals():
    """What was asked of searches by a live model, and what they reached."""
    literal, seele = "live-literal-3", "live-seele-5"
    look = 100 * (1 - fastest("live-splatcore-4")[0])
    steps = " and ".join(
        f"{100 * (1 - now[1] / before[1]):.1f} % ({scene})" for scene, (before, now) in backward().items()
    )
    counts = "; ".join(
        f"`{start}` " + ", ".join(str(len(tries(n))) for n in LONG if start_of(n) == start)
        for start in ["literal", "seele", "tc-gs", "splatcore", "back"]
    )
    six = lambda name: f"{gains(name)['frame']:.2f}, by capture {by_capture(name, 'frame'):.2f}"
    rows = [
        ["from `literal`, a frame of the search's scene", "1.68", speed_up(fastest(literal)[0]), "verdict of the lab", "yes"],
        ["from `literal`, mean over scenes", "1.38", six(literal), "`bench`, six scenes", "yes"],
        ["from `seele`, mean over scenes", "1.06", six(seele), "`bench`, six scenes; `lab accept` took it", "yes"],
        ["from our own inference blend", "2 %", f"{look:.1f} %", "a first look", "no"],
        [
            "from our own backward pass, a step",
            "2 %",
            f"seed 1: {100 * (1 - fastest('live-back-1')[0]):.0f} %; then seed 2: {steps}",
            "seed 1: a first look; seed 2: `bench`",
            "yes, seed 1",
        ],
        ["tries of each search", "100, three seeds a start", counts, "journals", "two searches"],
        ["cards", "H100 and H200", "H200", "-", "no"],
    ]
    head = ["what", "wanted", "reached", "how it was measured", "is it enough"]
    names = [*(f"lab/{name}.jsonl" for name in LONG), *SCENES_NAMES, BACKWARD]
    return "\n\n".join([table(head, rows, ["left"] * 5), source(*names)])


def long_scenes():
    """Winners of long searches on six scenes: what they gain, and their times."""
    rows, means = [], []
    for name, scenes in sorted(on_scenes().items(), key=lambda one: [*LONG].index(one[0])):
        for scene, (times, list_length, psnr) in scenes.items():
            cells = [f"{list_length:.0f}"]
            for before, after in times.values():
                cells += [f"{1000 * before:.1f}", f"{1000 * after:.1f}", f"{before / after:.2f}"]
            rows.append([LONG[name], scene, *cells, "-" if psnr is None else f"{psnr:.1f}"])
        least = min(gains(name, [scene])["frame"] for scene in scenes)
        frame, blend = ([gains(name, FOX[:1])[stage], gains(name)[stage], by_capture(name, stage), gains(name, unseen(name))[stage]] for stage in ["frame", "blend"])
        cells = [f"{one:.2f}" for one in [*frame, least, *blend]]
        seen = ", two scenes" if name in TWO_SCENES else ""
        means.append([LONG[name], f"{speed_up(fastest(name)[0])}{seen}", *cells])
    of = ["fox_220k, here", "mean of six", "of five captures", "of those not seen"]
    head = ["start", "frame: in the search", *of, "least", f"blend: {of[0]}", *of[1:]]
    body = table(head, means)
    head = ["start", "scene", "splats a tile", "blend: start, us", "winner, us", "factor"]
    head += ["frame: start, us", "winner, us", "factor", "dB"]
    body += "\n\n" + table(head, rows, ["left"] * 2 + ["right"] * 8)
    return "\n\n".join([body, source(*SCENES_NAMES, *[f"lab/{name}.jsonl" for name in on_scenes()])])
