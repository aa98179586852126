"""The table of each page of docs/methods, for scripts/results."""

import re

from results_raw import CARD, FOX, INTERPOLATED, load, runs, source
from results_tables import (
    BLENDS,
    BOXES,
    backward_source,
    backward_table,
    blend_table,
    decibels,
    fox_source,
    mean,
    table,
    us,
)


def scaled_rows(papers_of, wanted):
    """Rows at the photos' own size out of the papers' files: {model: {intersect+blend: row}}."""
    found = {model: {} for model in FOX}
    for paper in papers_of:
        for scene in load(f"rendering/paper-{paper}.json")["scenes"]:
            model = next((m for m in FOX if m in scene["scene"]), None)
            if model is None:
                continue
            for row in scene["rows"]:
                key = f"{row['intersect']}+{row['blend']}"
                if row.get("scale", 1) == 1 and wanted(row) and key not in found[model]:
                    found[model][key] = row
    return found


def ablation_table(papers_of, wanted, label=lambda key: f"`{key}`"):
    found = scaled_rows(papers_of, wanted)
    head = ["pipeline"]
    for model in FOX:
        head += [f"{model}: blend us", "frame us", "dB"]
    lines = []
    for key in found[FOX[0]]:
        cells = [label(key)]
        for model in FOX:
            row = found[model].get(key)
            cells += (
                [us(row["stages"]["blend"]), us(row["frame_ms"]), decibels(row)]
                if row
                else ["-"] * 3
            )
        lines.append(cells)
    return "\n\n".join(
        [table(head, lines), source(*[f"rendering/paper-{p}.json" for p in papers_of])]
    )


def method_blend(pipelines):
    chosen = [(key, label) for key, label in BLENDS if key in pipelines]
    return "\n\n".join(
        [
            "At 1080x1920:",
            blend_table("", chosen),
            fox_source(""),
            "At 3840x2160:",
            blend_table("-4k", chosen),
            fox_source("-4k"),
        ]
    )


def method_intersect():
    sources = ["tc-gs", "gemm-gs"]
    found = scaled_rows(sources, lambda row: row["blend"] == "scalar")
    head = ["method"]
    for model in FOX:
        head += [f"{model}: pairs, M", "project us", "lists and sorts us", "frame us", "dB"]
    lines = []
    for key in found[FOX[0]]:
        cells = [f"`{key.split('+')[0]}`"]
        for model in FOX:
            row = found[model][key]
            stages = row["stages"]
            cells += [
                f"{row['pairs'] / 1e6:.2f}",
                us(stages["project"]),
                us(stages["intersect"] + stages["sort"]),
                us(row["frame_ms"]),
                decibels(row),
            ]
        lines.append(cells)
    return "\n\n".join(
        [
            table(head, lines),
            "1080x1920, blend `scalar`. dB: against the image of `aabb`, mean and worst camera.",
            source(*[f"rendering/paper-{p}.json" for p in sources]),
        ]
    )


def option_lines(strategies, labels):
    found = [r for r in runs() if r["kind"] == "option"]
    lines = [
        [
            r["strategy"],
            r["label"].replace("none", "without options"),
            r["psnr"],
            r["worst"],
            r["ssim"],
            f"{int(r['gaussians']):,}",
        ]
        for r in found
        if r["strategy"] in strategies and r["label"] in labels
    ]
    return "\n\n".join(
        [
            table(
                ["strategy", "option", "PSNR", "worst view", "SSIM", "Gaussians"],
                lines,
                ["left", "left"] + ["right"] * 4,
            ),
            "bonsai at 800x533, 7,000 steps, means of seeds 0 and 1.",
            "*NVIDIA H200, driver 580.159.04; commit e6d55b3, 2026-11-22: `training/runs.txt`.*",
        ]
    )


