"""Datasets."""

import numpy as np
import pytest

import splatcore
from conftest import look_from, random_arrays


def test_a_dataset_is_what_its_files_say(dataset, photos):
    assert len(dataset) == 16 and dataset.path.samefile(photos)
    assert dataset.names == [f"view_{i:02}.png" for i in range(16)]
    assert dataset.test == [0, 8] and len(dataset.train) == 14
    means = random_arrays(200, 0, 5)["means"]
    assert dataset.points.dtype == np.float32
    np.testing.assert_allclose(dataset.points, means, atol=1e-6)
    np.testing.assert_array_equal(dataset.point_colours, np.full((200, 3), 128))
    for i, camera in enumerate(dataset.cameras):
        wanted = look_from(i / 16)
        np.testing.assert_allclose(camera.world_to_camera, wanted.world_to_camera, atol=1e-6)
        assert (camera.width, camera.height, camera.fx) == (64, 48, wanted.fx)


def test_photos_are_the_files_pixels(dataset, photos):
    image = dataset.image(3)
    assert image.dtype == np.uint8 and image.shape == (48, 64, 3)
    assert dataset.mask(3) is None
    np.testing.assert_array_equal(dataset.image(-1), dataset.image(15))
    for index in (16, -17, 2**40):
        with pytest.raises(IndexError, match="there are 16"):
            dataset.image(index)


def test_cameras_have_the_size_of_the_images(photos):
    small = splatcore.Dataset.load(photos, max_size=32, test_every=0)
    assert small.test == [] and len(small.train) == 16
    camera, image = small.cameras[2], small.image(2)
    assert image.shape == (camera.height, camera.width, 3) == (24, 32, 3)
    assert camera.lens == "pinhole"


def test_wrong_options_are_refused(photos, tmp_path):
    with pytest.raises(splatcore.Error, match="nowhere"):
        splatcore.Dataset.load(tmp_path / "nowhere")
    with pytest.raises(splatcore.Error, match="splatcore poses"):
        (tmp_path / "a.png").write_bytes((photos / "view_00.png").read_bytes())
        splatcore.Dataset.load(tmp_path)
    with pytest.raises(ValueError, match="background"):
        splatcore.Dataset.load(photos, background="grey")
    with pytest.raises(ValueError, match="max_size=0"):
        splatcore.Dataset.load(photos, max_size=0)
    with pytest.raises(ValueError, match="as-taken"):
        splatcore.Dataset.load(photos, lens="fisheye")
    with pytest.raises(ValueError, match='readout_direction="down"'):
        splatcore.Dataset.load(photos, readout_time=0.02, readout_direction="down")
    with pytest.raises(ValueError, match="when photos were taken"):
        splatcore.Dataset.load(photos, readout_time=0.02)


def test_missing_photos_are_a_warning(photos, tmp_path):
    for file in photos.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "view_05.png").unlink()
    with pytest.warns(UserWarning, match="1 listed photos .*view_05.png"):
        assert len(splatcore.Dataset.load(tmp_path)) == 15
