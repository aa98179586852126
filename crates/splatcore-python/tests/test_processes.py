"""Processes: forks and spawns do not hang."""

import multiprocessing
import sys

import numpy as np
import pytest

import splatcore
from conftest import look_from, random_arrays


def drawn(arrays) -> np.ndarray:
    scene = splatcore.Scene(**arrays)
    return splatcore.render(scene, look_from(0.2), backend="cpu").image


def used_in_child(renderer) -> str:
    try:
        renderer.render(look_from(0.2))
    except splatcore.Error as error:
        return str(error)
    return "rendered"


def measured(image) -> float:
    return splatcore.metrics.ssim(image, image)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_render(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"{sys.platform} has no {method}")
    arrays = random_arrays(100, 1, 6)
    # All pools of the parent are at work before the fork.
    expected = drawn(arrays)
    assert measured(expected) == pytest.approx(1)
    with multiprocessing.get_context(method).Pool(2) as pool:
        for image in pool.map_async(drawn, [arrays] * 4).get(timeout=60):
            np.testing.assert_array_equal(image, expected)
        assert pool.apply_async(measured, [expected]).get(timeout=60) == pytest.approx(1)
        scene = pool.apply_async(splatcore.Scene, (), arrays).get(timeout=60)
    np.testing.assert_array_equal(scene.means, arrays["means"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_renderer_does_not_follow_a_fork(scene):
    renderer = splatcore.Renderer(scene, "cpu")
    renderer.render(look_from(0.2))
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=lambda: answers.put(used_in_child(renderer)))
    child.start()
    assert "make another one in this process" in answers.get(timeout=60)
    child.join()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_training_state_does_not_follow_a_fork(dataset):
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    heard = []

    def look(state):
        child = context.Process(target=lambda: answers.put(used_in_child(state)))
        child.start()
        try:
            heard.append(answers.get(timeout=60))
        finally:
            child.kill()
            child.join()

    splatcore.train(
        dataset, iterations=1, callback=look, callback_every=1, backend="cpu", sh_degree=0
    )
    assert "TrainingState was made in process" in heard[0]
