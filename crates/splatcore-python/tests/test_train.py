"""Training: what a run gives, callbacks, Ctrl-C, checkpoints, settings."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import splatcore
from splatcore import metrics

QUICK = {"backend": "cpu", "sh_degree": 0, "strategy": "adc"}


def quality(scene, dataset) -> float:
    renderer = splatcore.Renderer(scene, "cpu")
    cameras = dataset.cameras
    values = [
        metrics.psnr(renderer.render(cameras[i]).image, dataset.image(i)) for i in dataset.test
    ]
    return float(np.mean(values))


def test_a_run_learns(dataset):
    seen = []
    run = splatcore.train(
        dataset, iterations=300, callback=seen.append, callback_every=100, **QUICK
    )
    assert run.finished and run.steps == 300 and run.backend == "cpu"
    assert [state.step for state in seen] == [100, 200, 300]
    assert seen[-1].count >= len(run.scene) > 0 and seen[0].iterations == 300
    assert [point[0] for point in run.curve][-1] == 300 and run.curve[-1][1] == run.loss
    assert run.seconds >= seen[-1].seconds > seen[0].seconds > 0
    assert "iterations = 300" in run.config and "strategy" in run.config
    # Black alone gives some 13 dB here.
    assert quality(run.scene, dataset) > 20


def test_callbacks_look_and_change_nothing(dataset):
    losses, images = [], []

    def look(state):
        losses.append(state.loss)
        images.append(state.render(dataset.cameras[0], background=(0, 0, 0)).image)

    options = {"iterations": 100, "deterministic": True, **QUICK}
    run = splatcore.train(dataset, callback=look, callback_every=50, **options)
    again = splatcore.train(dataset, **options)
    np.testing.assert_array_equal(run.scene.means, again.scene.means)
    last = splatcore.render(run.scene, dataset.cameras[0], backend="cpu").image
    np.testing.assert_allclose(images[-1], last, atol=1e-5)
    assert np.abs(images[0] - last).max() > 1e-2
    # The state of step 50 has the loss of step 50.
    assert losses[-1] == run.loss and losses[0] == dict((p[0], p[1]) for p in run.curve)[50]


def test_a_callback_stops_the_run(dataset):
    run = splatcore.train(
        dataset, iterations=1000, callback=lambda state: state.stop(), callback_every=7, **QUICK
    )
    assert run.steps == 7 and not run.finished and len(run.scene) > 0


def test_a_callbacks_exception_ends_the_run(dataset):
    def fail(state):
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        splatcore.train(dataset, iterations=1000, callback=fail, callback_every=1, **QUICK)


def test_a_state_is_of_its_callback(dataset):
    states = []
    splatcore.train(dataset, iterations=2, callback=states.append, callback_every=1, **QUICK)
    assert states[0].step == 1
    states[0].stop()
    with pytest.raises(splatcore.Error, match="callback that has returned"):
        states[0].render(dataset.cameras[0])


@pytest.fixture
def heard_interrupts():
    """Python's handler of SIGINT: a background job of a shell inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_gives_what_was_learned(dataset, heard_interrupts):
    began = threading.Event()

    def interrupt():
        began.wait()
        time.sleep(0.05)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt) as caught:
        splatcore.train(
            dataset,
            iterations=1_000_000,
            callback=lambda state: began.set(),
            callback_every=1,
            **QUICK,
        )
    thread.join()
    assert time.monotonic() - begin < 30
    assert isinstance(caught.value, splatcore.TrainingInterrupted)
    run = caught.value.run
    assert 0 < run.steps < 1_000_000 and not run.finished and len(run.scene) > 0


def test_other_threads_run_while_it_trains(dataset):
    ticks = []

    def tick():
        while not done.is_set():
            ticks.append(None)
            time.sleep(0.001)

    done = threading.Event()
    ticker = threading.Thread(target=tick)
    ticker.start()
    splatcore.train(dataset, iterations=50, **QUICK)
    done.set()
    ticker.join()
    assert len(ticks) > 5


def test_a_checkpoint_is_gone_on_from(dataset, tmp_path):
    path = tmp_path / "run.safetensors"
    options = {"iterations": 120, **QUICK}
    whole = splatcore.train(dataset, **options)
    part = splatcore.train(
        dataset,
        checkpoint=path,
        callback=lambda state: state.stop(),
        callback_every=60,
        **options,
    )
    assert part.steps == 60 and path.stat().st_size > 0
    rest = splatcore.train(dataset, checkpoint=path, resume=True, **options)
    assert rest.steps == 120 and rest.finished
    np.testing.assert_array_equal(rest.scene.means, whole.scene.means)
    with pytest.raises(splatcore.Error, match="cannot resume: iterations was 120"):
        splatcore.train(dataset, checkpoint=path, resume=True, **{**options, "iterations": 130})


