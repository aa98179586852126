"""The tables about Python's drop-ins, for scripts/results."""

from results_raw import load, source
from results_tables import table

WHAT = {"infer": "image, no gradients", "step": "image, loss and gradients"}


def python():
    """Tables by name."""
    name = "python/gsplat.json"
    data = load(name)
    times = {(row["what"], row["packed"], row["who"]): row["median_ms"] for row in data["rows"]}
    calls = []
    for packed in [False, True]:
        for what, words in WHAT.items():
            ours, theirs = (times[what, packed, who] for who in ["ours", "gsplat"])
            cells = [f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"]
            calls.append([f"{words}, packed={packed}", *cells])
    ours, theirs = (data["kernels_ms_per_step"][who] for who in ["ours", "gsplat"])
    cells = [f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"]
    calls.append(["all kernels of a step, packed=False", *cells])
    ours, theirs = (data[f"tiny_call_us_{who}"] / 1000 for who in ["ours", "gsplat"])
    cells = [f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"]
    calls.append(["image of 8 Gaussians, 64x64, by the clock", *cells])
    kernels = [
        [what, str(ours), str(theirs), f"{ours / theirs:.2f}"]
        for what, (ours, theirs) in data["kernels_us_per_step"].items()
    ]
    right = ["left"] + ["right"] * 3
    calls = table(["call", "splatcore, ms", "gsplat 1.5.3, ms", "ratio"], calls, right)
    kernels = table(["kernel", "splatcore, us", "gsplat 1.5.3, us", "ratio"], kernels, right)
    decibels, largest = data["psnr_between_packed_False"]
    same = [["worst image: PSNR between both, dB", f"{decibels:.1f}"]]
    same.append(["largest difference of a value", f"{largest:.1e}"])
    for key, off in data["gradients_packed_False"].items():
        same.append([f"gradient of {key}, relative", f"{off:.1e}"])
    same = table(["what", "difference"], same, ["left", "right"])
    return {
        "python-times.md": "\n\n".join([calls, kernels, source(name)]),
        "python-same.md": "\n\n".join([same, source(name)]),
    }
