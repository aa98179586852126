"""The authors' own kernels beside those of this program, for scripts/results."""

from results_raw import FOX, bench, load, source
from results_tables import is_backward, table, us

H100, H200 = "peers/h100.json", "peers/h200.json"
# Has `literal` on an H200.
RELEASED = "rendering/released-{}.json"
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


def literal(file, model):
    """Vanilla as published on the card of the authors' kernels; None if nobody measured it."""
    if file == H100 or model not in MODELS:
        return ours(model, "aabb+literal")
    return bench(RELEASED.format(model))["aabb+literal"]


def literal_names(file):
    """The raw files of `literal` beside the authors' kernels."""
    return [RELEASED.format(model) for model in MODELS] if file == H200 else [H100]


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
        "was timed on the models as trained; the files that all else is timed on hold them quantised.\n"
        f"{backward()}\n\n{around()}"
    )
    names = [f"rendering/bench-{model}{suffix}.json" for model in MODELS for suffix in SIZES]
    return "\n\n".join([table(head, rows), note, source(H100, H200, *names)])


def around():
    """What a frame takes without its blend, beside INRIA's, on the card that timed both blends."""
    theirs, here = [], []
    for model in MODELS:
        inria, own = author(H200, "inria", model), bench(f"rendering/bench-{model}.json")["aabb+scalar"]
        theirs.append(inria["kernel_ms"] - inria["blend_us"] / 1000)
        here.append(own["gpu_ms"] - own["stages"]["blend"])
    listed = [" and ".join(f"{ms:.2f}" for ms in times) for times in [theirs, here]]
    ratios = " and ".join(f"{a / b:.1f}" for a, b in zip(theirs, here))
    return (
        f"Without its blend INRIA's frame takes {listed[0]} ms, this one {listed[1]} ({', '.join(FOX)},\n"
        f"1080x1920, H200): {ratios} times as long, where the blend takes twice as long. So blending has\n"
        "a larger share of a frame here. INRIA's blend is of another day than its frame, and of the models\n"
        "as trained."
    )


def backward():
    """How long the backward pass of `atomic` takes beside INRIA's."""
    shares = []
    for model in FOX:
        stages = next(
            row["stages"]
            for row in load(H100)["ours"][f"w-{model}"]
            if row["pipeline"] == "aabb+scalar+atomic"
        )
        here = sum(ms for name, ms in stages.items() if is_backward(name))
        shares.append(f"{here / author(H100, 'inria', model)['bwd_ms']:.2f}")
    return (
        f"The backward pass of `aabb+scalar+atomic` takes {' and '.join(shares)} times as long as\n"
        "INRIA's (fox_220k, fox_mcmc_1m, 1080x1920, H100)."
    )


def clocks():
    """What the authors' code gains over INRIA's by sums of kernels and by CUDA events."""
    rows, longer = [], []
    for peer in ["tcgs", "gemmgs"]:
        for model in FOX:
            for size in SIZES.values():
                inria, theirs = (author(H100, one, model, size) for one in ["inria", peer])
                times = [row[key] for key in ["kernel_ms", "event_ms"] for row in [inria, theirs]]
                gains = [times[0] / times[1], times[2] / times[3]]
                longer += [times[0] / times[2] - 1, times[1] / times[3] - 1]
                cells = [f"{ms:.2f}" for ms in times] + [f"{gain:.2f}" for gain in gains]
                rows.append([f"{NAMES[peer]}, {model}, {size}", *cells])
    head = ["authors' code", "sum of kernels: INRIA's, ms", "the method's, ms"]
    head += ["CUDA events: INRIA's, ms", "the method's, ms", "gain, kernels", "gain, events"]
    note = (
        "The papers on TC-GS and GEMM-GS time the forward pass by CUDA events. Other tables have sums\n"
        "of kernels of the authors' code, without the gaps between launches; on the H200 events were\n"
        "not taken. Sums and events are of different passes: where there are few gaps, the sum is the\n"
        f"longer one, by {100 * max(longer):.0f} % at most."
    )
    return "\n\n".join([table(head, rows), note, source(H100)])


# Method here, its file and the row there, the authors' kernels, and the paper's gains of a frame.
GAINS = [
    ("TC-GS", "tc-gs", "aabb+tc-gs", None, "2.01 to 2.19"),
    ("TC-GS behind AccuTile", "tc-gs", "accutile+tc-gs", "tcgs", "3.23 to 4.41"),
    ("GEMM-GS", "gemm-gs", "aabb+gemm-gs", "gemmgs", "1.42 (A100), 1.37 (H100)"),
    ("TensorGS, 1x1", "tensor-gs", "aabb+tensor-gs-1x1-half", None, "1.29"),
    ("TensorGS, 2x2", "tensor-gs", "aabb+tensor-gs-2x2-half", None, "1.56, 1.65"),
    ("TensorGS, 4x4", "tensor-gs", "aabb+tensor-gs-4x4-half", None, "1.43"),
]


