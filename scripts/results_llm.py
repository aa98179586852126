"""The tables of the paper on language models, for scripts/results: the paper's numbers as
`splatcore bench --paper llm` prints them, beside what the lab's journals hold."""

import csv

from results_lab import (
    GUIDANCE,
    HELD_OUT_NAME,
    SEEDS,
    SPACES,
    accepted,
    best_so_far,
    candidates,
    guidance_live,
    guidance_looks,
    lines,
    live_held_out,
)
from results_lab_long import (
    SCENES_NAMES,
    best_after,
    fastest,
    gains,
    geometric,
    searches_from,
    tries,
    unseen,
)
from results_papers import paper_cell
from results_peers import COMMITS, H100, H200, author, ours
from results_raw import files, json_lines, lines_of, load, source
from results_tables import table
from results_texts import reworded, titled

PAPER = "rendering/paper-llm.json"
SEARCHES = {"Seele": "seele-2", "search, planner and profile": "literal-model"}
# Winners of a model that was asked during the run.
LIVE = {
    "Seele": "live-seele-1",
    "search, planner and profile": "live-literal-1",
    "TC-GS (in the text)": "live-tc-gs-1",
}


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


def authors():
    """The row of the authors' kernels for table I: milliseconds of blending, of fox_220k."""
    blend = lambda peer: f"{author(H200, peer, 'fox_220k')['blend_us'] / 1000:.3f}"
    label = f"Origin, authors' code {COMMITS['inria']} and {COMMITS['tcgs']} (H200)"
    return [label, blend("inria"), "-", blend("tcgs"), "-", "-", "-"]


# Rows of table II and the metrics of scripts/profile-kernels.
LITERAL_NAME = "profile/literal.csv"
PROFILED = {
    "Warp cycles per issued instruction": "cycles_per_instruction",
    "Theoretical occupancy (%)": "theoretical_occupancy",
    "Achieved occupancy (%)": "warps_percent",
    "Block limit warps": "block_limit_warps",
    "Stall not selected": "not_selected",
    "Stall wait": "wait",
    "Stall barrier": "barrier",
    "Stall short scoreboard": "short_scoreboard",
    "Selected": "selected",
    "Stall math pipe throttle": "math_pipe_throttle",
    "Highest pipe utilization of active cycles: ALU (%)": "alu_percent",
}
BLENDS = ["aabb+literal", "aabb+scalar"]


def roofline(row):
    """Where a kernel stands in the roofline of its card, as Nsight Compute draws it in f32."""
    number = lambda key: float(row[key])
    flops = number("fadd") + number("fmul") + 2 * number("ffma")
    peak = 2 * number("ffma_peak") * number("hertz")
    bandwidth = number("dram_bytes_peak") * number("dram_hertz")
    return {
        "Arithmetic intensity of turning point (FLOP/byte)": peak / bandwidth,
        "Performance of turning point (1e12 FLOP/s)": peak / 1e12,
        "Arithmetic intensity of GS kernel (FLOP/byte)": flops / number("dram_bytes"),
        "Performance of GS kernel (1e12 FLOP/s)": flops / number("duration_ns") / 1e3,
    }


def profiled():
    """What Nsight Compute says of vanilla's blend as published, and of `scalar`."""
    rows = {row["pipeline"]: row for row in csv.DictReader(lines_of(LITERAL_NAME))}
    found = {}
    for row in (rows[pipeline] for pipeline in BLENDS):
        values = roofline(row) | {label: float(row[key]) for label, key in PROFILED.items()}
        for label, value in values.items():
            found.setdefault(label, []).append(f"{value:.2f}")
    return found


def pipes():
    """Which pipe is the busiest."""
    rows = {row["pipeline"]: row for row in csv.DictReader(lines_of(LITERAL_NAME))}
    fma, alu = (float(rows["aabb+literal"][key]) for key in ["fma_percent", "alu_percent"])
    part = next(part for part in load(PAPER)["tables"] if part["name"] == "Table II")
    paper = {row["label"]: row["cells"][-1] for row in part["rows"]}
    here = roofline(rows["aabb+literal"])
    turning, kernel = (f"Performance of {what} (1e12 FLOP/s)" for what in ["turning point", "GS kernel"])
    share, theirs = (100 * one[kernel] / one[turning] for one in [here, paper])
    return (
        "The turning point and how many warps fit are the card's. Of the turning point's performance\n"
        f"the kernel reaches {share:.0f} % here and {theirs:.0f} % in the paper (Mip-NeRF 360).\n\n"
        f"The busiest pipe of `literal` here is FMA, {fma:.1f} % of active cycles, before ALU,\n"
        f"{alu:.1f} %. FLOP: additions, multiplications and twice the fused ones, of threads that are\n"
        "not masked; bytes: those of device memory. What the other rows owe to scene and card was not\n"
        "taken apart."
    )


