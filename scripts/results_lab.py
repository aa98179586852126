"""The tables of the kernel lab in docs/results, for scripts/results."""

import math
from statistics import median

from results_lab_long import (
    LONG,
    TWO_SCENES,
    bests,
    costs,
    events,
    geometric,
    goals,
    in_batches,
    is_clean,
    long,
    long_scenes,
    speed_up,
    start_of,
)
from results_raw import ROOT, json_lines, lines_of, load, source
from results_tables import table

# By raw file: start, and who proposed. The file's name is also that of its line in accepted.jsonl.
STARTS = {
    "literal": "`aabb+literal`, blend",
    "seele": "`exact+seele`, blend",
    "tc-gs": "`exact+tc-gs`, blend",
    "splatcore": "`exact+splatcore`, blend",
    "back": "`exact+splatcore+splatcore`, a step",
}
EXPERIMENTS = [
    ("literal-search", STARTS["literal"], "`portfolio`"),
    ("literal-model", STARTS["literal"], "replies written before"),
    ("seele-1", STARTS["seele"], "replies written before"),
    ("seele-2", STARTS["seele"], "the same, then `tpe@best`"),
    ("seele-3", STARTS["seele"], "replies written before"),
    ("splatcore-search", "`exact+splatcore`, four files", "`portfolio`"),
    ("splatcore-step-search", STARTS["back"], "`portfolio`"),
    ("live-literal-1", STARTS["literal"], "closed loop, seed 0"),
    ("live-literal-2", STARTS["literal"], "closed loop, seed 1"),
    ("live-seele-1", STARTS["seele"], "closed loop, seed 0"),
    ("live-tc-gs-1", STARTS["tc-gs"], "closed loop, seed 0"),
    ("live-splatcore-1", STARTS["splatcore"], "closed loop, seed 0"),
]


TIMES = "lab/guidance-live-looks.txt"
CHEATS = ROOT / "crates/splatcore-lab/cheats"

# Of splatcore-lab/src/timing/verdict.rs.
LOOKS, ERROR = [8, 16, 32], 0.05
PROCESSES, ROUNDS, T = 8, 8, 2.306


# Winners of a model that was asked during the run, on scenes that their searches never saw.
HELD_OUT_NAME = "lab/live-held-out.jsonl"


def lines(name):
    return json_lines(f"lab/{name}")


ACCEPTED = ["lab/accepted.jsonl", "lab/accepted-2.jsonl"]


def accepted():
    """What `lab accept` found of the candidates that it took, by experiment."""
    found = [line for name in ACCEPTED for line in json_lines(name)]
    return {line["experiment"]: line["evidence"] for line in found}


def live_held_out():
    """These winners by experiment."""
    return {line["experiment"]: line for line in json_lines(HELD_OUT_NAME)}


def candidates(name):
    """The journal's candidates in order: what changed and the verdict."""
    found = {}
    for line in lines(f"{name}.jsonl"):
        event = line["event"]
        if event["what"] == "proposed":
            found[event["id"]] = {"about": event["about"], "origin": event.get("origin")}
        elif event["what"] == "judged":
            found[event["id"]]["verdict"] = event["verdict"]
        elif event["what"] == "looked":
            found[event["id"]]["looked"] = event["ratio"]
        elif event["what"] == "same-code":
            found[event["id"]]["same"] = True
    return [one for one in found.values() if "verdict" in one]