def paper_frame(paper, model, pipeline, key="gpu_ms"):
    """Kernels of a frame at 1080x1920 in a paper's file, or its time by the clock, ms."""
    scenes = load(f"rendering/paper-{paper}.json")["scenes"]
    rows = next(s for s in scenes if model in s["scene"])["rows"]
    found = (r for r in rows if f"{r['intersect']}+{r['blend']}" == pipeline and r["scale"] == 1)
    return next(found)[key]


def gains():
    """What each method gains over each of the three baselines."""
    rows = []
    for label, paper, pipeline, peer, published in GAINS:
        for model in FOX:
            file, _ = PAPERS[paper]
            frame = paper_frame(paper, model, pipeline)
            inria = author(file, "inria", model)["kernel_ms"]
            theirs = author(file, peer, model)["kernel_ms"] if peer else None
            over = [inria, literal(file, model)["gpu_ms"]]
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
        "1080x1920; frames here between device events, the authors' sums of kernels, all of a row on\n"
        "one kind of card. Both fox models, lists of `aabb` but for the rows behind AccuTile; the\n"
        "authors' TC-GS has tight lists too. The paper's gains are over INRIA's code as built for\n"
        "their cards; behind AccuTile they are of table 3 of TC-GS, Speedy-Splat with TC-GS."
    )
    names = [f"rendering/paper-{paper}.json" for paper in ["tc-gs", "gemm-gs", "tensor-gs"]]
    names += literal_names(H200)
    body = table(head, rows, ["left", "left"] + ["right"] * 6 + ["left"])
    return "\n\n".join([body, note, source(H100, H200, *names)])


def resolutions():
    """What GEMM-GS gains at either size, the authors' code and the method here."""
    rows = []
    for file in [H200, H100]:
        for model in MODELS:
            for suffix, size in SIZES.items():
                both = (author(file, peer, model, size) for peer in ["inria", "gemmgs"])
                inria, gemm = both
                events = f"{inria['event_ms'] / gemm['event_ms']:.2f}" if file == H100 else "-"
                inria, gemm = (row["kernel_ms"] for row in [inria, gemm])
                cells = [f"{model}, {size}", CARDS[file], f"{inria:.2f}", f"{gemm:.2f}"]
                here = "-"
                if file == H200:
                    found = bench(f"rendering/bench-{model}{suffix}.json")
                    one, other = (found[f"aabb+{b}"]["frame_ms"] for b in ["scalar", "gemm-gs"])
                    here = f"{one / other:.2f}"
                elif not suffix:
                    pair = (f"aabb+{b}" for b in ["scalar", "gemm-gs"])
                    one, other = (paper_frame("gemm-gs", model, p, "frame_ms") for p in pair)
                    here = f"{one / other:.2f}"
                rows.append([*cells, f"{inria / gemm:.2f}", events, here])
    head = ["frame", "card", "INRIA's code, sum of kernels, ms", "GEMM-GS, authors' code, ms"]
    head += ["gain of the authors' code", "by CUDA events", "gain here over `scalar`"]
    names = [f"rendering/bench-{model}{suffix}.json" for model in MODELS for suffix in SIZES]
    names.append("rendering/paper-gemm-gs.json")
    align = ["left", "left"] + ["right"] * 5
    return "\n\n".join([table(head, rows, align), source(H200, H100, *names)])


def values(row, scalar):
    """Cells of a baseline by the names of columns."""
    ms, blend = row["ms"], row.get("blend")
    cells = {"ms": ms, "clock ms": row.get("clock"), "FPS": 1000 / ms, "vs 3DGS": scalar / ms}
    cells |= {"3DGS FPS": 1000 / ms, "blend ms": blend, "original": blend}
    if blend:
        cells["blend %"] = 100 * blend / ms
    if row.get("pairs"):
        cells |= {"pairs M": row["pairs"] / 1e6, "loads M": row["pairs"] / 1e6}
    return cells


def baseline(kind, paper, model):
    """Times of one baseline, ms; None where nobody measured it."""
    file, _ = PAPERS[paper]
    if kind == "literal":
        row = literal(file, model)
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


def method_values(paper, model, row, columns):
    """Cells that only the authors' method has: what it gains over INRIA's code on the same card."""
    names = [column["name"] for title, column in columns if title.removeprefix("here: ") == model]
    inria = baseline("inria", paper, model)
    if "with TC-GS" in names:
        return {"with TC-GS": row["blend"], "original": None, "speed-up": inria["blend"] / row["blend"]}
    # Where a table has more than one speed-up, or times blending, it is over something else.
    of_frames = names.count("speed-up") == 1 and "blend ms" not in names
    return {"speed-up": inria["ms"] / row["ms"]} if of_frames else {}