# Single changes of section III-A: the paper's gain of the kernel in percent, and the point of the
# recorded space that has this change alone. The paper's compiler unrolled the loop by two.
SPACE = "lab/spaces/literal-blend.json"
CHANGES = [
    ("`__expf` for `expf`", 10.35, {"expf": "__expf"}),
    ("colours in shared memory", 11.3, {"COLOURS_IN_BATCH": 1}),
    ("loop over a batch unrolled by 2", 5.66, {"fragments.unroll": "2"}),
    ("colours loaded together", 3.0, None),
    ("no counter", 0.91, {"COUNTS_BY_PLACE": 1}),
]


def change_gains():
    """What single changes of vanilla's blend gain in percent: (label, of a frame or None, of the
    kernel at most, paper)."""
    data = load(SPACE)
    keys = data["tune_params_keys"]
    times = {tuple(e[key] for key in keys): e["time"] for e in data["cache"].values()}
    start = dict(zip(keys, SPACES["literal-blend"]))
    blend = ours("fox_220k", "aabb+literal")["stages"]["blend"]
    for label, paper, change in CHANGES:
        here = most = None
        if change:
            before, after = times[tuple(start.values())], times[tuple((start | change)[k] for k in keys)]
            here = 100 * (before / after - 1)
            most = 100 * (blend / (blend - (before - after)) - 1)
        yield label, here, most, paper


def changes():
    """The table of single changes of vanilla's blend, in the paper and in the recorded space."""
    rows = [
        [label, *("-" if one is None else f"{one:.1f}" for one in own), f"{paper:g}"]
        for label, *own, paper in change_gains()
    ]
    vanilla = ours("fox_220k", "aabb+literal")
    note = (
        "A gain is the old time over the new, less 1; at most: if all of the frame's gain is the\n"
        f"blend's, which takes {vanilla['stages']['blend']:.3f} of {vanilla['gpu_ms']:.3f} ms. The space has no point that loads colours\n"
        "together alone. The loop's condition is the paper's third change, which let its compiler\n"
        "unroll by two; here the loop is unrolled by a directive and keeps its condition."
    )
    return [
        titled("llm", "Section III-A", "gains of single changes of vanilla's blend, percent"),
        table(
            ["change", "lab: whole frame, fox_220k", "the kernel, at most", "paper: kernel"], rows
        ),
        note,
        files(SPACE, H100),
    ]


# Tries of the paper's searches, and the row that our own of this length have.
LENGTH = 40
LONG_ROW = f"long searches by a live model, try {LENGTH}"


def speed_ups():
    """What the best kernel gains by guidance, and that of long searches by a live model: geometric
    mean of the seeds."""
    runs = {
        words: [best_so_far(run)[-1] for run in found] for words, found in guidance().items()
    }
    runs[LONG_ROW] = [best_after(name)[LENGTH - 1] for name in searches_from("literal")]
    live = {words: [max(of.values()) for of in guidance_looks(name)] for name, words in GUIDANCE.items()}
    gain = lambda best: f"{geometric(best):.2f}x" if best else "-"
    return {words: [gain(best), gain(live.get(words))] for words, best in runs.items()}


def rejected(runs):
    """The share of verdicts of runs that are rejections, percent."""
    verdicts = [verdict["verdict"] for run in runs for verdict in run]
    return f"{100 * verdicts.count('rejected') / len(verdicts):.0f}"


def errors():
    """The share of candidates that a gate stopped, of the same and of a live model's by guidance."""
    runs = guidance() | {LONG_ROW: [tries(name)[:LENGTH] for name in searches_from("literal")]}
    live = {words: rejected(guidance_live(name)) for name, words in GUIDANCE.items()}
    return {
        words: [rejected([[one["verdict"] for one in run] for run in seeds]), live.get(words, "-")]
        for words, seeds in runs.items()
    }


def long_searches():
    """Which searches by a live model figures 9 and 10 show."""
    best = [f"{best_after(name)[LENGTH - 1]:.2f}" for name in searches_from("literal")]
    return (
        f"Long searches: the three [from `literal`](lab.md#long-searches), {', '.join(best)} by seed. They\n"
        "have the paper's length, not its guidance: no planner was asked, two of the three agents wrote\n"
        "a plan of their own, and the profile had no time of a stage before the first batch was timed.\n"
        "A speed-up is that of a verdict or of a first look."
    )


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


