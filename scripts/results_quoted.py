"""Tables of papers that stand on the page as published, without a number from here."""

from results_tables import table
from results_texts import titled

LPIPS = "Published LPIPS alone; the runs here had no weights for it."
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


def lpips(head, values):
    rows = [[label, *(f"{one:.3f}" for one in cells)] for label, cells in values.items()]
    return [table(head, rows), LPIPS]


def quoted(paper, name):
    """What follows a table of a paper."""
    match paper, name:
        case "tc-gs", "Table 3":
            sets = ["Tanks & Temple", "Deep-Blending", "Mip-NeRF360"]
            heads = [f"paper: {one}{how}" for how in ["", ", with TC-GS"] for one in sets]
            return lpips(["LPIPS", *heads], TC_GS)
        case "tensor-gs", "Table 3":
            return lpips(["LPIPS", *(f"paper: {one}" for one in SCENES)], TENSOR_GS)
        case "gemm-gs", "Table 2":
            return [
                titled("gemm-gs", "Table 1", "the paper's scenes"),
                table(["scene", "paper: size of images", "paper: Gaussians, M"], WORKLOADS),
            ]
    return []
