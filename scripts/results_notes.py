"""What stands below tables of papers and needs numbers of raw files, for scripts/results."""

from results_peers import H200, author, blends
from results_raw import FOX, TRAINED, load

# Where the stall table stands on the page.
MEASURED = "Nsight Compute's numbers are under [what warps wait for](#what-warps-wait-for)."


def rates():
    """Frame rates of the authors' code by the clock, beside those of sums of kernels."""
    times = [author(H200, "tcgs", model)["wall_ms"] for model in FOX]
    listed = " and ".join(f"{ms:.3f} ms ({1000 / ms:,.0f} FPS)" for ms in times)
    return (
        "Frame rates of the authors' code are those of the sum of their kernels, its speed-ups those\n"
        f"over INRIA's code. By the clock a frame of TC-GS takes {listed}."
    )


def blending():
    """What `aabb+tc-gs` gains in blending alone."""
    over = [blends(model, "aabb+tc-gs", "inria") for model in FOX]
    here = [blends(model, "aabb+tc-gs", "aabb+scalar") for model in FOX]
    listed = [" and ".join(f"{gain:.1f}" for gain in gains) for gains in [over, here]]
    return (
        f"Over INRIA's blend `aabb+tc-gs` gains {listed[0]} (paper: 3.5 to 3.7), over `scalar`\n"
        f"{listed[1]}."
    )


def columns(part):
    """The names of a table's columns."""
    return [column["name"] for group in part["groups"] for column in group["columns"]]


def culled_shares(part):
    """The share of culled fragments of those that are computed, with boxes, percent by scene."""
    row = next(row for row in part["rows"] if row["label"] == "3DGS")
    of = lambda wanted: [value for name, value in zip(columns(part), row["cells"]) if name == wanted]
    # The last is the mean of the scenes.
    pairs = list(zip(of("culled M"), of("blended M")))[:-1]
    return [100 * gone / (gone + kept) for gone, kept in pairs]


def culled(part):
    shares = sorted(culled_shares(part))
    return f"Over the fragments that are computed it is {shares[0]:.0f} to {shares[-1]:.0f} % with boxes."


def compressed(part):
    """How long frames of c3dgs take beside vanilla's, in the paper and here."""
    rows = {row["label"]: row["cells"] for row in reversed(part["rows"])}
    theirs, vanilla = (rows[label][-1] for label in ["c3dgs, masks only", "Vanilla 3DGS"])
    cells = zip(columns(part), rows["c3dgs, masks only"])
    here = [f"{1 / value:.2f}" for name, value in cells if name == "vs 3DGS" and value]
    return (
        f"A frame of c3dgs takes {theirs / vanilla:.2f} times vanilla's in the paper, here\n"
        f"{', '.join(here[:-1])} and {here[-1]} times."
    )


def tiles():
    """In how many lists of tiles a Gaussian is, with boxes."""
    scenes = load("rendering/paper-tensor-gs.json")["scenes"]
    rows = [next(r for r in s["rows"] if r["pipeline"] == "aabb+scalar+atomic") for s in scenes]
    counts = ", ".join(f"{row['pairs'] / row['visible']:.0f}" for row in rows)
    return (
        f"A visible Gaussian is in {counts} lists of tiles (boxes; {', '.join([*FOX, *TRAINED])}):\n"
        "where it is in few, groups have less to share."
    )


# Why rows of table 3 of TC-GS gain less than the paper's.
BASE = (
    "Gains here are over `scalar` behind the row's lists, which takes less time than INRIA's blend\n"
    "([three baselines](#the-three-baselines)). Over INRIA's the method was measured with the boxes\n"
    "of 3DGS alone; FlashGS' own blend, which the paper starts from in its rows, is not here."
)


def gathered():
    """What gradient computation leaves out, and how much that is at most."""
    scenes = load("rendering/paper-atomic-aggregation.json")["scenes"]
    rows = [row["stages"] for scene in scenes for row in scene["rows"]]
    shares = [row["gather_sums"] / row["blend_backward"] for row in rows if "gather_sums" in row]
    return (
        "Gradient computation here: `blend_backward`, and `sum_pairs` of the last two methods. Left\n"
        "out: `gather_sums` of the others, which makes a row of INRIA's four arrays for each\n"
        f"Gaussian, at most {100 * max(shares):.1f} % of the time given."
    )


def notes(paper, part):
    """Paragraphs below a table of a paper."""
    match paper, part["name"]:
        case "tc-gs", "Table 3":
            return [rates(), BASE]
        case "tc-gs", "Table 4":
            return [blending()]
        case "tc-gs", "Table 5":
            return [
                "EarlyCull gains 1.24 and 1.52 over 3DGS in the paper. It gains less here, probably\n"
                "because `scalar` has a fast exponential already; not measured."
            ]
        case "tc-gs", "Figure 3":
            return [culled(part)]
        case "gemm-gs", "Table 2":
            return [compressed(part)]
        case "tensor-gs", "Figure 3":
            return [tiles()]
        case "atomic-aggregation", "Figure 9, gradient computation":
            return [gathered()]
        case "atomic-aggregation", "Figure 4" | "Figure 10" | "Figure 11":
            return [MEASURED]
    return []
