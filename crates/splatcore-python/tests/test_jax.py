"""JAX arrays in and out, each test in a process of its own: JAX has threads, which warn of forks."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import splatcore

EXAMPLE = Path(__file__).parents[1] / "examples" / "jax_fit.py"
pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="jax is not installed"
)

ARRAYS = """
import jax, jax.numpy as jnp, numpy as np, splatcore
from conftest import look_from, random_arrays

arrays, camera = random_arrays(40, 1, 3), look_from(0.1)
of_jax = {name: jnp.asarray(array) for name, array in arrays.items()}
scene = splatcore.Scene(**of_jax)
for name, array in arrays.items():
    assert np.array_equal(getattr(scene, name), array), name
    assert np.array_equal(jnp.asarray(getattr(scene, name)), array), name
image = splatcore.render(scene, camera, backend="cpu").image
taken = jax.dlpack.from_dlpack(image)
assert isinstance(taken, jax.Array) and np.array_equal(taken, image)
moved = scene.replace(means=of_jax["means"] + 1)
assert np.array_equal(moved.means, arrays["means"] + 1)
found = splatcore.Renderer(scene, "cpu").gradients(camera, jnp.ones_like(taken))
assert jnp.isfinite(jnp.asarray(found.means)).all()
assert splatcore.metrics.psnr(taken, taken * 0.5) > 0
try:
    splatcore.Scene(**{**of_jax, "means": of_jax["means"].astype(jnp.bfloat16)})
except TypeError as error:
    assert "means" in str(error), error
else:
    raise AssertionError("bfloat16 was taken")
"""

GRADIENTS = """
import jax, jax.numpy as jnp, numpy as np, splatcore
from conftest import look_from, random_arrays
from jax_fit import NAMES, render

arrays, camera = random_arrays(40, 1, 3), look_from(0.1)
parameters = tuple(jnp.asarray(arrays[name]) for name in NAMES)
weights = jax.random.normal(jax.random.key(0), (camera.height, camera.width, 3))
found = jax.jit(jax.grad(lambda given: (render(given, camera) * weights).sum()))(parameters)
renderer = splatcore.Renderer(splatcore.Scene(**arrays), "cpu")
wanted = renderer.gradients(camera, np.asarray(weights))
for name, part in zip(NAMES, found):
    np.testing.assert_allclose(part, getattr(wanted, name), rtol=1e-5, atol=1e-6, err_msg=name)
"""


def run(folder, *words):
    folders = [str(Path(__file__).parent), str(EXAMPLE.parent), os.environ.get("PYTHONPATH")]
    path = os.pathsep.join(filter(None, folders))
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("code", [ARRAYS, GRADIENTS], ids=["arrays", "gradients"])
def test_arrays_go_in_and_out(code, tmp_path):
    run(tmp_path, "-c", code)


def test_the_example_learns(photos, tmp_path):
    told = run(tmp_path, str(EXAMPLE), str(photos), "80")
    first, last = map(float, re.search(r"loss (\S+) -> (\S+)\s*$", told).groups())
    assert last < 0.6 * first, told
    assert len(splatcore.Scene.load(tmp_path / "scene.ply")) >= 100
