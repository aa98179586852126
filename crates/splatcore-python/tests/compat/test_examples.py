"""The examples learn a small scene, each in its own process, as it is run by hand."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import splatcore  # noqa: E402

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("name", ["gsplat_loop.py", "inria_loop.py"])
def test_it_learns(name, photos, tmp_path):
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), str(photos), "100"],
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    first, last = map(float, re.search(r"loss (\S+) -> (\S+)\s*$", done.stdout).groups())
    assert last < 0.7 * first, done.stdout
    assert len(splatcore.Scene.load(tmp_path / "scene.ply")) >= 100
