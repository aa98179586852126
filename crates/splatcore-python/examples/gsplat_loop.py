"""Trains Gaussians with a loop as programs on gsplat have it: one line is splatcore's.

Usage: python gsplat_loop.py DATASET [STEPS]

The dataset is what ``splatcore train`` reads. With gsplat installed beside splatcore, its
strategies refine the Gaussians; without it their number stays.
"""

import sys

import torch

import splatcore

splatcore.install()  # the line: gsplat's names are splatcore's from here on

from fused_ssim import fused_ssim  # noqa: E402
from gsplat import rasterization  # noqa: E402

try:
    from gsplat.strategy import DefaultStrategy
except ImportError:
    DefaultStrategy = None
from simple_knn._C import distCUDA2  # noqa: E402

RATES = {"means": 1.6e-4, "quats": 1e-3, "scales": 5e-3, "opacities": 5e-2, "colors": 1e-2}


def start(dataset, device):
    """Gaussians at the dataset's points, as wide as its points are apart."""
    points = torch.tensor(dataset.points, dtype=torch.float32, device=device)
    n = len(points)
    apart = distCUDA2(points).clamp_min(1e-7).sqrt()
    parts = {
        "means": points,
        "quats": torch.tensor([1.0, 0, 0, 0], device=device).repeat(n, 1),
        "scales": apart.log()[:, None].repeat(1, 3),
        "opacities": torch.full((n,), 0.1, device=device).logit(),
        "colors": torch.tensor(
            dataset.point_colours / 255, dtype=torch.float32, device=device
        ).logit(eps=0.02),
    }
    return torch.nn.ParameterDict({key: torch.nn.Parameter(part) for key, part in parts.items()})


def cameras_of(dataset, device):
    """World-to-camera matrices, intrinsics and photos of the views to train on."""
    views, cameras = [], dataset.cameras
    for i in dataset.train:
        camera = cameras[i]
        pose = torch.tensor(camera.world_to_camera, dtype=torch.float32, device=device)
        rows = [[camera.fx, 0, camera.cx], [0, camera.fy, camera.cy], [0, 0, 1]]
        intrinsics = torch.tensor(rows, dtype=torch.float32, device=device)
        photo = torch.tensor(dataset.image(i), device=device)[..., :3] / 255
        views.append((pose[None], intrinsics[None], photo[None]))
    return views


def train(dataset, steps=500, device="cpu"):
    """Trains and returns the Gaussians and the loss of each step."""
    splats = start(dataset, device)
    views = cameras_of(dataset, device)
    # The radius of the cameras, which gsplat calls the scene's scale.
    centres = torch.stack([torch.linalg.inv(pose[0])[:3, 3] for pose, _, _ in views])
    scale = float((centres - centres.mean(0)).norm(dim=-1).max()) * 1.1
    optimizers = {
        key: torch.optim.Adam(
            [{"params": part, "lr": RATES[key] * (scale if key == "means" else 1)}], eps=1e-15
        )
        for key, part in splats.items()
    }
    strategy = DefaultStrategy(refine_start_iter=steps // 8) if DefaultStrategy else None
    state = strategy.initialize_state(scene_scale=scale) if strategy else None
    random = torch.Generator().manual_seed(0)
    losses = []
    for step in range(steps):
        view = int(torch.randint(len(views), (), generator=random))
        pose, intrinsics, photo = views[view]
        image, _, info = rasterization(
            splats["means"],
            splats["quats"],
            splats["scales"].exp(),
            splats["opacities"].sigmoid(),
            splats["colors"].sigmoid(),
            pose,
            intrinsics,
            photo.shape[2],
            photo.shape[1],
            packed=False,
        )
        if strategy:
            strategy.step_pre_backward(splats, optimizers, state, step, info)
        planes = (image.permute(0, 3, 1, 2), photo.permute(0, 3, 1, 2))
        loss = 0.8 * (image - photo).abs().mean() + 0.2 * (1 - fused_ssim(*planes))
        loss.backward()
        if strategy:
            strategy.step_post_backward(splats, optimizers, state, step, info)
        for optimizer in optimizers.values():
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if step % 100 == 0:
            print(f"step {step}: loss {losses[-1]:.4f}, {len(splats['means'])} Gaussians")
    return splats, losses


if __name__ == "__main__":
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dataset = splatcore.Dataset.load(sys.argv[1], max_size=640)
    splats, losses = train(dataset, int(sys.argv[2]) if len(sys.argv) > 2 else 500, device)
    colors = (splats["colors"].sigmoid() - 0.5) / 0.28209479177387814
    parts = [splats[key] for key in ("means", "scales", "quats", "opacities")]
    splatcore.Scene(*(part.detach().cpu() for part in (*parts, colors[:, None]))).save("scene.ply")
    first, last = (sum(part) / len(part) for part in (losses[:20], losses[-20:]))
    print(f"scene.ply is written, loss {first:.4f} -> {last:.4f}")