ANOTHER = "For another model see [the lab](lab.md#guidance-with-a-live-model)."


def ratios():
    """How much less time than vanilla's blend the two others take, in the paper and here."""
    part = next(part for part in load(PAPER)["tables"] if part["name"] == "Table I")
    cells = part["rows"][0]["cells"]
    pairs = [(group[0] / group[1], group[0] / group[2]) for group in [cells[3:6], cells[:3]]]
    (seele, tcgs), (seele_here, tcgs_here) = pairs
    return (
        f"Seele's blend is {seele:.1f} times as fast as vanilla's in the paper, {seele_here:.1f} times here; TC-GS'\n"
        f"{tcgs:.1f} and {tcgs_here:.1f} times. Here both have tight lists; the paper does not say which they\n"
        "have there. What else differs (card, scene, the authors' kernels) was not taken apart."
    )


WINNERS = (
    "Winners of long searches: geometric means over [six scenes](lab.md#winners-on-six-scenes), the\n"
    "search's own among them; *unseen*: of captures that the search did not see. Of frames, and of the\n"
    "blend alone, which is what the paper times. These searches had no planner and, before their first\n"
    "batch, no profile of a card."
)
WRITTEN = (
    "The first three rows: try 4, of replies written before the run, and beside it nine\n"
    "[searches by a live model](lab.md#guidance-with-a-live-model) that saw no times, by first looks."
)


def notes(name):
    """Paragraphs below a table that speak of the lab."""
    match name:
        case "Table I":
            return [ratios(), ANOTHER]
        case "Table II":
            return [pipes()]
        case "Table III":
            return [
                "Mean thread: over the pixels of tiles that have a list, as in the paper; counted on the\n"
                "emulator with the blend `literal`."
            ]
        case "Table IV":
            asked = "A live model's answers about planted mistakes are in\n"
            return [f"{asked}[the lab](lab.md#a-model-as-checker)."]
        case "Figure 9":
            return [WRITTEN, long_searches()]
        case "Figure 10":
            live = sum(len(run) for name in GUIDANCE for run in guidance_live(name))
            return [
                uncompiled(),
                f"Live model: {live} tries of nine [searches](lab.md#guidance-with-a-live-model), on the emulator.",
            ]
        case "Figure 11":
            return [WINNERS]
        case "Figure 13":
            return [
                "Long searches: the fastest of the two [long searches](lab.md#long-searches) that were timed on\n"
                "fox_220k alone (seeds 3 and 4); from TC-GS that of seed 4 found nothing. Seed 5 was timed on two\n"
                "scenes. The gate `precision` refuses the winners of `seele` with seeds 3 and 4, with another\n"
                "seed, in an image of one pixel; `lab accept` took both of seed 5. TC-GS' 1.00 stands for the\n"
                "paper's \"no speedup\".",
                WINNERS,
            ]
    return []


def held_out():
    """What kernels gain on scenes that the search had not seen, mean."""
    taken = accepted()
    known = lambda name: name and f"{1 / taken[name]['held_out']['ratio']:.2f}x"
    live_ones = live_held_out()
    return {
        label: [known(SEARCHES.get(label)) or "-", f"{1 / live_ones[name]['verdict']['ratio']:.2f}x"]
        for label, name in LIVE.items()
    }


COUNTS = "profile/groups.jsonl"
SHARE, SPREAD = (f"{what} of calculated Gaussians per thread" for what in ["Average", "Variance"])


def tiles():
    """How lists are spread over tiles, as bench counted them, and which shares of theirs threads
    look at, as scripts/count-groups did."""
    part = next(part for part in load(PAPER)["tables"] if part["name"] == "Table III")
    kind = part["groups"][0]["columns"][0]["format"]
    counted = [row for row in part["rows"] if row["cells"][0] is not None]
    found = {
        row["label"]: [paper_cell(row["cells"][0], row.get("format") or kind), "-"]
        for row in counted
    }
    counts = next(one["counts"] for one in json_lines(COUNTS) if one["pipeline"] == "aabb+literal")
    mean, squares = (counts[name] / counts["threads"] for name in ["shares", "squares"])
    found[f"{SHARE} (%)"][1] = f"{100 * mean:.1f}"
    found[SPREAD] = ["-", f"{squares - mean * mean:.2f}"]
    return found


