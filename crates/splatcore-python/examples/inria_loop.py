"""Trains Gaussians with a loop as programs on INRIA's rasterizer have it: one line is splatcore's.

Usage: python inria_loop.py DATASET [STEPS]

The dataset is what ``splatcore train`` reads. Gaussians whose gradient in the image is large are
cloned, faint ones are removed.
"""

import sys

import torch

import splatcore

splatcore.install("inria", "simple_knn", "fused_ssim")  # the line

from diff_gaussian_rasterization import (  # noqa: E402
    GaussianRasterizationSettings,
    GaussianRasterizer,
    SparseGaussianAdam,
)
from fused_ssim import fused_ssim  # noqa: E402
from simple_knn._C import distCUDA2  # noqa: E402

RATES = {"xyz": 1.6e-4, "dc": 2.5e-3, "opacity": 2.5e-2, "scaling": 5e-3, "rotation": 1e-3}
SH_C0 = 0.28209479177387814


def start(dataset, device):
    """Gaussians at the dataset's points, as wide as its points are apart."""
    points = torch.tensor(dataset.points, dtype=torch.float32, device=device)
    colors = torch.tensor(dataset.point_colours / 255, dtype=torch.float32, device=device)
    n = len(points)
    apart = distCUDA2(points).clamp_min(1e-7).sqrt()
    parts = {
        "xyz": points,
        "dc": ((colors - 0.5) / SH_C0)[:, None],
        "opacity": torch.full((n, 1), 0.1, device=device).logit(),
        "scaling": apart.log()[:, None].repeat(1, 3),
        "rotation": torch.tensor([1.0, 0, 0, 0], device=device).repeat(n, 1),
    }
    return {key: torch.nn.Parameter(part.contiguous()) for key, part in parts.items()}


def settings_of(camera, background, device):
    """The camera as INRIA's rasterizer takes it: matrices for row vectors, fields of view."""
    view = torch.tensor(camera.world_to_camera, dtype=torch.float32, device=device)
    tangents = (0.5 * camera.width / camera.fx, 0.5 * camera.height / camera.fy)
    near, far = 0.01, 100.0
    clip = torch.zeros(4, 4, device=device)
    clip[0, 0], clip[1, 1] = 1 / tangents[0], 1 / tangents[1]
    clip[0, 2], clip[1, 2] = 2 * camera.cx / camera.width - 1, 2 * camera.cy / camera.height - 1
    clip[2, 2], clip[2, 3], clip[3, 2] = far / (far - near), -far * near / (far - near), 1
    return GaussianRasterizationSettings(
        image_height=camera.height,
        image_width=camera.width,
        tanfovx=tangents[0],
        tanfovy=tangents[1],
        bg=background,
        scale_modifier=1.0,
        viewmatrix=view.T,
        projmatrix=view.T @ clip.T,
        sh_degree=0,
        campos=torch.linalg.inv(view)[:3, 3],
        prefiltered=False,
        debug=False,
        antialiasing=False,
    )


def optimizer_of(splats, extent):
    rates = {**RATES, "xyz": RATES["xyz"] * extent}
    groups = [{"params": [part], "lr": rates[key], "name": key} for key, part in splats.items()]
    return SparseGaussianAdam(groups, lr=0.0, eps=1e-15)


def refined(splats, gradients, threshold=2e-4):
    """Clones what moves much in the image, drops what is faint. The optimiser begins anew."""
    keep = splats["opacity"].sigmoid()[:, 0] > 0.005
    clone = keep & (gradients > threshold)
    return {
        key: torch.nn.Parameter(torch.cat([part.detach()[keep], part.detach()[clone]]))
        for key, part in splats.items()
    }


def train(dataset, steps=500, device="cpu", refine_every=100):
    """Trains and returns the Gaussians and the loss of each step."""
    splats = start(dataset, device)
    cameras, background = dataset.cameras, torch.zeros(3, device=device)
    views = []
    for i in dataset.train:
        photo = torch.tensor(dataset.image(i), device=device)[..., :3] / 255
        views.append((settings_of(cameras[i], background, device), photo.permute(2, 0, 1)))
    centres = torch.stack([settings.campos for settings, _ in views])
    extent = float((centres - centres.mean(0)).norm(dim=-1).max()) * 1.1
    optimizer = optimizer_of(splats, extent)
    sums = torch.zeros(len(splats["xyz"]), device=device)
    random = torch.Generator().manual_seed(0)
    losses = []
    for step in range(1, steps + 1):
        view = int(torch.randint(len(views), (), generator=random))
        settings, photo = views[view]
        means2d = torch.zeros_like(splats["xyz"], requires_grad=True)
        image, radii, _ = GaussianRasterizer(settings)(
            means3D=splats["xyz"],
            means2D=means2d,
            opacities=splats["opacity"].sigmoid(),
            shs=splats["dc"],
            scales=splats["scaling"].exp(),
            rotations=torch.nn.functional.normalize(splats["rotation"]),
        )
        loss = 0.8 * (image - photo).abs().mean()
        loss = loss + 0.2 * (1 - fused_ssim(image[None], photo[None]))
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            visible = radii > 0
            sums[visible] += means2d.grad[visible, :2].norm(dim=-1)
            optimizer.step(visible, len(radii))
            optimizer.zero_grad(set_to_none=True)
            if step % refine_every == 0:
                splats = refined(splats, sums / refine_every)
                optimizer = optimizer_of(splats, extent)
                sums = torch.zeros(len(splats["xyz"]), device=device)
        if step % 100 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}, {len(splats['xyz'])} Gaussians")
    return splats, losses


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dataset = splatcore.Dataset.load(sys.argv[1], max_size=640)
    splats, losses = train(dataset, int(sys.argv[2]) if len(sys.argv) > 2 else 500, device)
    names = ("xyz", "scaling", "rotation", "opacity", "dc")
    xyz, scaling, rotation, opacity, dc = (splats[name].detach().cpu() for name in names)
    splatcore.Scene(xyz, scaling, rotation, opacity[:, 0].contiguous(), dc).save("scene.ply")
    first, last = (sum(part) / len(part) for part in (losses[:20], losses[-20:]))
    print(f"scene.ply is written, loss {first:.4f} -> {last:.4f}")
