"""The authors' own kernels beside those of this program, for scripts/results."""

from results_raw import FOX, bench, load, source
from results_tables import table, us

H100, H200 = "peers/h100.json", "peers/h200.json"
# The measurements' names of the models.
MODELS = {"fox_220k": "fox", "fox_mcmc_1m": "mcmc1m"}
SIZES = {"": "1080x1920", "-4k": "3840x2160"}
COMMITS = {"inria": "59f5f77", "tcgs": "0bb82f8", "gemmgs": "aca61f8"}
NAMES = {"inria": "3DGS", "tcgs": "TC-GS", "gemmgs": "GEMM-GS"}
CARDS = {H100: "H100", H200: "H200"}

# By paper: which measurement has its card, and the authors whose method it is.
PAPERS = {
    "tc-gs": (H200, "tcgs"),
    "gemm-gs": (H100, "gemmgs"),
    "tensor-gs": (H200, None),
    "atomic-aggregation": (H100, None),
}
SCALAR = {"3DGS", "Vanilla 3DGS", "Original 3DGS", "1x, Vanilla 3DGS"}


def author(file, peer, model, size="1080x1920"):
    """What the authors' kernels took; None if nobody measured it."""
    data = load(file)
    rows = data["rows"] if file == H200 else data["summary"]
    key = {"peer": peer, "model": MODELS.get(model), "res": size}
    return next((row for row in rows if key.items() <= row.items()), None)


def ours(model, pipeline, suffix=""):
    """A row of this program beside the authors' kernels, on the H100; None if there is none."""
    rows = load(H100)["ours"].get(f"b-{model}{suffix}", [])
    return next((row for row in rows if row["pipeline"].startswith(pipeline + "+")), None)


def three():
    """INRIA's code, vanilla as published and vanilla here, by model and size."""
    rows = []
    for model in MODELS:
        for suffix, size in SIZES.items():
            inria = author(H100, "inria", model, size)["kernel_ms"]
            literal, scalar = (ours(model, f"aabb+{b}", suffix) for b in ["literal", "scalar"])
            times = [inria, literal["gpu_ms"], scalar["gpu_ms"]]
            blends = [author(H200, "inria", model, size)["blend_us"]]
            here = bench(f"rendering/bench-{model}{suffix}.json")["aabb+scalar"]
            blends.append(1000 * here["stages"]["blend"])
            pairs = [author(H100, "inria", model, size)["pairs"], scalar["pairs"]]
            rows.append(
                [f"{model}, {size}"]
                + [f"{ms:.2f}" for ms in times]
                + [f"{times[0] / times[2]:.2f}", f"{times[0] / times[1]:.2f}"]
                + [f"{times[1] / times[2]:.2f}"]
                + [f"{one:,.0f}" for one in blends]
                + [f"{blends[0] / blends[1]:.2f}"]
                + [f"{one / 1e6:.2f}" for one in pairs]
            )
    head = ["frame", "INRIA's code, ms", "`literal`, ms", "`scalar`, ms"]
    head += ["INRIA / `scalar`", "INRIA / `literal`", "`literal` / `scalar`"]
    head += ["blend alone: INRIA's code, us", "`scalar`, us", "INRIA / `scalar`"]
    head += ["entries of lists: INRIA's code, M", "here, M"]
    note = (
        "Kernels of a frame on an H100; blend alone on an H200. INRIA's code:\n"
        f"diff-gaussian-rasterization {COMMITS['inria']}, in the profiler's time of all kernels.\n"
        "`literal` and `scalar` behind the lists of `aabb`, between device events. INRIA's blend alone\n"
        "was timed on the models as trained, of which the files are the rounded form."
    )
    names = [f"rendering/bench-{model}{suffix}.json" for model in MODELS for suffix in SIZES]
    return "\n\n".join([table(head, rows), note, source(H100, H200, *names)])


# Method here, its file and the row there, the authors' kernels, and the paper's gains of a frame.
GAINS = [
    ("TC-GS", "tc-gs", "aabb+tc-gs", "tcgs", "2.01 to 2.19"),
    ("TC-GS behind AccuTile", "tc-gs", "accutile+tc-gs", "tcgs", "-"),
    ("GEMM-GS", "gemm-gs", "aabb+gemm-gs", "gemmgs", "1.42 (A100), 1.37 (H100)"),
    ("TensorGS, 1x1", "tensor-gs", "aabb+tensor-gs-1x1-half", None, "1.29"),
    ("TensorGS, 2x2", "tensor-gs", "aabb+tensor-gs-2x2-half", None, "1.56, 1.65"),
    ("TensorGS, 4x4", "tensor-gs", "aabb+tensor-gs-4x4-half", None, "1.43"),
]


def paper_frame(paper, model, pipeline):
    """Kernels of a frame at 1080x1920 in a paper's file, ms."""
    scenes = load(f"rendering/paper-{paper}.json")["scenes"]
    rows = next(s for s in scenes if model in s["scene"])["rows"]
    found = (r for r in rows if f"{r['intersect']}+{r['blend']}" == pipeline and r["scale"] == 1)
    return next(found)["gpu_ms"]