def on_six(name):
    """What a winner of a long search gains in the mean over scenes: a frame, also over those of
    captures that the search did not see, and the blend."""
    gain, others = gains(name), gains(name, unseen(name))
    return [f"{one:.2f}x" for one in [gain["frame"], others["frame"], gain["blend"]]]


def generality():
    """What kernels gain on other scenes than the search's."""
    label = "search, planner and profile"
    return {label: [*held_out()[label], *on_six("live-literal-3"), *on_six("live-literal-4")]}


def searched():
    """The same from other starts, and what long searches found on their own scene."""
    best = lambda start: f"{1 / min(fastest(name)[0] for name in searches_from(start)):.2f}x"
    starts = {"Seele": "seele", "TC-GS (in the text)": "tc-gs"}
    return {
        label: [
            *held_out()[label],
            best(start),
            *on_six(f"live-{start}-3"),
            *on_six(f"live-{start}-5"),
        ]
        for label, start in starts.items()
    }


HELD_OUT = [
    "lab: whole frame, mean of held-out scenes, replies written before",
    "live model, 5 or 6 tries",
]
# Of a winner of a long search, by seed.
SIX = {
    seed: [f"winner of seed {seed}, six scenes: {what}" for what in ["frame", "frame, unseen", "blend"]]
    for seed in [3, 4, 5]
}

# By table: the columns that this program and the lab fill, and their cells by row.
FILLED = {
    "Table I": (["here: 3DGS ms", "Seele ms", "TC-GS ms"], origin),
    "Table II": (["here: `literal`, fox_220k, H200", "`scalar`"], profiled),
    "Table III": (["here: fox_220k, mean list", "mean thread"], tiles),
    "Figure 9": (["lab: whole frame, mean of 3 seeds", "live model, best of 8 tries, mean of 3 searches"], speed_ups),
    "Figure 10": (["lab: stopped by any gate %", "live model, 24 tries %"], errors),
    "Figure 11": ([*HELD_OUT, *SIX[3], *SIX[4]], generality),
    "Figure 13": ([*HELD_OUT, "long searches by a live model, own scene", *SIX[3], *SIX[5]], searched),
}

WRITTEN_RUNS, LIVE_RUNS = "lab/guidance-[np]*.jsonl", "lab/guidance-live-*.jsonl"
RAW_FILES = {
    "Table I": [PAPER, H200],
    "Table II": [LITERAL_NAME],
    "Table III": [PAPER, COUNTS],
    "Figure 9": [WRITTEN_RUNS, "lab/guidance-live-looks.txt", "lab/live-literal-[345].jsonl"],
    "Figure 10": [WRITTEN_RUNS, LIVE_RUNS, "lab/live-literal-[345].jsonl"],
    "Figure 11": ["lab/accepted.jsonl", HELD_OUT_NAME, *SCENES_NAMES],
    "Figure 13": [
        "lab/accepted.jsonl",
        HELD_OUT_NAME,
        *SCENES_NAMES,
        "lab/live-seele-[34].jsonl",
        "lab/live-tc-gs-[34].jsonl",
    ],
}


def llm():
    parts = []
    for part in load(PAPER)["tables"]:
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
            if (part["name"], row["label"]) == ("Table I", "Origin"):
                rows.append(authors())
        heads = [f"{g['title']}: {c['name']}" for g in groups for c in g["columns"]]
        if LONG_ROW in ours:
            rows.append([LONG_ROW, *ours[LONG_ROW], *["-"] * count])
        parts.append(titled("llm", part["name"], part["caption"]))
        parts.append(table(["row", *columns, *heads], rows))
        parts += part["remarks"] + notes(part["name"])
        if part["name"] in RAW_FILES:
            parts.append(files(*RAW_FILES[part["name"]]))
        if part["name"] == "Table I":
            parts += changes()
    journals = [f"lab/guidance-{name}-{seed}.jsonl" for name in GUIDANCE for seed in SEEDS]
    journals += [f"lab/guidance-live-{name}-{seed}.jsonl" for name in GUIDANCE for seed in SEEDS]
    own = [PAPER, H200, H100, SPACE, LITERAL_NAME, COUNTS]
    journals += [
        f"lab/{name}.jsonl" for start in ["literal", "seele", "tc-gs"] for name in searches_from(start)
    ]
    parts.append(source(*own, *journals, "lab/accepted.jsonl", HELD_OUT_NAME, *SCENES_NAMES))
    return {"paper-llm": "\n\n".join(parts)}
