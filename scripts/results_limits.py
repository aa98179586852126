"""How far kernels are from what their card allows, for scripts/results.

The bound of a kernel is the largest of three times: its unavoidable bytes over the bandwidth of
device memory, its exponentials over the rate of the special function units, and the operations of
its method's equations over the issue rate. A score as SOL-ExecBench's says how much of the way from
the start to the bound a candidate has gone: 1 / (1 + (t - bound) / (start - bound)), which is 0.5
for the start and 1 at the bound.
"""

import csv

from results_lab import lines
from results_lab_long import LONG, SCENES_NAMES, TWO_SCENES, fastest, on_scenes, start_of
from results_raw import json_lines, lines_of, load, source
from results_tables import table

# An H200: multiprocessors, schedulers of each, special function units of each, the largest clock,
# bytes a second of device memory, bytes of the second-level cache.
MULTIPROCESSORS, SCHEDULERS, SPECIAL, HERTZ = 132, 4, 16, 1.98e9
BANDWIDTH, CACHE = 4.8e12, 60 * 2**20
WARP = 32

# Bytes: a Gaussian's parameters of degree 3 and of these its mean; a splat as blending reads it and
# as lists do; an entry of a list; a pixel's colour, its transmittance and its photo; the sums of a
# splat's gradients.
PARAMETERS, MEAN, SPLAT, BOUNDS, ENTRY = 236, 12, 48, 36, 4
COLOUR, TRANSMITTANCE, PHOTO, SUMS = 12, 4, 3, 40
# Operations of a fragment that is blended: the distance (2), the exponent (5), the exponential, the
# test against 1/255, the cap, the next transmittance, the test of it, the weight, the colours (3).
FRAGMENT, EXPONENT = 16, 7
# Taps of the window of SSIM, along each axis, and blurs that depend on the image: three of the
# forward pass (image, square, product with the photo), three of the backward pass.
TAPS, BLURS = 22, 6

MODEL = "fox_220k"
STEP, COUNTS = "profile/step.csv", "profile/groups.jsonl"
FRAMES = "rendering/paper-llm.json"
FOX, BACKWARD = f"rendering/bench-{MODEL}.json", f"rendering/bench-{MODEL}-backward.json"


def row_of(name, pipeline):
    """A row of a file of `bench`, or of a paper's first scene."""
    data = load(name)
    rows = data.get("rows") or data["scenes"][0]["rows"]
    return next(row for row in rows if row["pipeline"].startswith(pipeline))


def microseconds(read=0.0, written=0.0, exponentials=0.0, operations=0.0):
    """The three bounds: of bytes, of exponentials, of operations."""
    moved = read + max(0.0, written - CACHE)
    rate = MULTIPROCESSORS * HERTZ
    return [
        1e6 * moved / BANDWIDTH,
        1e6 * exponentials / (rate * SPECIAL),
        1e6 * operations / (rate * SCHEDULERS * WARP),
    ]


def bound_of(label, took, bounds):
    """The bound, which nothing may fall below."""
    if took < max(bounds):
        raise ValueError(f"{label} takes {took:.1f} us, its bound is {max(bounds):.1f}")
    return max(bounds)


def blend_bytes(row, pixels):
    read = ENTRY * row["pairs"] + SPLAT * row["visible"]
    return {"read": read, "written": (COLOUR + TRANSMITTANCE) * pixels}


def searched():
    """Starts of searches: label, how the fastest candidate was timed, blend of the start and of that
    candidate in us, bounds."""
    size = load(FRAMES)["scenes"][0]["size"]
    pixels = size[0] * size[1]
    written = next(one for one in lines("accepted.jsonl") if one["experiment"] == "literal-model")
    before = written["evidence"]["search"]["ratio"]
    rows = {
        "literal": (row_of(FRAMES, "aabb+literal"), FRAGMENT),
        "seele": (row_of(FRAMES, "exact+seele"), FRAGMENT),
        "tc-gs": (row_of(FOX, "exact+tc-gs+"), FRAGMENT - EXPONENT),
        "splatcore": (row_of(FOX, "exact+splatcore"), 0),
    }
    found = [("blend of `literal`, replies written before", "literal", before, "computed, verdict")]
    for name in LONG:
        start, (ratio, judged) = start_of(name), fastest(name)
        label = f"blend of {LONG[name].replace('aabb+', '').replace('exact+', '')}"
        measured = on_scenes().get(name)
        if start in rows and measured:
            found.append((label, start, measured[MODEL][0]["blend"], "measured"))
        elif start in rows and name not in TWO_SCENES:
            how = "none is faster" if ratio == 1 else f"computed, {'verdict' if judged else 'first look'}"
            found.append((label, start, ratio, how))
    counted = next(one["counts"] for one in json_lines(COUNTS) if one["pipeline"] == "exact+scalar")
    for label, of, took, how in found:
        row, operations = rows[of]
        # splatcore's ends pixels at 1/256.
        blended = row["fragments_blended"] or counted["blended_256"]
        if how == "measured":
            start, winner = (1000 * one for one in took)
        else:
            # Nothing but the blend was changed.
            start = 1000 * row["stages"]["blend"]
            winner = start - 1000 * row["gpu_ms"] * (1 - took)
        bounds = microseconds(
            exponentials=blended, operations=operations * blended, **blend_bytes(row, pixels)
        )
        yield label, how, start, winner, bounds


