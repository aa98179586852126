"""The tables about Python's drop-ins, for scripts/results."""

from results_raw import load, source
from results_tables import mean, table

CALLS = "python/gsplat.json"
TESTS = "python/tests.json"
TRAINING = "python/gsplat-training.json"
WHAT = {"infer": "image, no gradients", "step": "image, loss and gradients"}
# Names of the raw files' rasterizers, and which one is not it.
WHO = {"ours": "splatcore", "gsplat": "gsplat 1.5.3"}
# gsplat's own Python on splatcore's kernels.
CSRC = "csrc"
OTHER = {"ours": "gsplat", "gsplat": "ours"}
MIB = 2**20


def python():
    """Tables by name."""
    data, trainings = load(CALLS), load(TRAINING)
    times = [calls(data), kernels(data)]
    return {
        "python-tests": tests(),
        "python-times": "\n\n".join([*times, source(CALLS)]),
        "python-memory": "\n\n".join([memory(data), source(CALLS)]),
        "python-same": "\n\n".join([same(data), source(CALLS)]),
        "python-training": "\n\n".join([training(trainings["rows"]), source(TRAINING)]),
        "python-second-halves": "\n\n".join(
            [training(trainings["second_halves"]), source(TRAINING)]
        ),
    }


def beside(label, ours, theirs, digits):
    """A row with both numbers and their ratio."""
    return [label, f"{ours:.{digits}f}", f"{theirs:.{digits}f}", f"{ours / theirs:.2f}"]


def compared(what, unit, rows):
    return table([what, *(f"{name}, {unit}" for name in WHO.values()), "ratio"], rows)


def by_call(data, number, those=tuple(WHO)):
    """A label and the rasterizers' numbers for each call that is measured."""
    rows = {(row["what"], row["packed"], row["who"]): number(row) for row in data["rows"]}
    for packed in [False, True]:
        for what, words in WHAT.items():
            yield f"{words}, packed={packed}", *(rows[what, packed, who] for who in those)


def calls(data):
    those = (*WHO, CSRC)
    found = list(by_call(data, lambda row: row["median_ms"], those))
    tiny = [data[f"tiny_call_us_{who}"] / 1000 for who in those]
    found.append(("image of 8 Gaussians, 64x64, packed=False", *tiny))
    step = data["kernels_ms_per_step"]
    found.append(("all kernels of a step, packed=False", *(step[who] for who in those)))
    single = list(by_call(data, lambda row: row["median_ms"], ["single"]))
    for (label, ours), (_, _, *others) in list(zip(single, found))[:2]:
        found.append((f"{label}, `single`", ours, *others))
    others = [step[who] for who in those[1:]]
    found.append(("all kernels of a step, packed=False, `single`", step["single"], *others))
    rows = [
        [*beside(label, ours, theirs, 2), f"{csrc:.2f}", f"{csrc / theirs:.2f}"]
        for label, ours, theirs, csrc in found
    ]
    names = [f"{name}, ms" for name in WHO.values()]
    return table(["call", *names, "ratio", "`gsplat.csrc`, ms", "ratio"], rows)


def kernels(data):
    parts = data["kernels_us_per_step"]
    rows = [beside(part, *us[:2], 0) for part, us in parts.items()]
    image = [us for part, us in parts.items() if not part.endswith(", backward")]
    rows.append(beside("those of an image", *(sum(column) for column in list(zip(*image))[:2]), 0))
    return compared("kernels", "us", rows)


def memory(data):
    """Peaks of torch's memory and what others took of the card."""
    found = by_call(data, lambda row: (row["peak_bytes"] + row["other_bytes"]) / MIB)
    return compared("call", "MiB", [beside(*numbers, 0) for numbers in found])


def same(data):
    decibels, largest = data["psnr_between_packed_False"]
    rows = [["worst image: PSNR between both, dB", f"{decibels:.1f}"]]
    rows.append(["largest difference of a value", f"{largest:.1e}"])
    for key, off in data["gradients_packed_False"].items():
        rows.append([f"gradient of {key}, relative", f"{off:.1e}"])
    return table(["what", "difference"], rows)


def trained(row):
    """Seconds, Gaussians, MiB; dB of held-out photos by the training's own rasterizer and by the
    other, and of the photos that it trained on."""
    drawn = [row[f"psnr_drawn_by_{who}"] for who in [row["who"], OTHER[row["who"]]]]
    learned = row["psnr_of_training_photos"]
    return [row["seconds"], row["gaussians"], row["peak_bytes"] / MIB, *drawn, learned]


def cells(numbers, sign=""):
    """Numbers of a training, or with the sign "+" differences of them."""
    formats = [".1f", ",.0f", ".0f", ".3f", ".3f", ".3f"]
    return [f"{number:{sign}{form}}" for number, form in zip(numbers, formats)]


def tests():
    rows = [[r["tests"], r["passed"], r["of"]] for r in load(TESTS)["rows"]]
    return "\n\n".join([table(["tests", "passed", "of"], rows), source(TESTS)])


def training(data):
    found = [(row["who"], row["seed"], trained(row)) for row in data]
    rows = [[seed, WHO[who], *cells(numbers)] for who, seed, numbers in found]
    means = {}
    for who, name in WHO.items():
        columns = zip(*(numbers for one, _, numbers in found if one == who))
        means[who] = [mean(column) for column in columns]
        rows.append(["mean", name, *cells(means[who])])
    apart = [ours - theirs for ours, theirs in zip(*means.values())]
    rows.append(["difference of the means", "splatcore - gsplat", *cells(apart, "+")])
    head = ["seed", "rasterizer", "s", "Gaussians", "peak, MiB", "dB, drawn by its own"]
    head += ["dB, drawn by the other", "dB, photos trained on"]
    return table(head, rows, ["left", "left"] + ["right"] * 6)
