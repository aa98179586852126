"""The tables of docs/results, for scripts/results."""

import re
import textwrap

from results_raw import FOX, INTERPOLATED, OTHERS, about, bench, load, runs, source

# What an image is compared with: a PSNR of 120 means that it is the same file.
SAME = 119.99


def us(milliseconds):
    return f"{1000 * milliseconds:,.0f}"


def decibels(row):
    if row["psnr_vs_reference"] > SAME:
        return "same"
    worst = row.get("psnr_vs_reference_worst")
    return f"{row['psnr_vs_reference']:.1f}" + (f" / {worst:.1f}" if worst else "")


def table(head, rows, align=None):
    align = align or ["left"] + ["right"] * (len(head) - 1)
    rule = ["---" if a == "left" else "---:" for a in align]
    lines = [head, rule] + rows
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def size_of(data):
    return "x".join(map(str, data["size"]))


BLENDS = [
    ("aabb+scalar", "vanilla: `aabb+scalar`"),
    ("exact+scalar", "`exact+scalar`"),
    ("exact+early-cull", "`exact+early-cull`"),
    ("accutile+tc-gs", "`accutile+tc-gs`"),
    ("exact+tc-gs", "`exact+tc-gs`"),
    ("exact+tc-gs-half", "`exact+tc-gs-half`"),
    ("aabb+gemm-gs", "`aabb+gemm-gs`"),
    ("exact+gemm-gs", "`exact+gemm-gs`"),
    ("exact+tensor-gs-2x2", "`exact+tensor-gs-2x2`"),
    ("exact+tensor-gs-2x2-half", "`exact+tensor-gs-2x2-half`"),
    ("exact+seele", "`exact+seele`"),
    ("obb+gscore", "`obb+gscore`"),
    ("tile-cull+stop-the-pop", "`tile-cull+stop-the-pop`"),
    ("exact+subtile", "`exact+subtile`"),
    ("exact+splatcore", "**`exact+splatcore`**"),
    (INTERPOLATED, "the same, `--interpolate`"),
]

# The transmittance at which a pixel stops; of others 1e-4, as the reference.
STOPS = {"exact+splatcore": "1/256", INTERPOLATED: "1/256"}


def fox_rows(suffix):
    """Rows of the two fox models by pipeline."""
    return {model: bench(f"rendering/bench-{model}{suffix}.json") for model in FOX}


def fox_source(suffix):
    return source(*[f"rendering/bench-{model}{suffix}.json" for model in FOX])


def blend_table(suffix, pipelines):
    rows = fox_rows(suffix)
    head = ["pipeline", "stops at"]
    for model in FOX:
        head += [f"{model}: blend us", "frame us", "dB"]
    lines = []
    for key, label in pipelines:
        # Images of this size are not interpolated.
        if all(key not in rows[model] for model in FOX):
            continue
        cells = [label, STOPS.get(key, "1e-4")]
        for model in FOX:
            row = rows[model].get(key)
            cells += (
                [us(row["stages"]["blend"]), us(row["frame_ms"]), decibels(row)]
                if row
                else ["-"] * 3
            )
        lines.append(cells)
    return table(head, lines)


