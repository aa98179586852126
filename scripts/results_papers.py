"""The papers' tables of docs/results, for scripts/results."""

from statistics import mean

import results_peers
from results_notes import notes
from results_quoted import quoted
from results_raw import FOX, TRAINED, files, load, source
from results_tables import SAME, is_backward, table
from results_texts import reworded, titled

PAPERS = ["tc-gs", "gemm-gs", "tensor-gs", "atomic-aggregation"]

# GEMM-GS, sections 4.2 and 4.3: the mean speed-up of a frame on an A100, by base method and scale.
GEMM_GAINS = [
    ("Vanilla 3DGS", "aabb", 1, 1.42),
    ("Vanilla 3DGS", "aabb", 2, 1.73),
    ("Vanilla 3DGS", "aabb", 3, 1.74),
    ("StopThePop", "tile-cull", 1, 1.42),
    ("FlashGS", "exact", 1, 1.19),
    ("Speedy-Splat", "accutile", 1, 1.50),
]


def stages_of(row):
    """Milliseconds of all stages of a frame, and of blending."""
    forward = {k: v for k, v in row["stages"].items() if not is_backward(k)}
    return sum(forward.values()), forward["blend"]


def gemm_gains():
    """What a gain of blending alone makes of a frame, beside the gain of the paper's frames."""
    name = "rendering/paper-gemm-gs.json"
    data = load(name)
    latency = next(t for t in data["tables"] if t["name"] == "Table 2")["rows"]
    means = {row["label"].split(",")[0]: row["cells"][-1] for row in reversed(latency)}
    lines, apart = [], 0.0
    for model in FOX + TRAINED:
        scene = next(s for s in data["scenes"] if model in s["scene"])
        rows = {(r["intersect"], r["blend"], r["scale"]): r for r in scene["rows"]}
        vanilla = {k[2]: stages_of(r)[0] for k, r in rows.items() if k[:2] == ("aabb", "scalar")}
        for base, intersect, scale, paper in GEMM_GAINS:
            without = rows[intersect, "scalar", scale]
            frame, blend = stages_of(without)
            frame_with, blend_with = stages_of(rows[intersect, "gemm-gs", scale])
            share, gain = blend / frame, blend / blend_with
            rest = 1 / paper - (1 - share)
            by_law = 1 / (1 - share + share / gain)
            apart = max(apart, abs(by_law - frame / frame_with))
            lines.append(
                [
                    f"{model}: {base}, {scale}x",
                    f"{100 * share:.0f}",
                    f"{gain:.2f}x",
                    f"{by_law:.2f}x",
                    f"{frame / frame_with:.2f}x",
                    f"{paper:.2f}x",
                    f"{share / rest:.2f}x" if rest > 0 else "none is enough",
                    f"{frame / vanilla[scale]:.2f}",
                    f"{means[base] / means['Vanilla 3DGS']:.2f}" if scale == 1 else "-",
                ]
            )
    head = [
        "base method",
        "blend, % of the frame",
        "gain of blend",
        "frame, by Amdahl",
        "frame, measured",
        "frame, paper",
        "gain of blend that the paper's needs",
        "base / vanilla",
        "base / vanilla, paper",
    ]
    note = (
        "Stage times of the same rows as above, from passes of their own; a frame here is their\n"
        "sum. By Amdahl: what the gain of blending makes of a frame if nothing else changes. The\n"
        "last gain: what blending would have to gain here for the paper's frame. base / vanilla:\n"
        f"time of a frame before GEMM-GS. By Amdahl and measured differ by at most {apart:.3f}."
    )
    return "\n\n".join([table(head, lines), note, source(name)])


def fixed_time(published):
    """Table 3 of Atomic Aggregation: trainings of fixed time, and the published numbers."""
    name = "training/fixed-time.json"
    lines = []
    for run in load(name):
        lines.append(
            [
                run["dataset"],
                f"`{run['pipeline']}`",
                f"{run['psnr']:.2f}",
                f"{run['ssim']:.4f}",
                f"{run['gaussians']:,}",
                f"{run['steps']:,}",
                f"{run['seconds']:.0f}",
                "time" if run["stopped"] else "steps",
            ]
        )
    head = ["dataset", "pipeline", "PSNR", "SSIM", "Gaussians", "steps", "seconds", "ended by"]
    left = ["left", "left"] + ["right"] * 5 + ["left"]
    count = sum(len(g["columns"]) for g in published["groups"] if g["title"].startswith("paper"))
    titles = [(g["title"], c) for g in published["groups"] for c in g["columns"]][-count:]
    paper = [[row["label"]] + (row["cells"] or [])[-count:] for row in published["rows"]]
    return [
        titled(
            "atomic-aggregation",
            "Table 3",
            "PSNR after a training of fixed time, 300 s as in the paper",
        ),
        table(head, lines, left),
        "One run each. A run ends when its time is over or all steps are taken, here 30,000.",
        source(name),
        *third_of_steps(),
        "The paper's numbers, in dB:",
        table(
            ["dataset"] + [f"{title.removeprefix('paper: ')}: {c['name']}" for title, c in titles],
            [[line[0]] + [paper_cell(cell, "decibels") for cell in line[1:]] for line in paper],
        ),
    ]