def gains():
    """What each method gains over each of the three baselines."""
    rows = []
    for label, paper, pipeline, peer, published in GAINS:
        for model in FOX:
            file, _ = PAPERS[paper]
            frame = paper_frame(paper, model, pipeline)
            inria = author(file, "inria", model)["kernel_ms"]
            theirs = author(file, peer, model)["kernel_ms"] if peer else None
            over = [inria, ours(model, "aabb+literal")["gpu_ms"]]
            over.append(paper_frame(paper, model, "aabb+scalar"))
            rows.append(
                [f"{label}, {model}", CARDS[file], f"{frame:.3f}"]
                + [f"{ms / frame:.2f}" for ms in over]
                + [f"{theirs:.3f}" if theirs else "-", f"{inria / theirs:.2f}" if theirs else "-"]
                + [published]
            )
    head = ["method", "card", "frame here, ms", "gain over INRIA's code", "over `literal`"]
    head += ["over `scalar`", "authors' frame, ms", "authors' code over INRIA's", "paper"]
    note = (
        "1080x1920, kernels of a frame. Both fox models, lists of `aabb` but for the rows behind\n"
        "AccuTile; the authors' TC-GS has tight lists too. `literal` was measured on the H100 alone\n"
        "and stands beside rows of either card. The paper's gains are over INRIA's code as built\n"
        "for their cards."
    )
    names = [f"rendering/paper-{paper}.json" for paper in ["tc-gs", "gemm-gs", "tensor-gs"]]
    body = table(head, rows, ["left", "left"] + ["right"] * 6 + ["left"])
    return "\n\n".join([body, note, source(H100, H200, *names)])


def resolutions():
    """What GEMM-GS gains at either size, the authors' code and the method here."""
    rows = []
    for file in [H200, H100]:
        for model in MODELS:
            for suffix, size in SIZES.items():
                both = (author(file, peer, model, size) for peer in ["inria", "gemmgs"])
                inria, gemm = (row["kernel_ms"] for row in both)
                cells = [f"{model}, {size}", CARDS[file], f"{inria:.2f}", f"{gemm:.2f}"]
                here = "-"
                if file == H200:
                    found = bench(f"rendering/bench-{model}{suffix}.json")
                    one, other = (found[f"aabb+{b}"]["frame_ms"] for b in ["scalar", "gemm-gs"])
                    here = f"{one / other:.2f}"
                rows.append([*cells, f"{inria / gemm:.2f}", here])
    head = ["frame", "card", "INRIA's code, ms", "GEMM-GS, authors' code, ms"]
    head += ["gain of the authors' code", "gain here over `scalar`"]
    names = [f"rendering/bench-{model}{suffix}.json" for model in MODELS for suffix in SIZES]
    align = ["left", "left"] + ["right"] * 4
    return "\n\n".join([table(head, rows, align), source(H200, H100, *names)])


def values(row, scalar):
    """Cells of a baseline by the names of columns."""
    ms, blend = row["ms"], row.get("blend")
    cells = {"ms": ms, "clock ms": row.get("clock"), "FPS": 1000 / ms, "vs 3DGS": scalar / ms}
    cells |= {"3DGS FPS": 1000 / ms, "blend ms": blend, "original": blend}
    if row.get("pairs"):
        cells |= {"pairs M": row["pairs"] / 1e6, "loads M": row["pairs"] / 1e6}
    return cells


def baseline(kind, paper, model):
    """Times of one baseline, ms; None where nobody measured it."""
    file, _ = PAPERS[paper]
    if kind == "literal":
        row = ours(model, "aabb+literal")
        return row and {
            "ms": row["gpu_ms"],
            "clock": row["frame_ms"],
            "blend": row["stages"]["blend"],
            "pairs": row["pairs"],
        }
    row = author(file, kind, model)
    return row and {
        "ms": row["kernel_ms"],
        "clock": row["wall_ms"],
        "blend": row["blend_us"] / 1000 if "blend_us" in row else None,
        "pairs": row.get("pairs"),
    }


def rows_of(paper, columns):
    """Rows of baselines for a paper's table: (label, cell by column), where any cell is known."""
    file, method = PAPERS[paper]
    found = []
    for kind in ["inria", method, "literal"]:
        if kind is None or paper == "atomic-aggregation":
            continue
        if kind == "literal":
            label = "3DGS as published: `aabb+literal` (H100)"
        else:
            lists = ", its lists are tight" if kind == "tcgs" else ""
            label = f"{NAMES[kind]}, authors' code {COMMITS[kind]}{lists} ({CARDS[file]})"
        cells = []
        for title, column in columns:
            model = title.removeprefix("here: ")
            row = baseline(kind, paper, model)
            scalar = row and paper_frame(paper, model, "aabb+scalar")
            cells.append(values(row, scalar).get(column["name"]) if row else None)
        if any(cell is not None for cell in cells):
            found.append((label, cells))
    return found


def backward_rows(columns):
    """INRIA's backward pass for the table of gradient computation."""
    cells = []
    for title, column in columns:
        row = author(H100, "inria", title.removeprefix("here: "))
        cells.append(row["bwd_ms"] if row and column["name"] == "boxes: ms" else None)
    return [(f"3DGS, authors' code {COMMITS['inria']}, whole backward pass (H100)", cells)]


def peers():
    return {
        "paper-baselines": three(),
        "paper-baselines-gains": gains(),
        "paper-gemm-gs-resolutions": resolutions(),
    }