def rendering():
    note = (
        "Stops at: the transmittance at which a pixel ends (1e-4 is the reference's). Blend: the\n"
        "kernel or kernels of that stage, between device events. Frame: by the clock, from one\n"
        "frame to the next. Median of the passes, mean over the cameras. dB: PSNR against the\n"
        "image of `aabb+scalar`, mean and worst camera."
    )
    files = {}
    for suffix, name in [("", "rendering-1080"), ("-4k", "rendering-4k")]:
        files[name] = "\n\n".join([blend_table(suffix, BLENDS), note, fox_source(suffix)])

    head = [
        "model",
        "visible",
        "size",
        "`aabb+scalar`",
        "`accutile+tc-gs`",
        "`exact+subtile`",
        "`exact+splatcore`",
        "`--interpolate`",
        "dB",
    ]
    lines, names = [], []
    for model in OTHERS:
        for suffix in ["", "-4k"]:
            name = f"rendering/bench-{model}{suffix}.json"
            names.append(name)
            data, rows = load(name), bench(name)
            cells = [model, f"{rows['exact+splatcore']['visible']:,}", size_of(data)]
            keys = ["aabb+scalar", "accutile+tc-gs", "exact+subtile", "exact+splatcore"]
            for key in [*keys, INTERPOLATED]:
                row = rows.get(key)
                cells.append(
                    f"{us(row['frame_ms'])} ({us(row['stages']['blend'])})" if row else "-"
                )
            cells.append(decibels(rows["exact+splatcore"]))
            lines.append(cells)
    files["rendering-models"] = "\n\n".join(
        [
            table(head, lines),
            "A frame by the clock (the blend alone), us. `bonsai` and `chair`: the held-out cameras\n"
            "of their photos; others: eight cameras of an orbit. dB: of `exact+splatcore` against\n"
            "`aabb+scalar`, mean and worst camera.",
            source(*names),
        ]
    )

    head = ["model", "size", "project", "intersect", "sort", "blend", "sum", "frame by the clock"]
    lines, names = [], []
    for model in FOX + OTHERS:
        for suffix in ["", "-4k"]:
            name = f"rendering/bench-{model}{suffix}.json"
            names.append(name)
            row = bench(name)["exact+splatcore"]
            stages = row["stages"]
            lines.append(
                [model, size_of(load(name))]
                + [us(stages.get(s, 0)) for s in ["project", "intersect", "sort", "blend"]]
                + [us(sum(stages.values())), us(row["frame_ms"])]
            )
    files["rendering-stages"] = "\n\n".join(
        [
            table(head, lines, ["left", "left"] + ["right"] * 6),
            "us, `exact+splatcore`. The marks between stages cost time of their own, so that the\n"
            "sum is more than a frame without marks.",
            source(*names),
        ]
    )
    return files


# `atomic` with INRIA's boxes, then every method behind tight lists.
BOXES = "atomic, `aabb`"
BACKWARDS = [BOXES, "atomic", "warp-reduce-skip", "gaussian-parallel", "splatcore"]


def backward_rows(model):
    rows = {}
    for row in load(f"rendering/bench-{model}-backward.json")["rows"]:
        boxes = row["intersect"] == "aabb"
        rows[BOXES if boxes else row["backward"]] = row
    return rows


def backward_of(row):
    """All of the backward pass, ms. Files before `bench` counted `sum_pairs` as backward differ
    from their `backward_ms`."""
    return sum(ms for name, ms in row["stages"].items() if is_backward(name))


def is_backward(stage):
    return stage.endswith("_backward") or stage in ["sum_pairs", "gather_sums"]


def backward_table(methods):
    head = ["backward"]
    for model in FOX:
        head += [f"{model}: blend_backward us", "backward us", "step us"]
    lines = []
    for method in methods:
        cells = ["`atomic`, lists of `aabb`" if method == BOXES else f"`{method}`"]
        for model in FOX:
            row = backward_rows(model)[method]
            cells += [
                us(row["stages"]["blend_backward"]),
                us(backward_of(row)),
                us(row["step_ms"]),
            ]
        lines.append(cells)
    return table(head, lines)


def backward_source():
    return source(*[f"rendering/bench-{model}-backward.json" for model in FOX])


def training():
    files = {
        "training-steps": "\n\n".join(
            [
                backward_table(BACKWARDS),
                "1080x1920, the seven held-out cameras of fox_colmap, `exact+scalar+METHOD`\n"
                "(`splatcore` runs its own forward blend). blend_backward: the kernel. backward:\n"
                "from image gradients to parameter gradients, the sum of its stages. step: a whole\n"
                "training step by the clock, every Gaussian learning.",
                backward_source(),
            ]
        )
    }
    order = [
        "project",
        "sort",
        "intersect",
        "blend",
        "loss",
        "blend_backward",
        "sum_pairs",
        "adam",
    ]
    lines = []
    for model in FOX:
        row = backward_rows(model)["splatcore"]
        stages = row["step_stages"]
        lines.append([model] + [us(stages.get(s, 0)) for s in order] + [us(row["step_ms"])])
    files["training-stages"] = "\n\n".join(
        [
            table(["model"] + order + ["step by the clock"], lines),
            "us, `exact+splatcore+splatcore`. `adam` holds `project_backward`.",
            backward_source(),
        ]
    )
    return files