def experiments():
    taken = accepted()
    alone = {name: one["verdict"]["ratio"] for name, one in live_held_out().items()}
    rows = []
    long_ones = [(name, STARTS[start_of(name)], in_batches(name)) for name in LONG]
    for name, start, who in [*EXPERIMENTS, *long_ones]:
        found = candidates(name)
        count = {}
        for one in found:
            kind = one["verdict"]["verdict"]
            count[kind] = count.get(kind, 0) + 1
        inherited = [c for c in found if c.get("same") and c["verdict"]["verdict"] == "faster"]
        ratios = [one["verdict"]["ratio"] for one in found if "ratio" in one["verdict"]]
        looks = [one["looked"] for one in found if "looked" in one]
        best = speed_up(min(ratios)) if ratios else f"{speed_up(min(looks))}, first look"
        evidence = taken.get(name)
        held_out = evidence["held_out"]["ratio"] if evidence else alone.get(name)
        rows.append(
            [
                start,
                who,
                "yes" if is_clean(name) else "no",
                "two" if name in TWO_SCENES else "one",
                len(found),
                count.get("faster", 0),
                len(inherited),
                count.get("rejected", 0),
                best,
                speed_up(evidence["search"]["ratio"]) if evidence else "-",
                speed_up(held_out) if held_out else "-",
            ]
        )
    head = ["start", "who proposed", "clean start", "scenes", "candidates", "faster", "inherited"]
    head += ["rejected", "best", "again", "held out"]
    names = [f"lab/{name}.jsonl" for name in [*(name for name, *_ in EXPERIMENTS), *LONG]]
    names += [*ACCEPTED, HELD_OUT_NAME]
    align = ["left"] * 4 + ["right"] * 7
    note = (
        "*Clean start*: the model was given a file that holds the method and nothing else; the built-in\n"
        "files of the others name what other methods gain. *Scenes*: fox_220k, or fox_220k and\n"
        "massa_59k, whose lists are short; a best of two is a mean, so it does not compare with a best\n"
        "of one. *Faster* counts verdicts. *Best*: of candidates with a verdict where there are any."
    )
    return "\n\n".join([table(head, rows, align), note, source(*names)])


GUIDANCE = {"none": "neither", "planner": "planner", "profile": "planner and profile"}
SEEDS = [1, 2, 3]


def best_so_far(found):
    """The speed-up of the fastest candidate after each try; 1 as long as there is none."""
    best, curve = 1.0, []
    for one in found:
        best = max(best, 1 / one["verdict"].get("ratio", 1.0))
        curve.append(best)
    return curve


def guidance_live(name):
    """The verdicts of a live model's searches with a guidance, one list for each search."""
    return [[c["verdict"] for c in candidates(f"guidance-live-{name}-{seed}")] for seed in SEEDS]


def guidance_looks(name):
    """Speed-ups of the first looks at a live model's tries with a guidance, by search and try."""
    found = [{} for _ in SEEDS]
    for line in lines_of(TIMES):
        words = line.split()
        if words[0].startswith(f"guidance-live-{name}-"):
            found[int(words[0][-1]) - 1][int(words[2])] = 1 / float(words[4])
    return found


def guidance_times():
    """What those looks say: of the first tries, of the best of four and of all tries by search, and of
    all tries."""
    rows = []
    for guidance, words in GUIDANCE.items():
        searches = guidance_looks(guidance)
        best = [[max(of[k] for k in of if k <= count) for of in searches] for count in [1, 4, 8]]
        every = [look for of in searches for look in of.values()]
        by_seed = ", ".join(f"{one:.2f}" for one in best[-1])
        rows.append([words, *(f"{geometric(one):.2f}" for one in best), by_seed, f"{geometric(every):.2f}"])
    head = ["guidance", "try 1", "best of 4", "best of 8", "best of 8, by seed", "all tries"]
    body = table(head, rows, ["left"] + ["right"] * 5)
    return "\n\n".join([body, source(TIMES)])