def third_of_steps():
    """The same, but stopped when the baseline has taken a third of its steps; three seeds."""
    name = "training/third-of-steps.json"
    runs = {}
    for run in load(name):
        runs.setdefault(run["dataset"], {}).setdefault(run["pipeline"], []).append(run)
    lines = []
    for dataset, methods in runs.items():
        baseline = mean(run["psnr"] for run in methods["aabb+scalar+atomic"])
        for pipeline, seeds in methods.items():
            psnr = [run["psnr"] for run in seeds]
            stopped = {"time" if run["stopped"] else "steps" for run in seeds}
            lines.append(
                [
                    dataset,
                    f"`{pipeline}`",
                    str(len(seeds)),
                    f"{mean(psnr):.2f} ({min(psnr):.2f} to {max(psnr):.2f})",
                    f"{mean(psnr) - baseline:+.2f}",
                    f"{mean(run['ssim'] for run in seeds):.4f}",
                    f"{mean(run['steps'] for run in seeds):,.0f} of {seeds[0]['iterations']:,}",
                    f"{mean(run['seconds'] for run in seeds):.1f}",
                    " or ".join(sorted(stopped)),
                ]
            )
    head = ["dataset", "pipeline", "seeds", "mean PSNR", "over the baseline", "SSIM", "steps"]
    left = ["left", "left"] + ["right"] * 6 + ["left"]
    return [
        "The same with a time after which the baseline has taken a third of its steps; means over\n"
        "the seeds, in brackets the lowest and the highest:",
        table(head + ["seconds", "ended by"], lines, left),
        source(name),
    ]


# `plain-add`, beside the methods that it is compared with, by scene.
PLAIN = {scene: f"rendering/plain-add-{scene}.json" for scene in FOX}
PLAIN_IN = ("atomic-aggregation", "Figure 5")


def without_atomicity(columns):
    """The row of figure 5 for additions that are not atomic, of the scenes that were measured."""
    gains = {}
    for scene, name in PLAIN.items():
        rows = {row["pipeline"]: row["stages"]["blend_backward"] for row in load(name)["rows"]}
        for lists, column in [("aabb", "boxes: speed-up"), ("exact", "tight: speed-up")]:
            gain = rows[f"{lists}+scalar+atomic"] / rows[f"{lists}+scalar+plain-add"]
            gains[f"here: {scene}", column] = gain
    return [gains.get((title, column["name"])) for title, column in columns]


def beside_plain():
    """What the paper's method gains in the runs of `plain-add`, and how many passes these have."""
    gains, passes = [], []
    for scene, name in PLAIN.items():
        data = load(name)
        passes.append(f"{data['passes']} passes on {scene}")
        rows = {row["pipeline"]: row["stages"]["blend_backward"] for row in data["rows"]}
        before, after = (rows[f"exact+scalar+{one}"] for one in ["atomic", "warp-reduce-skip"])
        gains.append(f"{before / after:.2f}")
    return (
        f"`plain-add` is of runs of its own, of {' and '.join(passes)}; with tight lists\n"
        f"`warp-reduce-skip` gains {' and '.join(gains)} in these."
    )


def paper_cell(value, kind):
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return {
        "fps": f"{value:,.1f}",
        "times": f"{value:.2f}x",
        "ms": f"{value:.3f}",
        "decibels": "same" if value > SAME else f"{value:.2f}",
        "percent": f"{value:.1f}",
        "millions": f"{value:.2f}",
        "ssim": f"{value:.4f}",
        "tenths": f"{value:.1f}",
        "hundredths": f"{value:.2f}",
        "count": f"{value:,.0f}",
    }.get(kind, f"{value:g}")


def papers():
    made = {"paper-gemm-gs-gains": gemm_gains()}
    for paper in PAPERS:
        name = f"rendering/paper-{paper}.json"
        parts = [
            'Columns that begin with "paper" are the published numbers; the others were measured here.'
        ]
        for part in load(name)["tables"]:
            if (paper, part["name"]) == ("atomic-aggregation", "Table 3"):
                parts += fixed_time(part)
                continue
            part = reworded(paper, part)
            columns = [(g["title"], c) for g in part["groups"] for c in g["columns"]]
            head = ["method"] + [f"{title}: {c['name']}" for title, c in columns]
            kinds = [c["format"] for _, c in columns]
            baselines = results_peers.rows_of(paper, columns)
            if part["name"] == "Figure 9, gradient computation":
                baselines = results_peers.backward_rows(columns)
            if (paper, part["name"]) == ("gemm-gs", "Figure 3"):
                baselines = results_peers.blend_rows(columns) + baselines
            lines = [
                [label] + [paper_cell(value, kind) for value, kind in zip(cells, kinds)]
                for label, cells in baselines
            ]
            for row in part["rows"]:
                cells = row.get("cells") or []
                cells = cells + [None] * (len(columns) - len(cells))
                note = f" ({row['note']})" if row.get("note") else ""
                if "plain-add" in row["label"]:
                    own, note = without_atomicity(columns), ""
                    part = {**part, "remarks": [*part["remarks"], beside_plain()]}
                    cells = [a if b is None else b for a, b in zip(cells, own)]
                if row["label"] in results_peers.SCALAR:
                    note += ": `aabb+scalar`"
                kinds = [row.get("format") or c["format"] for _, c in columns]
                lines.append(
                    [row["label"].replace("|", "/") + note]
                    + [paper_cell(value, kind) for value, kind in zip(cells, kinds)]
                )
            parts.append(titled(paper, part["name"], part["caption"]))
            parts.append(table(head, lines))
            parts += part["remarks"] + notes(paper, part)
            if any(title.startswith("here") for title, _ in columns):
                beside = results_peers.sources(paper, part["name"]) if baselines else []
                beside += PLAIN.values() if (paper, part["name"]) == PLAIN_IN else []
                parts.append(files(name, *beside))
            parts += quoted(paper, part["name"])
        own = [name, *PLAIN.values()] if paper == "atomic-aggregation" else [name]
        parts.append(source(*own, *results_peers.sources(paper)))
        made[f"paper-{paper}"] = "\n\n".join(parts)
    return made