def fox_options(labels):
    section = "fox_colmap, --iterations 7000 --max-size 960, seeds 0, 1, working tree of ebd0774"
    found = {r["label"].strip(): r for r in runs() if r["section"] == section}
    lines = []
    for key, label in labels:
        run = found[key]
        lines.append(
            [
                label,
                run["psnr"],
                run["without"],
                run["aligned"] or "-",
                f"{int(run['gaussians']):,}",
                run["seconds"],
            ]
        )
    return "\n\n".join(
        [
            table(
                ["", "PSNR", "PSNR without view 0110", "PSNR aligned", "Gaussians", "seconds"],
                lines,
            ),
            "fox_colmap, longer side 960 pixels, 7,000 steps, means of seeds 0 and 1.",
            f"*{CARD}; working tree of ebd0774, 2026-11-21: `training/runs.txt`.*",
        ]
    )


def method_floaters():
    found = runs()
    section = "fox_colmap at 1080x1920, commit 09c3f1b"
    lines = []
    for off, on in zip(group(found, section, "adc"), group(found, section, "adc-p8")):
        lines.append(
            [
                off["seed"],
                off["psnr"],
                on["psnr"],
                off["view"],
                on["view"],
                off["without"],
                on["without"],
            ]
        )
    return "\n\n".join(
        [
            table(
                [
                    "seed",
                    "PSNR without",
                    "PSNR with",
                    "view 0110 without",
                    "view 0110 with",
                    "other six without",
                    "other six with",
                ],
                lines,
            ),
            "`--strategy adc`, 30,000 steps, fox_colmap at 1080x1920; without\n"
            "(`--prune-floaters 0`) and with `--prune-floaters 0.8`.",
            "*NVIDIA H200, driver 580.159.04; commit 09c3f1b, 2026-11-21: `training/runs.txt`.*",
        ]
    )


def group(found, section, label):
    return [r for r in found if section in r["section"] and r["label"].strip() == label]


def quality_rows(found):
    """Label, runs, commit for the table of quality on fox_colmap."""
    seeds = "fox_colmap at 1080x1920, commit 09c3f1b"
    mcmc = "the same: --strategy mcmc"
    tree = "fox_colmap at 1080x1920, working tree of ebd0774"
    late = "fox_colmap at 1080x1920, 2026-11-22, commits 8c42a51"
    presets = "e6d55b3, presets"
    return [
        ("`--strategy adc`, 30,000 steps", group(found, seeds, "adc-p8"), "09c3f1b"),
        ("the same, `--prune-floaters 0`", group(found, seeds, "adc"), "09c3f1b"),
        ("`--strategy mcmc`, 1 M, 15,000 steps", group(found, mcmc, "L25"), "09c3f1b"),
        ("the same, coarse to fine", group(found, mcmc, "c2f-L25"), "09c3f1b"),
        (
            "the same two, `--max-scale 0`",
            group(found, mcmc, "mcmc") + group(found, mcmc, "c2f"),
            "09c3f1b",
        ),
        (
            "`--preset fast` then: mcmc, 300,000",
            [r for r in group(found, late, "--preset fast") if r["kind"] == "after"],
            "93c8c35",
        ),
        (
            "as `--preset balanced` then",
            group(found, tree, "mcmc 500 k, 15000, coarse-to-fine"),
            "ebd0774",
        ),
        ("`--preset quality` then", group(found, presets, "quality_fox"), "e6d55b3"),
    ]


def gaussians(run):
    if run.get("gaussians"):
        return int(run["gaussians"])
    if run.get("rest"):
        return int(re.search(r"'gaussians': (\d+)", run["rest"]).group(1))
    return 1_000_000  # MCMC runs end at their limit


