"""What tests share: a scene, cameras around it, photos of it in a dataset."""

import json
from pathlib import Path

import numpy as np
import pytest

import splatcore


def random_arrays(count: int, degree: int, seed: int) -> dict[str, np.ndarray]:
    """Gaussians in the unit ball that a camera at distance 4 sees, none opaque or cut."""
    rng = np.random.default_rng(seed)
    f32 = np.float32
    k = (degree + 1) ** 2
    sh = 0.1 * rng.standard_normal((count, k, 3))
    sh[:, 0] = rng.uniform(-1, 1.5, (count, 3))
    return {
        "means": (0.6 * rng.standard_normal((count, 3)).clip(-1.5, 1.5)).astype(f32),
        "scales": rng.uniform(-2.5, -1.5, (count, 3)).astype(f32),
        "rotations": rng.standard_normal((count, 4)).astype(f32),
        "opacities": rng.uniform(-1, 2, count).astype(f32),
        "sh": sh.astype(f32),
    }


def look_from(turn: float, width: int = 64, height: int = 48) -> splatcore.Camera:
    """A camera on a circle around the scene; a turn is 1."""
    angle = 2 * np.pi * turn
    eye = (4 * np.sin(angle), -1.0, 4 * np.cos(angle))
    return splatcore.Camera.look_at(eye, (0, 0, 0), width, height)


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    return random_arrays(40, 1, 3)


@pytest.fixture
def scene(arrays) -> splatcore.Scene:
    return splatcore.Scene(**arrays)


@pytest.fixture
def camera() -> splatcore.Camera:
    return look_from(0.1)


def write_photos(folder: Path) -> None:
    """A transforms.json, 16 renders of a scene with their cameras, and points of the scene."""
    scene = splatcore.Scene(**random_arrays(200, 0, 5))
    renderer = splatcore.Renderer(scene, "cpu")
    header = "ply\nformat ascii 1.0\nelement vertex 200\n"
    header += "".join(f"property float {axis}\n" for axis in "xyz")
    header += "".join(f"property uchar {name}\n" for name in ("red", "green", "blue"))
    lines = [f"{x} {y} {z} 128 128 128\n" for x, y, z in scene.means]
    (folder / "points.ply").write_text(header + "end_header\n" + "".join(lines))
    frames = []
    for i in range(16):
        camera = look_from(i / 16)
        renderer.render(camera).save(folder / f"view_{i:02}.png")
        # From OpenCV's axes to OpenGL's: y up, z back.
        pose = np.linalg.inv(camera.world_to_camera) @ np.diag([1.0, -1.0, -1.0, 1.0])
        frames.append({"file_path": f"view_{i:02}.png", "transform_matrix": pose.tolist()})
    model = {
        "w": camera.width,
        "h": camera.height,
        "fl_x": camera.fx,
        "fl_y": camera.fy,
        "cx": camera.cx,
        "cy": camera.cy,
        "ply_file_path": "points.ply",
        "frames": frames,
    }
    (folder / "transforms.json").write_text(json.dumps(model))


@pytest.fixture(scope="session")
def photos(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    write_photos(folder)
    return folder


@pytest.fixture
def dataset(photos) -> splatcore.Dataset:
    return splatcore.Dataset.load(photos)