def backward_bytes(row, pixels):
    read = ENTRY * row["pairs"] + SPLAT * row["visible"] + (COLOUR + TRANSMITTANCE) * pixels
    return {"read": read, "written": SUMS * row["visible"]}


SUMMED = "blend_backward and the sums of pairs"


def vanilla():
    """Microseconds of vanilla's kernels here for the same work, where they are others."""
    frame, step = row_of(FRAMES, "aabb+literal"), row_of(BACKWARD, "aabb+scalar+atomic")["step_stages"]
    us = lambda stages, *names: 1000 * sum(stages[name] for name in names)
    return {
        "frame: lists": us(frame["stages"], "sort", "intersect"),
        "frame: blend": us(frame["stages"], "blend"),
        "step: lists": us(step, "sort", "intersect"),
        "step: blend": us(step, "blend"),
        f"step: {SUMMED}": us(step, "blend_backward", "gather_sums"),
    }


def kernels():
    """Kernels of this program's own frame and step: label, us, instructions and bytes measured,
    bounds."""
    found = {}
    for row in csv.DictReader(lines_of(STEP)):
        name = row.pop("of"), row.pop("kernel")
        found[name] = {key: float(value) for key, value in row.items()}
    frame = row_of(FOX, "exact+splatcore")
    trained = row_of(BACKWARD, "exact+splatcore")
    # What a pixel blends until it ends, at 1/256 in a frame and at 1e-4 in a step.
    counted = next(one["counts"] for one in json_lines(COUNTS) if one["pipeline"] == "exact+scalar")
    if (trained["pairs"], trained["visible"]) != (frame["pairs"], frame["visible"]):
        raise ValueError(f"{FOX} and {BACKWARD} are of other lists")
    gaussians, visible, pairs = load(FOX)["gaussians"], frame["visible"], frame["pairs"]
    pixels = load(FOX)["size"][0] * load(FOX)["size"][1]
    project = {
        "read": MEAN * gaussians + (PARAMETERS - MEAN) * visible,
        "written": SPLAT * visible,
    }
    lists = {"read": BOUNDS * visible, "written": ENTRY * pairs}
    blend = blend_bytes(frame, pixels)
    state = 3 * PARAMETERS * gaussians
    named = [
        ("frame", "project", ["project"], project),
        ("frame", "lists", ["bin_large_splats", "sort_bins"], lists),
        ("frame", "blend", ["blend"], {**blend, "exponentials": counted["blended_256"]}),
        ("step", "project", ["project"], project),
        ("step", "lists", ["count_digits", "sort_digit", "expand", "expand_long"], lists),
        ("step", "blend", ["blend"], {**blend, "exponentials": counted["blended"]}),
        (
            "step",
            "loss",
            ["loss_forward", "loss_backward", "loss_sum"],
            {
                "read": (COLOUR + PHOTO) * pixels,
                "written": COLOUR * pixels,
                "operations": 3 * TAPS * BLURS * pixels,
            },
        ),
        (
            "step",
            SUMMED,
            ["blend_backward", "sum_pairs", "sum_long_pairs"],
            {**backward_bytes(trained, pixels), "exponentials": counted["blended"]},
        ),
        (
            "step",
            "adam with project_backward",
            ["adam"],
            {"read": state + SUMS * visible, "written": state},
        ),
    ]
    for of, label, names, work in named:
        rows = [found[of, name] for name in names]
        total = lambda *keys: sum(row[key] for row in rows for key in keys)
        issued = 1e6 * total("instructions") / (MULTIPROCESSORS * SCHEDULERS * HERTZ)
        moved = 1e6 * total("dram_bytes_read", "dram_bytes_written") / BANDWIDTH
        took = total("duration_ns") / 1000
        yield f"{of}: {label}", took, issued, moved, microseconds(**work)


def bounds_cells(bounds):
    return [f"{one:.1f}" if one >= 0.05 else "-" for one in bounds]