def strategy(prefixes):
    found = runs()
    lines = []
    for label, chosen, commit in quality_rows(found):
        if not any(p in label for p in prefixes):
            continue
        psnrs = [float(r["psnr"]) for r in chosen]
        timed = [float(r["seconds"]) for r in chosen if r.get("seconds")]
        lines.append(
            [
                label,
                len(chosen),
                f"{mean(psnrs):.2f}",
                f"{min(psnrs):.2f}",
                f"{mean(map(gaussians, chosen)):,.0f}",
                f"{mean(timed):.1f}" if timed else "-",
                commit,
            ]
        )
    return "\n\n".join(
        [
            table(
                [
                    "fox_colmap at 1080x1920",
                    "runs",
                    "PSNR",
                    "worst run",
                    "Gaussians",
                    "seconds",
                    "commit",
                ],
                lines,
                ["left"] + ["right"] * 5 + ["left"],
            ),
            "*NVIDIA H200, driver 580.159.04, 2026-11-21 and 2026-11-22: `training/runs.txt`.*",
        ]
    )


def methods():
    def tensor(row):
        return row["blend"].startswith("tensor-gs") or row["blend"] == "scalar"

    def tc(row):
        return row["intersect"] in ("aabb", "accutile") and (
            row["blend"].startswith("tc-gs")
            or row["blend"] in ("scalar", "early-cull", "frag2mat")
        )

    def gemm(row):
        return row["intersect"] == "aabb" and (
            row["blend"].startswith("gemm-gs") or row["blend"] == "scalar"
        )

    made = {
        "intersect": method_intersect(),
        "scalar": method_blend({"aabb+scalar", "exact+scalar"}),
        "subtile": method_blend({"exact+scalar", "exact+subtile"}),
        "seele": method_blend({"exact+subtile", "exact+seele", "exact+splatcore"}),
        "gscore": method_blend({"exact+scalar", "obb+gscore", "exact+subtile"}),
        "stop-the-pop": method_blend({"exact+scalar", "tile-cull+stop-the-pop"}),
        "early-cull": method_blend({"exact+scalar", "exact+early-cull"}),
        "tc-gs": method_blend({"exact+scalar", "accutile+tc-gs", "exact+tc-gs", "exact+tc-gs-half"})
        + "\n\nAblations, at 1080x1920:\n\n"
        + ablation_table(["tc-gs"], tc),
        "gemm-gs": method_blend({"exact+scalar", "aabb+gemm-gs", "exact+gemm-gs"})
        + "\n\nBatches of other sizes, at 1080x1920:\n\n"
        + ablation_table(["gemm-gs"], gemm),
        "tensor-gs": method_blend({"exact+scalar", "exact+tensor-gs-2x2", "exact+tensor-gs-2x2-half"})
        + "\n\nGroups of other sizes, at 1080x1920:\n\n"
        + ablation_table(["tensor-gs"], tensor),
        "splatcore": method_blend(
            {"aabb+scalar", "exact+scalar", "exact+subtile", "exact+splatcore"}
        ),
        "interpolation": method_blend({"exact+scalar", "exact+splatcore", INTERPOLATED}),
        "backward-atomic": "\n\n".join(
            [
                backward_table([BOXES, "atomic", "warp-reduce-skip", "splatcore"]),
                backward_source(),
            ]
        ),
        "backward-gaussian-parallel": "\n\n".join(
            [
                backward_table(["warp-reduce-skip", "gaussian-parallel", "splatcore"]),
                backward_source(),
            ]
        ),
        "backward-splatcore": "\n\n".join(
            [backward_table(["gaussian-parallel", "splatcore"]), backward_source()]
        ),
        "adc": strategy(["adc", "floaters"])
        + "\n\n"
        + option_lines(["adc"], ["none", "absolute"]),
        "mcmc": strategy(["mcmc", "the same, coarse", "max-scale", "preset"])
        + "\n\n"
        + option_lines(["mcmc"], ["none", "no-max-scale", "coarse-to-fine"]),
        "antialiasing": option_lines(["adc", "mcmc"], ["none", "antialias"]),
        "exposure": fox_options(
            [
                ("a_base", "adc"),
                ("a: exposure", "adc, `--exposure`"),
                ("m_base (mcmc, 200 k)", "mcmc, 200,000 Gaussians"),
                ("m: exposure", "the same, `--exposure`"),
            ]
        ),
        "floaters": method_floaters(),
    }
    return {f"method-{name}": text for name, text in made.items()}