def rows_of(paper, columns):
    """Rows of baselines for a paper's table: (label, cell by column), where any cell is known."""
    file, method = PAPERS[paper]
    found = []
    for kind in ["inria", method, "literal"]:
        if kind is None or paper == "atomic-aggregation":
            continue
        if kind == "literal":
            label = f"3DGS as published: `aabb+literal` ({CARDS[file]})"
        else:
            lists = ", its lists are tight" if kind == "tcgs" else ""
            label = f"{NAMES[kind]}, authors' code {COMMITS[kind]}{lists} ({CARDS[file]}, sum of kernels)"
        cells = []
        for title, column in columns:
            model = title.removeprefix("here: ")
            row = baseline(kind, paper, model)
            scalar = row and paper_frame(paper, model, "aabb+scalar")
            known = values(row, scalar) if row else {}
            if row and kind == method:
                known |= method_values(paper, model, row, columns)
            cells.append(known.get(column["name"]))
        if any(cell is not None for cell in cells):
            found.append((label, cells))
    return found


def blends(model, pipeline, other):
    """What blending alone gains over another pipeline's, or over INRIA's code on the same card."""
    file, scenes = H200, load("rendering/paper-tc-gs.json")["scenes"]
    rows = next(s for s in scenes if model in s["scene"])["rows"]
    found = {f"{r['intersect']}+{r['blend']}": r["stages"]["blend"] for r in rows}
    before = author(file, other, model)["blend_us"] / 1000 if other in NAMES else found[other]
    return before / found[pipeline]


def blend_rows(columns):
    """The authors' code for the table of GEMM-GS about blending alone, which an H200 timed."""
    found = []
    for kind in ["inria", "gemmgs"]:
        cells = []
        for title, column in columns:
            rows = [author(H200, one, title.removeprefix("here: ")) for one in [kind, "inria"]]
            if None in rows:
                cells.append(None)
                continue
            blend, before = (row["blend_us"] / 1000 for row in rows)
            share = 100 * blend / rows[0]["kernel_ms"]
            known = {"blend ms": blend, "speed-up": before / blend, "blend %": share}
            cells.append(known[column["name"]])
        found.append((f"{NAMES[kind]}, authors' code {COMMITS[kind]} (H200)", cells))
    return found


def backward_rows(columns):
    """INRIA's backward pass for the table of gradient computation."""
    cells = []
    for title, column in columns:
        row = author(H100, "inria", title.removeprefix("here: "))
        cells.append(row["bwd_ms"] if row and column["name"] == "boxes: ms" else None)
    return [(f"3DGS, authors' code {COMMITS['inria']}, whole backward pass (H100)", cells)]


# Methods behind the lists of `accutile`: the arithmetic of the authors' TC-GS, and less of it.
ARITHMETIC = {
    "tc-gs": "f32 but for the product, as in the other tables",
    "tc-gs-released": "as the authors' kernel, from its description",
    "tc-gs-released-exp-f32": "the exponential in f32",
    "tc-gs-released-blend-f32": "transmittance, weight and sums in f32",
    "tc-gs-released-vote": "a vote that lets a warp skip a Gaussian",
    "tc-gs-released-stop-each": "a test for the end of a pixel at each Gaussian",
}


def released():
    """The authors' blend of TC-GS beside its arithmetic here."""
    found = [bench(RELEASED.format(model)) for model in MODELS]
    cells = []
    for model in MODELS:
        image = author(H100, "tcgs", model)["db_vs_inria"]
        cells += [f"{author(H200, 'tcgs', model)['blend_us']:.0f}", f"{image:.1f}"]
    rows = [[f"authors' code {COMMITS['tcgs']}", "", *cells]]
    for blend, what in ARITHMETIC.items():
        cells = []
        for row in (one[f"accutile+{blend}"] for one in found):
            cells += [f"{us(row['stages']['blend'])}", f"{row['psnr_vs_reference']:.1f}"]
        rows.append([f"`{blend}`", what, *cells])
    head = ["blend", "arithmetic"]
    head += [f"{model}: {column}" for model in MODELS for column in ["us", "dB"]]
    shares = [
        1000 * one["accutile+tc-gs"]["stages"]["blend"] / author(H200, "tcgs", model)["blend_us"]
        for one, model in zip(found, MODELS)
    ]
    note = (
        "Lists of `accutile`, 1080x1920, H200. The last four change `tc-gs-released`. dB: of the image\n"
        "against vanilla's, of the authors' against INRIA's (H100). The authors' blend was timed on\n"
        "another day and on the models as trained, which the files hold quantised; `tc-gs` takes\n"
        f"{' and '.join(f'{share:.2f}' for share in shares)} times as long."
    )
    body = table(head, rows, ["left", "left"] + ["right"] * 4)
    return "\n\n".join([body, note, source(*literal_names(H200), H200, H100)])


def sources(paper, part="Figure 3"):
    """The raw files of the authors' code and of `literal` behind a paper's table; by default behind
    all of its tables. Of GEMM-GS only figure 3 has blends alone, which an H200 timed."""
    file, _ = PAPERS[paper]
    blends_alone = [H200] if part == "Figure 3" else []
    also = {"gemm-gs": blends_alone, "atomic-aggregation": []}.get(paper, literal_names(file))
    return [file, *also]


def peers():
    return {
        "paper-tc-gs-released": released(),
        "paper-baselines": three(),
        "paper-baselines-clocks": clocks(),
        "paper-baselines-gains": gains(),
        "paper-gemm-gs-resolutions": resolutions(),
    }