ASSUMED = f"""\
Bounds are of {MODEL} at 1080x1920 on this card: {MULTIPROCESSORS} multiprocessors that issue
{SCHEDULERS} instructions of {WARP} lanes a clock and compute {SPECIAL} exponentials, at most
{HERTZ / 1e9:.2f} GHz, {BANDWIDTH / 1e12:.1f} TB/s. *Bytes*: every input is read once, caches begin
cold, and what is written counts beyond the {CACHE / 2**20:.0f} MiB of the cache: a mean of {MEAN}
bytes of every Gaussian and all {PARAMETERS} of a visible one; of a splat {SPLAT} in a blend and
{BOUNDS} in lists; {ENTRY} of an entry of a list; of a pixel {COLOUR} of colour or its gradient,
{TRANSMITTANCE} of transmittance, {PHOTO} of the photo; {SUMS} of a splat's gradient; parameters and
two moments in adam, read and written. *Exponentials*: one in f32 of each fragment that is blended.
*Operations*: each is an instruction with {WARP} useful lanes. A blended fragment has {FRAGMENT};
{EXPONENT} less where matrix units compute the exponent; none are counted where halves or matrix
units compute the rest (splatcore). SSIM: {BLURS} blurs of {TAPS} taps in each channel, without those
of the photo alone. The bound is the largest of the three. A method that packs two exponentials, or
blurs on matrix units, has a lower one."""


def score(took, start, bound):
    """SOL-ExecBench's."""
    return f"{1 / (1 + (took - bound) / (start - bound)):.2f}"


def searches():
    rows = []
    for label, how, start, winner, bounds in searched():
        bound = bound_of(label, winner, bounds)
        cells = [how, f"{start:,.0f}", f"{winner:,.0f}", *bounds_cells(bounds)]
        gone = 100 * (start - winner) / (start - bound)
        over = [f"{start / bound:.1f}", f"{winner / bound:.1f}"]
        rows.append([label, *cells, *over, f"{gone:.0f} %", score(winner, start, bound)])
    head = ["kernel", "timed by", "start, us", "fastest, us", "bytes, us", "exponentials, us"]
    head += ["operations, us", "start / bound", "fastest / bound", "of the way", "score"]
    note = (
        "Start: the kernel between device events. Fastest: *measured* by `bench` [on fox_220k](#winners-on-six-scenes),\n"
        "beside its start; *computed*: what the lab's ratio of whole frames, of a verdict or of a first\n"
        "look, leaves of the start's time. Of the way: from the start to the bound. Score:\n"
        "SOL-ExecBench's, 0.50 for the start and 1 at the bound. `splatcore` ends a pixel at a\n"
        "transmittance of 1/256 and so blends fewer fragments; its operations are not counted."
    )
    shown = [name for name in LONG if start_of(name) != "back"]
    names = [FRAMES, FOX, COUNTS, "lab/accepted.jsonl", *SCENES_NAMES]
    names += [f"lab/{name}.jsonl" for name in shown if name not in TWO_SCENES or name in on_scenes()]
    body = table(head, rows, ["left", "left"] + ["right"] * 9)
    return "\n\n".join([body, note, source(*names)])


def own():
    rows, before = [], vanilla()
    for label, took, issued, moved, bounds in kernels():
        bound = bound_of(label, took, bounds)
        cells = [f"{took:.1f}", f"{issued:.1f}", f"{moved:.1f}", *bounds_cells(bounds)]
        start = before.get(label)
        scored = ["-", "-"] if start is None else [f"{start:,.0f}", score(took, start, bound)]
        rows.append([label, *cells, f"{took / bound:.1f}", *scored])
    head = ["kernel", "takes, us", "its instructions, us", "its bytes, us", "bytes, us"]
    head += ["exponentials, us", "operations, us", "takes / bound", "vanilla, us", "score"]
    clocks = [float(row["hertz"]) / 1e9 for row in csv.DictReader(lines_of(STEP))]
    note = (
        "Takes: by Nsight Compute, which empties the caches before each launch; the clock was then\n"
        f"{min(clocks):.2f} to {max(clocks):.2f} GHz. Its instructions, its bytes: those that it\n"
        "executed and moved, at the full rates. The next three columns are bounds. Vanilla: the same\n"
        "work by `aabb+literal`, in a step by `aabb+scalar+atomic`, between device events; - where the\n"
        "kernel is the same or vanilla has none. Score: as above, with vanilla as the start.\n\n"
        "The rows of a step are older than d58d7a2b, which adds up the sums of warps in fixed point."
    )
    names = [STEP, FRAMES, FOX, BACKWARD, COUNTS]
    return "\n\n".join([table(head, rows), note, ASSUMED, source(*names)])


def limits():
    """Tables by name."""
    return {"lab-limits": searches(), "lab-limits-own": own()}
