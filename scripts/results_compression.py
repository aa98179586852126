"""The tables of docs/results/compression.md, for scripts/results."""

from results_raw import json_lines, source
from results_tables import table

NAME = "compression/compression.jsonl"

ROWS = {
    "ply": "as trained, PLY",
    "sog": "the same, SOG",
    "prune-40": "`prune --keep 40% --sh-degree 2 --finetune 5000`",
    "prune-20": "`prune --keep 20% --sh-degree 1 --finetune 5000`",
    "prune-10": "`prune --keep 10% --sh-degree 1 --finetune 5000`",
    "prune-lightgaussian": "`prune --keep 34% --sh-degree 2 --finetune 5000 --score lightgaussian`",
    "small": "`train --preset small`",
    "masks": "`train --learned-masks 5e-4`",
    "decimate": "`convert --decimate 40%`",
    "palette-16384": "as `--keep 40%`, with `--sog-palette 16384`",
    "palette-4096": "as `--keep 40%`, with `--sog-palette 4096`",
}
SCORES = ["transmittance", "lightgaussian", "opacity"]

# PSNR, SSIM and MB on the nine scenes of Mip-NeRF 360, as Bagdasarian et al. 2024 ("3DGS.zip: A
# survey on 3D Gaussian Splatting Compression Methods") collect them.
PUBLISHED = [
    ("3DGS, 30,000 steps", "27.21", ".815", "734"),
    ("LightGaussian", "27.28", ".805", "42"),
    ("Compact-3DGS", "27.08", ".798", "48.8"),
    ("Compact-3DGS, with post-processing", "-", "-", "29.1"),
    ("c3dgs (Niedermayr et al.)", "26.98", ".801", "28.8"),
    ("Reduced-3DGS", "27.10", ".809", "29"),
    ("gsplat, MCMC 1 M, PNG", "27.29", ".811", "16"),
    ("HAC, low rate", "27.53", ".807", "16"),
    ("CodecGS", "27.30", ".810", "10.3"),
]


def compression():
    """Tables by name, from what scripts/measure-compression wrote."""
    lines = json_lines(NAME)
    found = {(line["scene"], line["row"]): line for line in lines}
    scenes = list(dict.fromkeys(line["scene"] for line in lines))
    rows = []
    for scene in scenes:
        for key, label in ROWS.items():
            if (line := found.get((scene, key))) is None:
                continue
            rows.append(
                [
                    scene,
                    label,
                    f"{line['psnr']:.2f}",
                    f"{line['ssim']:.3f}",
                    f"{line['gaussians']:,}",
                    f"{line['bytes'] / 1e6:.2f}",
                    f"{1000 * line['gpu_ms']:,.0f}",
                ]
            )
    head = ["scene", "what", "PSNR", "SSIM", "Gaussians", "MB", "frame us"]
    main = table(head, rows, ["left", "left"] + ["right"] * 5)
    note = (
        "MB are 10^6 bytes of the file, of which all but the first row of a scene are SOG. PSNR and SSIM\n"
        "are of what the file holds, on the held-out photos. Frame: `gpu_ms` of `bench`."
    )
    rows = []
    for scene in scenes:
        of = [found.get((scene, f"score-{score}")) for score in SCORES]
        if all(of):
            whole = found[(scene, "ply")]["psnr"]
            rows.append([scene, f"{whole:.2f}", *(f"{line['psnr']:.2f}" for line in of)])
    scores = table(["scene", "all Gaussians", *(f"`{score}`" for score in SCORES)], rows)
    published = table(["method", "PSNR", "SSIM", "MB"], PUBLISHED)
    return {
        "compression": "\n\n".join([main, note, source(NAME)]),
        "compression-scores": "\n\n".join([scores, source(NAME)]),
        "compression-published": published,
    }
