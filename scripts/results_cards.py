"""The tables about several cards, for scripts/results: what was measured, and a model of other links.

The model. A step of `photos` a card on N cards takes r * photos + a / N and what of its exchanges
nothing hides. r and a are a line through one card's times of 2, 4 and 8 photos. In a round each card
renders a photo: it takes a splat (SPLAT bytes) for each Gaussian in view that another card has, and
gives a row of sums (SUMS bytes) for it, with ROOM times as many rows as are in view. An exchange
takes alpha + piece * (pieces - 1) + bytes / beta. The first splats and the last sums of a step are
not hidden, and of the others what takes longer than a photo.
"""

import re

from results_raw import about, bench, lines_of, source
from results_tables import table

RAW = "training/many-cards.txt"
BENCH = "rendering/bench-fox_mcmc_1m.json"
# The block of the raw file: exchanges in a stream of their own.
BEGIN, END = 'commits efa5a39a ("base", one queue)', "== --split-photos"
SPLAT, SUMS, ROOM = 56, 48, 1.25
# Pieces that a card gives another: of splats, of sums.
SPLAT_PIECES, SUM_PIECES = 4, 1
# What an exchange costs over a link, assumed: alpha in us, GB/s each way for each card.
LINKS = [
    ("PCIe 5.0 x16, or InfiniBand of 400 Gbit/s", 40, 45),
    ("100 GbE with RDMA", 50, 11),
    ("10 GbE", 100, 1.1),
]
SIZES = {"1 million": ("new_c", 1), "5 million": ("m5_c", 5)}


def steps():
    """Milliseconds of a step by (size, cards, photos a card): the means of their runs, without
    saving and waiting for the host."""
    text = "\n".join(lines_of(RAW))
    block = text[text.index(BEGIN) : text.index("BACKEND=cuda RANKS=2 STEPS=3000")]
    run = re.compile(
        r"^(new_c|m5_c)(\d)_b(\d)(?:-2)? .* ([\d,]+) steps in [\d.]+ s\n"
        r".*checkpoint ([\d.]+) %, idle ([\d.]+) % of ([\d.]+) s",
        re.MULTILINE,
    )
    found = {}
    for size, cards, photos, count, saving, idle, seconds in run.findall(block):
        share = 1 - (float(saving) + float(idle)) / 100
        ms = 1000 * float(seconds) * share / int(count.replace(",", ""))
        name = next(name for name, (mark, _) in SIZES.items() if mark == size)
        found.setdefault((name, int(cards), int(photos) // int(cards)), []).append(ms)
    return {key: sum(values) / len(values) for key, values in found.items()}


def nvlink():
    """alpha and the cost of a piece in us, and GB/s, of the exchanges that were timed alone."""
    line = re.compile(r"^plain ([\d.]+) MB one ([\d.]+) two [\d.]+ four ([\d.]+) us")
    rows = [tuple(map(float, m.groups())) for m in map(line.match, lines_of(RAW)) if m]
    (_, alpha, four), *_ = rows
    large = [row for row in rows if row[0] >= 12]
    (first, start, _), (last, end, _) = large[0], large[-1]
    return alpha, (four - alpha) / 3, (last - first) * 1e3 / (end - start)


def line_through(points):
    """Slope and height of the line that fits best."""
    n, xs, ys = len(points), [x for x, _ in points], [y for _, y in points]
    mx, my = sum(xs) / n, sum(ys) / n
    slope = sum((x - mx) * (y - my) for x, y in points) / sum((x - mx) ** 2 for x in xs)
    return slope, my - slope * mx


def predicted(cards, photos, one_card, in_view, link):
    """Milliseconds of a step."""
    (photo, rest), (alpha, piece, rate) = one_card, link

    def exchange(row_bytes, pieces):
        size = ROOM * in_view * row_bytes * (cards - 1) / cards
        return (alpha + piece * (pieces * (cards - 1) - 1) + size / (1e3 * rate)) / 1e3

    both = exchange(SPLAT, SPLAT_PIECES) + exchange(SUMS, SUM_PIECES)
    return photo * photos + rest / cards + both + (photos - 1) * max(0, both - photo)


def measured_on():
    return f"*{about(RAW)['machine']}; commits efa5a39a and 42b6721f, 2026-11-29: `{RAW}`.*"


def cards():
    """Tables by name."""
    measured, link = steps(), nvlink()
    in_view = bench(BENCH)["exact+splatcore"]["visible"]
    fits = {
        size: line_through(
            [(p, ms) for (s, c, p), ms in measured.items() if (s, c) == (size, 1) and p > 1]
        )
        for size in SIZES
    }

    def gain(size, count, photos, link):
        ms = predicted(count, photos, fits[size], SIZES[size][1] * in_view, link)
        return count * measured[size, 1, photos] / ms

    rows = [
        [
            size,
            photos,
            f"{measured[size, 1, photos]:.2f}",
            f"{measured[size, 2, photos]:.2f}",
            f"{2 * measured[size, 1, photos] / measured[size, 2, photos]:.2f}",
            f"{gain(size, 2, photos, link):.2f}",
        ]
        for size in SIZES
        for photos in [1, 2, 4]
    ]
    head = ["Gaussians", "photos a card", "one card, ms", "two cards, ms", "gain", "by the model"]
    two = table(head, rows, ["left", *["right"] * 5])
    alpha, piece, rate = link
    links = [(f"NVLink: {alpha:.0f} us, {rate:.0f} GB/s", link)]
    links += [(f"{name}: {a} us, {b} GB/s", (a, piece, b)) for name, a, b in LINKS]
    rows = [
        [size, photos, count, *(f"{gain(size, count, photos, one):.1f}" for _, one in links)]
        for size in SIZES
        for photos in [1, 4]
        for count in [2, 4, 8]
    ]
    head = ["Gaussians", "photos a card", "cards", *(name for name, _ in links)]
    other = table(head, rows, ["left", *["right"] * (len(head) - 1)])
    costs = (
        f"For each photo a card takes {SPLAT} bytes for each Gaussian in view that another card has, "
        f"and gives {SUMS} bytes for it, with a quarter more for room. {1e-6 * in_view:.2f} million "
        "Gaussians are in view, and five times as many of 5 million. An exchange takes a latency, "
        f"{piece:.0f} us for each piece of memory beyond the first, and its bytes over the rate; the "
        "head of a column has latency and rate. NVLink's are from exchanges that were timed alone; "
        "the others are assumed."
    )
    return {
        "cards-two": "\n\n".join([two, measured_on()]),
        "cards-modelled": "\n\n".join([other, costs, f"{measured_on()} {source(BENCH)}"]),
    }
