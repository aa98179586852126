"""The command line of the package."""

import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import splatcore
from splatcore import __main__ as command

SCRIPT = Path(sysconfig.get_path("scripts")) / "splatcore"


def run(*words: object, start=(sys.executable, "-m", "splatcore")):
    return subprocess.run(
        [*start, *map(str, words)], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("start", [(SCRIPT,), (sys.executable, "-m", "splatcore")])
def test_the_program_and_the_module_are_the_command(start):
    result = run("--version", start=start)
    assert (result.returncode, result.stdout) == (0, f"splatcore {splatcore.__version__}\n")


def test_exit_codes_and_streams(scene, tmp_path):
    path = tmp_path / "scene.ply"
    scene.save(path)
    result = run("info", path, "--json")
    assert result.returncode == 0 and '"gaussians": 40' in result.stdout
    result = run("info", tmp_path / "none.ply")
    assert result.returncode == 1 and result.stderr.startswith("error: ")
    assert result.stdout == ""
    result = run("render")
    assert result.returncode == 2 and "Usage: splatcore render" in result.stderr
    result = run()
    assert result.returncode == 2 and "Usage: splatcore <COMMAND>" in result.stderr


def test_it_renders(scene, tmp_path):
    scene.save(tmp_path / "scene.ply")
    result = run("render", tmp_path / "scene.ply", "--orbit", 2, "--size", "32x24", "-o", tmp_path)
    assert result.returncode == 0, result.stderr
    assert len(list(tmp_path.glob("*.png"))) == 2


def test_it_starts_itself_again(tmp_path):
    result = run("--version", start=command.again())
    assert result.stdout == f"splatcore {splatcore.__version__}\n", result.stderr
    # A file of the current folder is no part of the program.
    (tmp_path / "splatcore.py").write_text("raise RuntimeError('imported')")
    result = subprocess.run(
        [*command.again(), "--version"], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT for one process")
def test_ctrl_c_ends_a_command(scene, tmp_path):
    scene.save(tmp_path / "scene.ply")
    words = ["view", tmp_path / "scene.ply", "--no-browser", "--backend", "cpu"]
    command_words = [sys.executable, "-m", "splatcore", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    with subprocess.Popen(command_words, **pipes) as process:
        # It serves browsers until it is ended.
        assert any("http://" in line for line in process.stdout)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.wait(timeout=60) in (0, 130)
