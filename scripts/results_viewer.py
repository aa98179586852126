"""The tables about the viewers, for scripts/results."""

from results_raw import load, source
from results_tables import mean, table

SOAK = "viewer/soak.json"
PAGES = ["pages/demo.json", "pages/fox_220k.json"]
LIVE = "live/live.json"
# Of the commit before pictures were compressed by all threads.
BEFORE = "live/before.json"
# Names of the counts in words.
COUNTS = {
    "frames": "pictures drawn, sent and acknowledged",
    "pages": "files of the page",
    "photos": "photos",
    "picks": "points picked",
    "pauses": "pauses of the training",
    "sessions": "browsers that came and went",
    "cut": "browsers that vanished in the middle",
    "slow": "browsers that asked for large pictures and did not read",
    "malformed": "connections that broke the rules",
    "silent": "connections that said nothing, or half a request",
}


def viewer():
    """Tables by name."""
    return {
        "viewer-live": live(),
        "viewer-share": share(),
        "viewer-pages": pages(),
        "viewer-soak": soak(),
    }


def live():
    lines = []
    for name, label in [(LIVE, "now"), (BEFORE, "before")]:
        report = load(name)
        watched = [run["pictures"] for run in report["trainings"] if run["watched"]]
        # The run in the middle.
        watched.sort(key=lambda seen: seen["pictures_per_second"])
        of_training = watched[len(watched) // 2]
        pictures = [(view, "") for view in report["views"]] + [(of_training, ", of a training")]
        for view, what in pictures:
            lines.append(
                [
                    label,
                    "x".join(map(str, view["size"])) + what,
                    f"{view['pictures_per_second']:.0f}",
                    f"{view['median_ms']:.1f}",
                    f"{view['p95_ms']:.1f}",
                    f"{view['render_ms']:.1f}",
                    f"{view['encode_ms']:.1f}",
                    f"{view['bytes'] / 1000:.0f}",
                ]
            )
    head = [
        "commit",
        "picture",
        "pictures a second",
        "from request to picture, ms",
        "95 %, ms",
        "rendered and brought to the host, ms",
        "compressed, ms",
        "kB",
    ]
    made = table(head, lines, ["left", "left"] + ["right"] * 6)
    return f"{made}\n\n{source(LIVE, BEFORE)}"


def share():
    runs = load(LIVE)["trainings"]
    lines = []
    for watched in [False, True]:
        chosen = [run for run in runs if run["watched"] == watched]
        seconds = ", ".join(f"{run['seconds']:.2f}" for run in chosen)
        (psnr,) = {run["psnr"] for run in runs}
        lines.append(["watched" if watched else "unwatched", seconds, f"{psnr:.4f}"])
    made = table(["training", "seconds", "PSNR, dB"], lines)
    return f"{made}\n\n{source(LIVE)}"


def pages():
    lines = []
    for name in PAGES:
        report = load(name)
        where = f"{report['scene']}, {'x'.join(map(str, report['size']))}"
        for row in report["rows"]:
            program = f"`{row['viewer']}`" + (f" {row['version']}" if row["version"] else "")
            if row.get("skipped"):
                lines.append([where, program, row["reads"], "does not run", "", ""])
                continue
            first = f"{mean(row['first_ms']) / 1000:.1f}"
            spread = f"{min(row['fps']):.2f} to {max(row['fps']):.2f}"
            to_ours = row["psnr_to_splatcore"]
            same = "-" if to_ours is None else f"{to_ours:.1f}"
            lines.append([where, program, row["reads"], first, spread, same])
    heads = ["scene", "viewer", "reads", "first picture, s", "frames a second", "dB to ours"]
    made = table(heads, lines, ["left"] * 3 + ["right"] * 3)
    return f"{made}\n\n{source(*PAGES)}"


def soak():
    report = load(SOAK)
    counts = report["counts"]
    lines = [[COUNTS[name], f"{counts[name]:,}"] for name in COUNTS]
    pairs = {
        "memory in the second and in the last quarter of the training, MiB": "memory_mib",
        "threads before the first browser and at most": "threads",
        "sockets before the first browser and after the last": "sockets",
    }
    for what, key in pairs.items():
        from_, to = (f"{v:.1f}" if isinstance(v, float) else str(v) for v in report[key])
        lines.append([what, f"{from_}, {to}"])
    lines.append(["training steps", f"{report['steps']:,}"])
    lines.append(["minutes", f"{report['seconds'] / 60:.1f}"])
    return f"{table(['what', 'number'], lines, ['left', 'right'])}\n\n{source(SOAK)}"
