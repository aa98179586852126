"""Cameras."""

import pickle

import numpy as np
import pytest

import splatcore


def test_a_camera_keeps_what_it_is_made_of():
    pose = np.eye(4)
    pose[:3, 3] = 1, 2, 3
    camera = splatcore.Camera(640, 480, 500.0, 510.0, 320.0, 240.0, pose)
    assert (camera.width, camera.height) == (640, 480)
    assert (camera.fx, camera.fy, camera.cx, camera.cy) == (500.0, 510.0, 320.0, 240.0)
    np.testing.assert_array_equal(camera.world_to_camera, pose)
    assert camera.position == (-1.0, -2.0, -3.0)
    assert camera == splatcore.Camera(640, 480, 500, 510, 320, 240, pose.tolist())
    assert camera == splatcore.Camera(640, 480, 500, 510, 320, 240, pose.astype(np.float32))
    assert camera != camera.resized(320, 240)
    assert camera.resized(320, 480).fx == 250.0
    assert pickle.loads(pickle.dumps(camera)) == camera


def test_look_at_puts_the_target_in_the_middle_and_up_upwards():
    eye, target, up = np.array([1.0, -4.0, 2.0]), np.array([0.0, 0.0, 0.5]), (0, 0, 1)
    camera = splatcore.Camera.look_at(eye, target, 200, 100, up=up, fov_y=np.pi / 2)
    np.testing.assert_allclose(camera.position, eye)

    def pixel(point):
        x, y, z = (camera.world_to_camera @ [*point, 1])[:3]
        return camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy, z

    x, y, z = pixel(target)
    np.testing.assert_allclose([x, y, z], [100, 50, np.linalg.norm(eye - target)])
    assert pixel(target + [0, 0, 0.1])[1] < 50
    # 90 degrees: the edge of the image is as far from its centre as the focal length.
    assert camera.fy == pytest.approx(50.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"width": 0}, "image size 0x48 is empty"),
        ({"fx": -1.0}, "focal lengths -1"),
        ({"cx": float("nan")}, "principal point"),
        ({"world_to_camera": np.eye(3)}, r"world_to_camera.*\[4, 4\].*\[3, 3\]"),
        ({"world_to_camera": 2 * np.eye(4)}, r"row \[0, 0, 0, 1\]"),
        ({"world_to_camera": np.diag([2.0, 1, 1, 1])}, "not orthonormal"),
        ({"world_to_camera": np.diag([-1.0, 1, 1, 1])}, "mirror image"),
        ({"world_to_camera": np.full((4, 4), np.nan)}, "row"),
    ],
)
def test_what_is_no_camera_is_refused(change, message):
    given = {"width": 64, "height": 48, "fx": 50.0, "fy": 50.0, "cx": 32.0, "cy": 24.0}
    given["world_to_camera"] = np.eye(4)
    with pytest.raises(ValueError, match=message):
        splatcore.Camera(**{**given, **change})


def test_wrong_types_are_refused():
    with pytest.raises(TypeError, match="world_to_camera"):
        splatcore.Camera(64, 48, 50, 50, 32, 24, "pose")
    with pytest.raises(TypeError, match="world_to_camera must be float64, found int64"):
        splatcore.Camera(64, 48, 50, 50, 32, 24, np.eye(4, dtype=np.int64))
    with pytest.raises(TypeError, match="eye must be three numbers"):
        splatcore.Camera.look_at(5, (0, 0, 0), 64, 48)
    with pytest.raises(ValueError, match="target must be three finite numbers"):
        splatcore.Camera.look_at((0, 0, 1), (0, 0), 64, 48)
    with pytest.raises(ValueError, match="fov_y"):
        splatcore.Camera.look_at((0, 0, 1), (0, 0, 0), 64, 48, fov_y=60)