def guidance_gates():
    """What gates said of a live model's tries by guidance, and how much the model read and wrote."""
    rows, names, sums = [], [], [0] * 5
    for guidance, words in GUIDANCE.items():
        own = [f"guidance-live-{guidance}-{seed}" for seed in SEEDS]
        names += own
        found = guidance_live(guidance)
        gates = [verdict["gate"] for one in found for verdict in one if "gate" in verdict]
        by_gate = ", ".join(f"{gates.count(g)} `{g}`" for g in sorted(set(gates))) or "none"
        bills = [event for name in own for event in events(name) if event["what"] == "answered"]
        tokens = [sum(bill[key] for bill in bills) for key in ["tokens_in", "tokens_out"]]
        count = sum(map(len, found))
        counts = [count, count - len(gates), len(bills), *tokens]
        sums = [a + b for a, b in zip(sums, counts)]
        seeds = ", ".join(f"{sum('gate' not in v for v in one)} of {len(one)}" for one in found)
        rows.append([words, counts, by_gate, seeds])
    rows.append(["all", sums, "-", "-"])
    body = table(
        ["guidance", "tries", "passed", "answers", "thousand tokens read", "written", "rejected by", "by seed"],
        [
            [words, *of[:3], *(f"{tokens / 1000:.0f}" for tokens in of[3:]), *gates]
            for words, of, *gates in rows
        ],
    )
    return "\n\n".join([body, source(*[f"lab/{name}.jsonl" for name in names])])


# A live model's runs by raw file: where they start.
LIVE = {
    "live-literal-1": "`aabb+literal`, seed 0",
    "live-literal-2": "`aabb+literal`, seed 1",
    "live-seele-1": "`exact+seele`, seed 0",
    "live-tc-gs-1": "`exact+tc-gs`, seed 0",
    "live-splatcore-1": "`exact+splatcore`, seed 0",
}


def live():
    """The tries of a model that was asked during the run, in order."""
    rows = []
    for name, start in LIVE.items():
        for number, one in enumerate(candidates(name), 1):
            verdict, advice = one["verdict"], one["origin"]["advice"]
            predicted = f"{advice['predicted_percent']:g}"
            said = [f"stopped by `{verdict.get('gate')}`", "-"]
            if "ratio" in verdict:
                interval = f"{verdict['low']:.4f} to {verdict['high']:.4f}"
                said = [speed_up(verdict["ratio"]), interval]
            rows.append([start, number, one["about"], predicted, *said])
    head = ["start", "try", "change", "predicted, %", "speed-up", "time over the start's"]
    body = table(head, rows, ["left", "right", "left"] + ["right"] * 3)
    return "\n\n".join([body, source(*[f"lab/{name}.jsonl" for name in LIVE])])


def live_scenes():
    """Winners of a live model on scenes that their searches never saw."""
    rows = []
    for name, one in live_held_out().items():
        best = min(c["verdict"].get("ratio", 1.0) for c in candidates(name))
        verdict = one["verdict"]
        scenes = {
            series["scene"]: median(c / b for b, c in zip(series["baseline"], series["candidate"]))
            for series in one["series"]
        }
        low, high = verdict["low"], verdict["high"]
        cells = [speed_up(best), *(speed_up(ratio) for ratio in scenes.values())]
        rows.append([LIVE[name], *cells, speed_up(verdict["ratio"]), f"{low:.4f} to {high:.4f}"])
    scenes = [series["scene"] for series in one["series"]]
    head = ["start", "fox_220k, in the search", *scenes, "both", "time over the start's, both"]
    names = [HELD_OUT_NAME, *(f"lab/{name}.jsonl" for name in live_held_out())]
    return "\n\n".join([table(head, rows), source(*names)])


# The values of the kernels as they are, in the order of each recorded space's axes.
SPACES = {
    "literal-blend": (0, 0, "as written", "as written", "as written"),
    "splatcore-sort": (256, 8, 4, 512),
    "splatcore-bin": (256, 6, 4, 256, 5),
    "splatcore-frame": (5, 128, 256, 5),
    "splatcore-step": (3, 256, 8),
}