def quality():
    found = runs()
    files = {}
    lines = []
    for run in found:
        if run["kind"] == "option" and "scripts/options bonsai" in run["section"]:
            lines.append(
                [
                    run["strategy"],
                    run["label"].replace("none", "without options"),
                    run["psnr"],
                    run["spread"],
                    run["worst"],
                    run["ssim"],
                    f"{int(run['gaussians']):,}",
                ]
            )
    files["quality-options"] = "\n\n".join(
        [
            table(
                [
                    "strategy",
                    "option",
                    "PSNR",
                    "spread of the seeds",
                    "worst view",
                    "SSIM",
                    "Gaussians",
                ],
                lines,
                ["left", "left"] + ["right"] * 5,
            ),
            "bonsai at 800x533, 7,000 steps, seeds 0 and 1; mcmc with at most 200,000 Gaussians.",
            "*NVIDIA H200, driver 580.159.04; commit e6d55b3, 2026-11-22: `training/runs.txt`.*",
        ]
    )
    return files


CPU_RUNS = [
    "fox_colmap-7000",
    "chair-7000",
    "bonsai-7000",
    "sceaux-7000",
    "fox-distorted-3000",
    "bonsai-600",
]


def cpu():
    lines = []
    for run in CPU_RUNS:
        name = f"cpu/{run}.json"
        data, entry = load(name), about(name)
        lines.append(
            [
                run.rsplit("-", 1)[0],
                f"{data['steps']:,}",
                entry["size"],
                f"{data['gaussians']:,}",
                f"{data['psnr']:.2f}",
                f"{data['ssim']:.3f}",
                entry["commit"],
                entry.get("note", ""),
            ]
        )
    names = [f"cpu/{run}.json" for run in CPU_RUNS]
    files = {
        "cpu-quality": "\n\n".join(
            [
                table(
                    [
                        "dataset",
                        "steps",
                        "longer side",
                        "Gaussians",
                        "PSNR",
                        "SSIM",
                        "commit",
                        "note",
                    ],
                    lines,
                    ["left"] + ["right"] * 5 + ["left", "left"],
                ),
                f"*{about(names[0])['machine']}; {about(names[0])['date']}: "
                + ", ".join(f"`{name}`" for name in names)
                + ".*",
            ]
        )
    }
    lines, names = [], []
    for scene in ["bonsai", "fox_220k"]:
        for threads in [1, 2]:
            name = f"cpu/bench-{scene}-{threads}.json"
            names.append(name)
            data = load(name)
            row = data["rows"][0]
            lines.append(
                [
                    f"{scene}, {data['gaussians']:,} Gaussians",
                    size_of(data),
                    threads,
                    f"{row['gpu_ms']:.1f}",
                    f"{row['backward_ms']:.1f}",
                    f"{row['ns_per_blended']:.2f}",
                    f"{row['ns_per_blended_backward']:.2f}",
                ]
            )
    files["cpu-speed"] = "\n\n".join(
        [
            table(
                [
                    "scene",
                    "size",
                    "threads",
                    "frame ms",
                    "backward ms",
                    "forward ns per fragment",
                    "backward ns per fragment",
                ],
                lines,
                ["left", "left"] + ["right"] * 5,
            ),
            "A fragment is one Gaussian blended to one pixel. Pipeline `exact+splatcore+splatcore`.",
            source(*names),
        ]
    )
    return files


def wrap(text, width=96):
    """Breaks lines of prose; tables keep theirs."""
    if text.startswith("|"):
        return text
    return "\n".join(
        textwrap.wrap(
            " ".join(text.split()), width, break_long_words=False, break_on_hyphens=False
        )
    )
