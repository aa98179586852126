"""The tables about what holds kernels up, for scripts/results; see scripts/profile-kernels."""

import csv

from results_raw import FOX, TRAINED, about, lines_of, load, source
from results_tables import table

NAME = "profile/kernels.csv"
SCENES = {"fox_colmap": "fox_220k", "bonsai": "bonsai", "chair": "chair"}
METHODS = {
    "aabb+scalar+atomic": "baseline (`atomic`)",
    "aabb+scalar+warp-reduce": "`warp-reduce`",
    "aabb+scalar+warp-reduce-skip": "the paper's (`warp-reduce-skip`)",
    "aabb+scalar+gaussian-parallel": "`gaussian-parallel`",
    "exact+splatcore+splatcore": "`exact+splatcore+splatcore`",
}
BASELINE, SKIP = "aabb+scalar+atomic", "aabb+scalar+warp-reduce-skip"
BLENDS = {
    "exact+scalar": "scalar",
    "exact+tensor-gs-1x1": "`tensor-gs-1x1`",
    "exact+tensor-gs-2x2": "`tensor-gs-2x2`",
}
# Section 5 of the paper, over its scenes and two cards.
PAPER = ["the paper's", "mean gain of its method", "", "4.3x", "3.6x less", "", "", "", "8.1x"]
# Why a warp waits: full queues of the load-store units (of global memory, and of all), values that
# memory or a slow unit has not given yet, other warps of the block.
QUEUES = ["lg_throttle", "mio_throttle"]
VALUES = ["long_scoreboard", "short_scoreboard"]


def profile():
    """Tables by name."""
    rows = list(csv.DictReader(lines_of(NAME)))
    found = {(row["scene"], row["pipeline"]): row for row in rows}
    return {
        "paper-atomic-aggregation-stalls": stalls(found),
        "paper-tensor-gs-groups": groups(found),
    }


def models():
    """What index.json says of the scenes' models."""
    return about(NAME).get("models", "")


def stalls(found):
    lines = []
    for scene, name in SCENES.items():
        base = found[scene, BASELINE]
        for pipeline, label in METHODS.items():
            row = found[scene, pipeline]
            cycles, before = (float(r["cycles_per_instruction"]) for r in [row, base])
            share = lambda reasons: f"{100 * sum(float(row[r]) for r in reasons) / cycles:.0f} %"
            lsu, lsu_before = (float(r["lsu_percent"]) for r in [row, base])
            lines.append(
                [
                    name,
                    label,
                    f"{cycles:.1f}",
                    f"{before / cycles:.1f}x",
                    share(QUEUES),
                    share(VALUES),
                    share(["barrier"]),
                    f"{lsu:.0f} %",
                    f"{lsu / lsu_before:.1f}x",
                ]
            )
    lines.append(PAPER)
    head = [
        "scene",
        "method",
        "cycles an instruction",
        "fewer by",
        "queues of the LSU",
        "values",
        "other warps",
        "LSU busy",
        "more by",
    ]
    made = table(head, lines, ["left", "left"] + ["right"] * 7)
    before, after = (float(found["chair", key]["duration_ns"]) for key in [BASELINE, SKIP])
    note = f"{models()} On this chair `warp-reduce-skip` gains {before / after:.1f}."
    return "\n\n".join([made, *([note] if models() else []), source(NAME)])


def behind_tight():
    """How long frames with the product alone take behind tight lists."""
    name, times = "rendering/paper-tensor-gs.json", []
    for scene in load(name)["scenes"]:
        rows = {(row["intersect"], row["blend"]): row["gpu_ms"] for row in scene["rows"]}
        times.append(rows["exact", "tensor-gs-1x1"] / rows["exact", "scalar"])
    names = ", ".join([*FOX, *TRAINED])
    listed = ", ".join(f"{one:.2f}" for one in times)
    said = f"`exact+tensor-gs-1x1` takes {listed} times as long as `exact+scalar` ({names})."
    return f"{said}\n\n{source(name)}"


def groups(found):
    # Builds of the forward pass that count fragments add to global memory; no others do. Means over
    # launches of both say nothing of either.
    if any(float(row["reductions"]) > 0 for (_, key), row in found.items() if key in BLENDS):
        why = (
            "Why groups lose is not measured. A quarter of the blocks, longer lists and local memory\n"
            "are candidates."
        )
        return "\n\n".join([behind_tight(), why])
    lines = []
    for scene, name in SCENES.items():
        for pipeline, label in BLENDS.items():
            row = found[scene, pipeline]
            number = lambda key: float(row[key])
            lines.append(
                [
                    name,
                    label,
                    f"{number('blocks'):,.0f}",
                    f"{number('waves'):.1f}",
                    f"{number('instructions') / 1e6:.0f}",
                    f"{number('instructions_per_cycle'):.2f}",
                    f"{number('warps_percent'):.0f} %",
                    f"{number('duration_ns') / 1000:.0f}",
                ]
            )
    head = [
        "scene",
        "blend",
        "blocks",
        "times the card is full",
        "million instructions",
        "a cycle",
        "warps there",
        "us",
    ]
    made = table(head, lines, ["left", "left"] + ["right"] * 6)
    note = (
        f"{models()} Times the card is full: blocks over the number of blocks that fit at once. A\n"
        "cycle: instructions that a multiprocessor executes in a cycle in which it has a block.\n"
        "Warps there: of those that a multiprocessor can hold."
    )
    return "\n\n".join([behind_tight(), made, note, source(NAME)])
