"""Small scenes for the drop-ins' tests, and how results and gradients are compared."""

from __future__ import annotations

import torch
from torch import Tensor

# The tensors are too small for threads to help.
torch.set_num_threads(1)

WIDTH, HEIGHT = 28, 22


def make(
    seed: int = 0,
    count: int = 12,
    cameras: int = 2,
    degree: int | None = 2,
    channels: int = 3,
    per_camera: bool = False,
    background: bool = True,
    covars: bool = False,
    dtype: torch.dtype = torch.float64,
    device: str = "cpu",
) -> dict[str, Tensor]:
    """Arguments of ``rasterization``, leaves that require gradients.

    Splats overlap and cross the image's edge. One is behind the cameras, one too faint to be drawn,
    and a large one behind all others is so opaque that its alpha is capped and pixels end at it.
    """
    random = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        rand = torch.rand(*shape, generator=random, dtype=torch.float64)
        return low + (high - low) * rand

    found = {"means": 0.7 * normal(count, 3)}
    found["means"][0, 2] = -6.0
    found["means"][1] = torch.tensor([0.1, -0.1, 2.5])
    if covars:
        half = uniform(-0.25, 0.25, count, 3, 3)
        found["covars"] = half @ half.transpose(-1, -2) + 0.002 * torch.eye(3)
        found["covars"][1] = torch.diag(torch.tensor([16.0, 20.0, 25.0]))
    else:
        found["quats"] = normal(count, 4)
        found["scales"] = uniform(0.05, 0.35, count, 3)
        found["scales"][1] = torch.tensor([4.0, 4.5, 5.0])
    found["opacities"] = uniform(0.1, 0.9, count)
    found["opacities"][1], found["opacities"][2] = 1.0, 0.003
    k = () if degree is None else ((degree + 1) ** 2,)
    size = ((cameras,) if per_camera else ()) + (count, *k, channels)
    found["colors"] = uniform(0, 1, *size) if degree is None else 0.3 * normal(*size)
    found["viewmats"], found["Ks"] = poses(cameras)
    if background:
        found["backgrounds"] = uniform(0, 1, cameras, channels)
    for name, part in found.items():
        found[name] = part.to(device=device, dtype=dtype).contiguous().requires_grad_()
    return found


def poses(cameras: int) -> tuple[Tensor, Tensor]:
    """Cameras four units from the origin, each turned and with another centre."""
    views, intrinsics = [], []
    for i in range(cameras):
        turn = torch.tensor(0.25 * i - 0.1, dtype=torch.float64)
        pose = torch.eye(4, dtype=torch.float64)
        pose[0, 0], pose[0, 2], pose[2, 0], pose[2, 2] = (
            turn.cos(),
            turn.sin(),
            -turn.sin(),
            turn.cos(),
        )
        pose[:3, 3] = torch.tensor([0.1 - 0.2 * i, 0.05 * i, 4.0])
        views.append(pose)
        rows = [[24.0 + i, 0, 14.5 - i], [0, 26.0 - i, 10.5 + i], [0, 0, 1]]
        intrinsics.append(torch.tensor(rows, dtype=torch.float64))
    return torch.stack(views), torch.stack(intrinsics)


def weights(image: Tensor, seed: int = 5) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.rand(image.shape, generator=random, dtype=torch.float64).to(image)


def relative(found: Tensor, wanted: Tensor) -> float:
    """The error of a gradient, relative to its length."""
    found, wanted = found.detach().double().cpu(), wanted.detach().double().cpu()
    return float((found - wanted).norm() / wanted.norm().clamp(min=1e-12))