def spaces():
    """The fastest point of each recorded space beside the kernels as they are."""
    rows = []
    for name, start in SPACES.items():
        data = load(f"lab/spaces/{name}.json")
        keys = data["tune_params_keys"]
        times = {tuple(e[key] for key in keys): e["time"] for e in data["cache"].values()}
        best = min(times, key=times.get)
        changes = [f"`{k}` {old} to {new}" for k, old, new in zip(keys, start, best) if old != new]
        numbers = [len(times), f"{times[start]:.4f}", f"{times[best]:.4f}"]
        gain = f"{times[start] / times[best]:.3f}"
        rows.append([f"`{name}`", *numbers, gain, ", ".join(changes) or "none"])
    head = ["space", "points", "as it is, ms", "fastest, ms", "speed-up", "changes"]
    body = table(head, rows, ["left"] + ["right"] * 4 + ["left"])
    return "\n\n".join([body, source(*[f"lab/spaces/{name}.json" for name in SPACES])])


def searches():
    """Scores of the search's strategies and of Kernel Tuner's on recorded spaces."""
    spaces = load("lab/searches.json")
    scores = [{one["strategy"]: one for one in space["scores"]} for space in spaces]

    def cell(of_space, name):
        one = of_space.get(name)
        return "-" if one is None else f"{one['score']:.2f} ± {one['error']:.2f}"

    # Every point in order is no search: on one space its order is lucky.
    names = {name for of_space in scores for name in of_space} - {"exhaustive"}
    names = sorted(names, key=lambda name: -sum(s[name]["score"] for s in scores if name in s))
    rows = []
    for name in names:
        peer = name.removeprefix("kernel-tuner:")
        who = "lab" if peer == name else "Kernel Tuner"
        rows.append([f"`{peer}`", who, *(cell(of_space, name) for of_space in scores)])
    head = ["strategy", "of"]
    for space in spaces:
        head.append(f"`{space['kernel']}`: {space['points'][0]} points, {space['evaluations']} tries")
    body = table(head, rows, ["left"] * 2 + ["right"] * len(spaces))
    return "\n\n".join([body, source("lab/searches.json")])


