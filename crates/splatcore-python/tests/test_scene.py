"""Scenes: arrays in and out, files, what is refused."""

import gc
import pickle
import subprocess
import sys

import numpy as np
import pytest

import splatcore

NAMES = ["means", "scales", "rotations", "opacities", "sh"]


def test_arrays_come_back_as_they_went_in(scene, arrays):
    assert len(scene) == 40 and scene.sh_degree == 1
    for name in NAMES:
        found = getattr(scene, name)
        assert found.dtype == np.float32 and found.shape == arrays[name].shape
        np.testing.assert_array_equal(found, arrays[name])


def test_arrays_are_views_of_one_memory_that_outlives_the_scene(arrays):
    scene = splatcore.Scene(**arrays)
    first = scene.means
    assert np.shares_memory(first, scene.means)
    assert not np.shares_memory(first, arrays["means"])
    row = first[7]
    del scene, first
    gc.collect()
    # Memory that was freed would soon hold something else.
    splatcore.Scene(**{name: array * 0 + 1 for name, array in arrays.items()})
    np.testing.assert_array_equal(row, arrays["means"][7])


def test_views_cannot_be_written(scene):
    for name in NAMES:
        view = getattr(scene, name)
        with pytest.raises(ValueError, match="read-only"):
            view[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            view.flags.writeable = True
        with pytest.raises(AttributeError):
            setattr(scene, name, view)


def test_an_edit_is_a_new_scene(scene, arrays):
    moved = scene.replace(means=scene.means + np.float32(1), antialiased=True)
    np.testing.assert_array_equal(moved.means, arrays["means"] + 1)
    np.testing.assert_array_equal(scene.means, arrays["means"])
    np.testing.assert_array_equal(moved.sh, scene.sh)
    assert moved.antialiased and not scene.antialiased
    assert scene.replace(sh=scene.sh[:, :1]).sh_degree == 0


def test_strided_and_read_only_arrays_are_copied_right(arrays):
    wide = np.zeros((40, 6), np.float32)
    wide[:, ::2] = arrays["means"]
    fortran = np.asfortranarray(arrays["sh"])
    fortran.flags.writeable = False
    scene = splatcore.Scene(**{**arrays, "means": wide[:, ::2], "sh": fortran})
    np.testing.assert_array_equal(scene.means, arrays["means"])
    np.testing.assert_array_equal(scene.sh, arrays["sh"])


class Tensor:
    """An array that is not NumPy's, on a device of DLPack."""

    def __init__(self, array, device=1):
        self.array, self.device = array, device

    def __dlpack__(self, **options):
        assert self.device == 1, "memory of another device must not be asked for"
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return (self.device, 0)


def test_dlpack_arrays_of_the_processor_are_taken(arrays):
    scene = splatcore.Scene(**{name: Tensor(array) for name, array in arrays.items()})
    np.testing.assert_array_equal(scene.sh, arrays["sh"])


def test_dlpack_arrays_of_a_card_are_refused_not_copied(arrays):
    arrays["scales"] = Tensor(arrays["scales"], device=2)
    with pytest.raises(ValueError, match=r"scales must lie in the processor's memory.*\(2, 0\)"):
        splatcore.Scene(**arrays)


@pytest.mark.parametrize(
    ("name", "wrong", "kind", "message"),
    [
        ("means", np.zeros((40, 2), np.float32), ValueError, r"means.*\[n, 3\].*\[40, 2\]"),
        ("scales", np.zeros((39, 3), np.float32), ValueError, r"scales.*\[40, 3\].*\[39, 3\]"),
        ("opacities", np.zeros((40, 1), np.float32), ValueError, r"opacities.*\[40\].*\[40, 1\]"),
        ("rotations", np.zeros((40, 4), np.float32), ValueError, "rotations.*zeros in row 0"),
        ("sh", np.zeros((40, 5, 3), np.float32), ValueError, "sh.*1, 4, 9 or 16.*40, 5, 3"),
        ("means", np.zeros((40, 3)), TypeError, "means must be float32, found float64"),
        ("means", np.zeros((40, 3), ">f4"), TypeError, "means must be float32, found >f4"),
        ("opacities", [0.0] * 40, TypeError, "opacities must be a NumPy array.*found list"),
        ("sh", None, TypeError, "sh must be a NumPy array.*NoneType"),
    ],
)
def test_what_is_no_scene_is_refused(arrays, name, wrong, kind, message):
    with pytest.raises(kind, match=message):
        splatcore.Scene(**{**arrays, name: wrong})


def test_values_that_are_not_finite_are_refused(arrays):
    for value in [np.nan, np.inf]:
        for name in NAMES:
            broken = arrays[name].copy()
            broken[12] = value
            with pytest.raises(ValueError, match=f"{name} must be finite.*row 12"):
                splatcore.Scene(**{**arrays, name: broken})


def test_a_scene_may_be_empty(camera):
    shapes = {"means": (0, 3), "scales": (0, 3), "rotations": (0, 4), "opacities": 0}
    empty = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
    scene = splatcore.Scene(**empty, sh=np.zeros((0, 1, 3), np.float32))
    assert len(scene) == 0 and scene.means.shape == (0, 3)
    image = splatcore.render(scene, camera, backend="cpu", background=(0.5, 0.25, 1)).image
    np.testing.assert_array_equal(image, np.broadcast_to([0.5, 0.25, 1], image.shape))


def test_ply_keeps_every_bit(scene, tmp_path):
    path = tmp_path / "scene.ply"
    scene.replace(antialiased=True).save(path)
    assert path.read_bytes().startswith(b"ply\n")
    found = splatcore.Scene.load(path)
    assert found.antialiased
    for name in NAMES:
        np.testing.assert_array_equal(getattr(found, name), getattr(scene, name))


def test_options_of_formats(scene, tmp_path):
    for version in (2, 3, 4):
        path = tmp_path / f"scene{version}.spz"
        scene.save(path, spz_version=version, keep_order=True)
        found = splatcore.Scene.load(str(path))
        np.testing.assert_allclose(found.means, scene.means, atol=1e-3)
    with pytest.raises(ValueError, match="spz_version must be 2 to 4, found 7"):
        scene.save(tmp_path / "scene.spz", spz_version=7)


def test_the_order_is_kept_on_request(scene, tmp_path):
    for name in ["a.sog", "folder/meta.json", "a.compressed.ply"]:
        scene.save(tmp_path / name, keep_order=True)
        found = splatcore.Scene.load(tmp_path / name)
        np.testing.assert_allclose(found.means, scene.means, atol=1e-2)
    with pytest.raises(ValueError, match="keep_order=True is not for lod-meta.json"):
        scene.save(tmp_path / "levels" / "lod-meta.json", keep_order=True)


def test_what_a_format_cannot_keep_is_a_warning(scene, tmp_path):
    with pytest.warns(UserWarning, match="degree 1 are cut to 0"):
        scene.save(tmp_path / "scene.splat")


def test_errors_of_files_are_splatcores(scene, tmp_path):
    with pytest.raises(splatcore.Error, match="missing.ply: cannot be read"):
        splatcore.Scene.load(tmp_path / "missing.ply")
    (tmp_path / "text.ply").write_text("no scene")
    with pytest.raises(splatcore.Error, match="text.ply"):
        splatcore.Scene.load(tmp_path / "text.ply")
    with pytest.raises(splatcore.Error, match="scene.obj"):
        scene.save(tmp_path / "scene.obj")


def test_scenes_are_pickled(scene):
    found = pickle.loads(pickle.dumps(scene))
    for name in NAMES:
        np.testing.assert_array_equal(getattr(found, name), getattr(scene, name))


def output_of(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_needs_neither_torch_nor_numpy():
    code = "import sys, splatcore; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    assert output_of(code) == "[]\n"


def test_an_array_without_numpy_is_an_import_error():
    code = """
import sys
sys.modules["numpy"] = None
import splatcore
camera = splatcore.Camera.look_at((0, 0, 1), (0, 0, 0), 64, 48)
try:
    camera.world_to_camera
except ImportError as error:
    print(error.name)
"""
    assert output_of(code) == "numpy\n"


def test_what_interrupts_the_loading_of_numpy_is_raised():
    code = """
import builtins, splatcore
camera = splatcore.Camera.look_at((0, 0, 1), (0, 0, 0), 64, 48)
load = builtins.__import__

def interrupted(*args, **options):
    raise KeyboardInterrupt

builtins.__import__ = interrupted
try:
    camera.world_to_camera
except KeyboardInterrupt:
    print("interrupted")
builtins.__import__ = load
print(camera.world_to_camera.shape)
"""
    assert output_of(code) == "interrupted\n(4, 4)\n"