def test_a_resumed_runs_states_go_on_from_the_checkpoint(dataset, tmp_path):
    options = {"iterations": 60, "checkpoint": tmp_path / "run.safetensors", **QUICK}
    states = []

    def stop(state):
        states.append(state)
        state.stop()

    first = splatcore.train(dataset, callback=stop, callback_every=10, **options)
    rest = splatcore.train(dataset, resume=True, callback=stop, callback_every=1, **options)
    assert [state.step for state in states] == [10, 11] and rest.steps == 11
    # No sample was taken in between.
    assert first.loss == rest.loss == rest.curve[-1][1] == states[1].loss
    assert states[1].iterations == 60
    assert rest.seconds >= states[1].seconds >= first.seconds > 0
    # A run that has nothing left to do.
    done = splatcore.train(dataset, resume=True, **options)
    again = splatcore.train(dataset, resume=True, **options)
    assert again.steps == 60 and again.loss == done.loss == done.curve[-1][1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "is a folder"),
        ("file/x", "cannot be written"),
        ("new/", "is no name of a file"),
        ("fifo", "is not a regular file"),
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_refused_before_training(
    dataset, tmp_path, name, message
):
    (tmp_path / "file").touch()
    if name == "fifo":
        if not hasattr(os, "mkfifo"):
            pytest.skip("no pipes with names")
        os.mkfifo(tmp_path / name)
    seen = []
    with pytest.raises(splatcore.Error, match=message):
        splatcore.train(
            dataset,
            iterations=2,
            checkpoint=f"{tmp_path}/{name}",
            callback=seen.append,
            callback_every=1,
            **QUICK,
        )
    assert not seen
    with pytest.raises(splatcore.Error, match="is no name of a file"):
        splatcore.train(dataset, checkpoint="", **QUICK)


def test_presets_and_settings_of_the_dataset_count(photos):
    dataset = splatcore.Dataset.load(
        photos, max_size=32, test_every=4, background=(1, 1, 1), lens="as-taken"
    )
    run = splatcore.train(
        dataset,
        "fast",
        5,
        backend="cpu",
        max_gaussians=np.int64(5000),
        exposure=np.True_,
        split_scale=None,
    )
    for line in [
        'preset = "fast"',
        "iterations = 5",
        "max-size = 32",
        "test-every = 4",
        'background = "white"',
        'lens = "as-taken"',
        "max-gaussians = 5000",
        'appearance = "affine"',
    ]:
        assert line in run.config.splitlines(), line
    with pytest.raises(ValueError, match="max_size is another one"):
        splatcore.train(dataset, max_size=64)
    with pytest.raises(ValueError, match="lens is another one"):
        splatcore.train(dataset, lens="undistort")
    with pytest.raises(ValueError, match="readout_time is another one"):
        splatcore.train(dataset, readout_time=0.02)


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"iteration": 5}, TypeError, "unknown setting `iteration`; did you mean `iterations`"),
        ({"bogus": None}, TypeError, "unknown setting `bogus`"),
        ({"iteration": None}, TypeError, "did you mean `iterations`"),
        ({"seed": 2**63}, ValueError, r"seed must be an integer .*found 9223372036854775808"),
        ({"seed": np.uint64(2**63)}, ValueError, "seed must be an integer"),
        ({"backend": "cpu", "threads": 0}, ValueError, "threads"),
        ({"backend": "cpu", "threads": 10**6}, ValueError, "threads must be 1 to 256"),
        ({"sh_degree": "two"}, TypeError, "sh_degree: invalid type"),
        ({"strategy": "best"}, ValueError, "strategy: unknown variant `best`"),
        ({"lr_means": -1.0}, ValueError, "lr_means=-1"),
        ({"strategy": "mcmc", "split_scale": 0.5}, ValueError, "split_scale has no effect"),
        ({"background": "grey"}, ValueError, "background: 'grey' is not a colour"),
        ({"preset": 5}, TypeError, "preset"),
        ({"callback": 5}, TypeError, "callback must be callable, found int"),
        ({"callback_every": 0}, ValueError, "callback_every must be at least 1"),
        ({"resume": True}, ValueError, "checkpoint="),
        ({"eval_every": 5}, TypeError, "eval_every"),
        ({"seed": object()}, TypeError, "seed must be a number"),
    ],
)
def test_wrong_settings_are_refused(dataset, settings, kind, message):
    with pytest.raises(kind, match=message):
        splatcore.train(dataset, **settings)