def settle(rounds, margin):
    """As `settle` of splatcore-lab/src/timing/verdict.rs."""
    for look in LOOKS:
        ordered = sorted(rounds[:look])
        below, k = 0.0, None
        for i in range((look + 1) // 2):
            below += math.comb(look, i) * 0.5**look
            if 2 * below > ERROR / len(LOOKS):
                break
            k = i
        low, high = ordered[k] - margin, ordered[look - 1 - k] + margin
        if high < 0:
            return "faster"
        if low > 0:
            return "slower"
    return "unclear"


def noise():
    runs = {}
    for line in [*lines("noise.jsonl"), *lines("noise-starts.jsonl")]:
        pairs = zip(line["candidate"], line["baseline"])
        key = line["pipeline"], line.get("workers", "one a side, the baseline's older"), "alone"
        runs.setdefault(key, []).append([math.log(c / b) for c, b in pairs])
    shared = [c["series"][0] for c in load("lab/noise-h100.json")["comparisons"]]
    runs["aabb+literal", "one a side, the baseline's older", "shared"] = [
        [math.log(c / b) for c, b in zip(series["candidate"], series["baseline"])]
        for series in shared
    ]
    shift = math.log(1.01)
    rows = []
    for (pipeline, workers, host), found in runs.items():
        medians = [median(rounds) for rounds in found]
        spread = math.sqrt(sum(m * m for m in medians) / len(medians))
        plain = wide = slower = faster = 0
        for at, rounds in enumerate(found):
            # The margin of the eight comparisons behind this one, from their first rounds.
            others = [found[(at + 1 + n) % len(found)][:ROUNDS] for n in range(PROCESSES)]
            margin = T * math.sqrt(sum(median(o) ** 2 for o in others) / PROCESSES)
            plain += settle(rounds, 0.0) != "unclear"
            wide += settle(rounds, margin) != "unclear"
            slower += settle([r + shift for r in rounds], margin) == "slower"
            faster += settle([r - shift for r in rounds], margin) == "faster"
        middle = 100 * sum(medians) / len(medians)
        numbers = [len(found), f"{middle:+.2f}", f"{100 * spread:.2f}", plain, wide, slower, faster]
        rows.append([f"`{pipeline}`", workers, host, *numbers])
    head = [
        "pipeline",
        "workers",
        "host",
        "comparisons",
        "mean of medians, %",
        "spread of medians, %",
        "called different, rounds alone",
        "with the margin",
        "1 % slower found",
        "1 % faster found",
    ]
    body = table(head, rows, ["left"] * 3 + ["right"] * 7)
    names = ["lab/noise.jsonl", "lab/noise-h100.json", "lab/noise-starts.jsonl"]
    return "\n\n".join([body, source(*names)])


def cheats():
    """How many planted changes ran on a card, and how many there are now."""
    tried = [line.split() for line in lines_of("lab/cheats.txt") if line.strip()]
    rows = []
    for kind, honest in [("mistakes", False), ("honest changes", True)]:
        own = [line for line in tried if line[1].startswith("honest") == honest]
        now = [f for f in CHEATS.glob("*.txt") if f.name.startswith("honest") == honest]
        as_planted = sum(line[0] == "ok" for line in own)
        rows.append([kind, len(own), as_planted, len(now)])
    head = ["planted", "tried on the card", "came out as planted", "in the suite now"]
    return "\n\n".join([table(head, rows), source("lab/cheats.txt")])


def answers(name):
    """What a model that checks said: verdict, of what, and the gate that stopped it or `honest`."""
    verdicts = ("found", "missed", "agreed", "false alarm")
    lines = [line for line in lines_of(name) if line.startswith(verdicts)]
    return [(line[:11].strip(), *line[11:].split()[:2]) for line in lines]


def judged_answers(label, said):
    """A row of a table: how many answers were right, and which were not."""
    right = sum(verdict in ["found", "agreed"] for verdict, _, _ in said)
    wrong = [f"`{what}`" for verdict, what, _ in said if verdict in ["missed", "false alarm"]]
    return [label, len(said), right, ", ".join(wrong) or "-"]


def cross_check():
    """What a model that checks said of planted changes."""
    said = answers("lab/cross-check.txt")
    rows = []
    for kind in sorted({gate for _, _, gate in said if gate != "honest"}) + ["honest"]:
        label = "honest: called equivalent" if kind == "honest" else f"stopped by {kind}: found"
        rows.append(judged_answers(label, [one for one in said if one[2] == kind]))
    head = ["planted change", "asked", "right", "wrong"]
    body = table(head, rows, ["left", "right", "right", "left"])
    return "\n\n".join([body, source("lab/cross-check.txt")])


def cross_check_searches():
    """What a model that checks said of candidates of searches."""
    said = answers("lab/cross-check-searches.txt")
    rows = []
    for start in ["literal", "seele", "tc-gs", "splatcore"]:
        own = [one for one in said if one[1].startswith(f"{start}-")]
        passed = [one for one in own if one[2] == "honest"]
        rows.append(judged_answers(f"from `{start}`, passed: called equivalent", passed))
        stopped = [one for one in own if one[2] != "honest"]
        if stopped:
            label = f"from `{start}`, stopped by precision: found"
            rows.append(judged_answers(label, stopped))
    head = ["candidates", "asked", "as the gates of then", "differs"]
    body = table(head, rows, ["left", "right", "right", "left"])
    return "\n\n".join([body, source("lab/cross-check-searches.txt")])


def lab():
    """Tables by name."""
    return {
        "lab-cross-check": cross_check(),
        "lab-cross-check-searches": cross_check_searches(),
        "lab-cheats": cheats(),
        "lab-experiments": experiments(),
        "lab-guidance-live": guidance_gates(),
        "lab-guidance-times": guidance_times(),
        "lab-live": live(),
        "lab-live-scenes": live_scenes(),
        "lab-goals": goals(),
        "lab-costs": costs(),
        "lab-long": long(),
        "lab-long-bests": bests(),
        "lab-long-scenes": long_scenes(),
        "lab-noise": noise(),
        "lab-searches": searches(),
        "lab-spaces": spaces(),
    }
