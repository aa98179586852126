//! `train`: photos to a scene.

use crate::dataset::Dataset;
use crate::errors::{self, TrainingInterrupted};
use crate::process::{detached, on_all_cores};
use crate::render::open;
use crate::scene::{Scene, warn};
use crate::settings::resolved;
use crate::watch::Watch;
use pyo3::exceptions::{PyKeyboardInterrupt, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use splatcore::core::{View, camera};
use splatcore::cuda::{Moments, Options};
use splatcore::data::dataset::Split;
use splatcore::data::file::check_writable;
use splatcore::train::config;
use splatcore::train::trainer::Outcome;
use splatcore::train::{Checkpoint, ResolvedConfig, TrainError, Trainer, init};
use std::path::PathBuf;
use std::sync::Arc;

/// Photos that are decoded between two looks at Ctrl-C.
const LOADED_AT_ONCE: usize = 32;

/// What a run has learned.
#[pyclass(frozen, get_all, module = "splatcore")]
pub struct TrainedRun {
    /// The Gaussians.
    scene: Py<Scene>,
    /// Steps taken, resumed ones included.
    steps: u32,
    /// Seconds trained, without loading and callbacks.
    seconds: f64,
    /// Whether all iterations are done; if not, a callback or Ctrl-C ended the run.
    finished: bool,
    /// Smoothed training loss in the end; ``None`` if no step was taken.
    loss: Option<f64>,
    /// Samples of the run: step, smoothed loss, number of Gaussians, seconds trained.
    curve: Vec<(u32, f64, u64, f64)>,
    /// "cpu" or "cuda".
    backend: String,
    /// All settings, as the config.toml of the command ``train``.
    config: String,
}

#[pymethods]
impl TrainedRun {
    fn __repr__(&self) -> String {
        format!(
            "<splatcore.TrainedRun of {} steps in {:.1} s, {}>",
            self.steps,
            self.seconds,
            match self.finished {
                true => "finished",
                false => "stopped",
            }
        )
    }
}

/// Trains a scene on a dataset's photos.
///
/// ``preset`` and the other settings are those of the command ``splatcore train``, with ``_`` in
/// names: ``strategy="mcmc"``, ``max_gaussians=200_000``, ``backend="cpu"``. ``device`` is the
/// number of a card.
///
/// ``callback`` gets a TrainingState after every ``callback_every`` steps; it may render and stop.
/// What it raises ends the run and is raised here. Ctrl-C raises TrainingInterrupted (a
/// KeyboardInterrupt) after the current step, with the run so far in its attribute ``run``.
///
/// ``checkpoint`` is a file to which the whole state goes now and then and at the end; with
/// ``resume`` the run goes on from it, with the same result as without the interruption.
#[pyfunction]
#[pyo3(signature = (
    dataset, preset=None, iterations=None, *, callback=None, callback_every=100, checkpoint=None,
    resume=false, device=None, **settings
))]
pub fn train(
    py: Python<'_>,
    dataset: &Bound<'_, Dataset>,
    preset: Option<&str>,
    iterations: Option<u32>,
    callback: Option<Py<PyAny>>,
    callback_every: u32,
    checkpoint: Option<PathBuf>,
    resume: bool,
    device: Option<usize>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<TrainedRun> {
    if callback_every == 0 {
        return Err(PyValueError::new_err(
            "callback_every must be at least 1, found 0",
        ));
    }
    if let Some(callback) = callback
        .as_ref()
        .filter(|callback| !callback.bind(py).is_callable())
    {
        return Err(PyTypeError::new_err(format!(
            "callback must be callable, found {}",
            callback.bind(py).get_type().name()?
        )));
    }
    if resume && checkpoint.is_none() {
        return Err(PyValueError::new_err(
            "resume=True needs checkpoint=, the file to go on from",
        ));
    }
    let dataset = dataset.get();
    let config = resolved(dataset, preset, iterations, settings)?;
    if let Some(path) = &checkpoint {
        // Now, not when hours of training are to be saved.
        check_writable(path).map_err(|error| errors::data(&error))?;
    }
    let (mut trainer, backend) = detached(py, || {
        let from = checkpoint.as_ref().filter(|_| resume);
        let mut started = start(&dataset.inner, &config, from, device)?;
        if let Some(path) = &checkpoint {
            started.0.save_to(path);
        }
        Ok(started)
    })?;
    let mut watch = Watch::new(callback, callback_every, &trainer);
    let (outcome, scene, sky) = detached(py, || {
        let outcome = trainer.run(&mut watch);
        let outcome = outcome.map_err(|error| errors::training(&error))?;
        let mut scene = trainer.scene().map_err(|error| errors::training(&error))?;
        // Pictures do not show them, and no file would take them.
        scene.drop_unsound();
        let sky = trainer.sky().map_err(|error| errors::training(&error))?;
        Ok((outcome, scene, sky))
    })?;
    let run = TrainedRun {
        scene: Py::new(py, Scene::of(scene, config.scene.antialias, sky))?,
        steps: trainer.step(),
        seconds: trainer.seconds(),
        finished: outcome == Outcome::Finished,
        loss: trainer.loss(),
        curve: trainer
            .curve()
            .iter()
            .map(|point| (point.step, point.loss, point.gaussians, point.seconds))
            .collect(),
        backend: backend.to_owned(),
        config: config.to_toml().map_err(|error| errors::config(&error))?,
    };
    py.detach(|| drop(trainer));
    match watch.raised {
        None => Ok(run),
        Some(raised) => Err(interrupted(py, raised, run)?),
    }
}

/// What Python raised in the middle of a run: Ctrl-C with what was learned.
fn interrupted(py: Python<'_>, raised: PyErr, run: TrainedRun) -> PyResult<PyErr> {
    if !raised.is_instance_of::<PyKeyboardInterrupt>(py) {
        return Ok(raised);
    }
    let message = format!(
        "interrupted after step {}; what was learned is in the attribute run",
        run.steps
    );
    let error = TrainingInterrupted::new_err(message);
    error.value(py).setattr("run", Py::new(py, run)?)?;
    error.set_cause(py, Some(raised));
    Ok(error)
}

/// A trainer at the first step, or where the checkpoint left off, and the backend's name.
fn start(
    dataset: &splatcore::data::dataset::Dataset,
    config: &ResolvedConfig,
    checkpoint: Option<&PathBuf>,
    device: Option<usize>,
) -> PyResult<(Trainer, &'static str)> {
    let failed = |error: TrainError| errors::training(&error);
    let options = Options {
        deterministic: config.compute.deterministic,
        device,
        moments: match config.compute.moments {
            config::Moments::Full => Moments::Full,
            config::Moments::Compact => Moments::Compact,
            config::Moments::Second => Moments::Second,
            config::Moments::Small => Moments::Small,
        },
        offload: true,
        ..Options::default()
    };
    let backend = open(config.compute.backend, config.compute.threads, options)?;
    let state = match checkpoint {
        Some(path) => Some(Checkpoint::load(path).map_err(|error| errors::data(&error))?),
        None => None,
    };
    let views = load(dataset, config)?;
    let tracks = match config.poses.refine {
        true => dataset
            .tracks(&*views)
            .map_err(|error| errors::data(&error))?,
        false => Vec::new(),
    };
    let mut trainer = match state {
        Some(state) => Trainer::resume(config, &*backend, views, state).map_err(failed)?,
        None => {
            let extent = camera::extent(views.iter().map(|view| &view.camera));
            let points = &dataset.points;
            let (positions, colours) = (&points.positions, &points.colours);
            let start =
                on_all_cores(|| init::from_points(positions, colours, config, extent)).gaussians;
            Trainer::new(config, &*backend, views, start).map_err(failed)?
        }
    };
    if !tracks.is_empty() {
        trainer.hold_poses_by(tracks).map_err(failed)?;
    }
    Ok((trainer, backend.name()))
}

/// The photos to train on. Ctrl-C is heard between some of them.
fn load(
    dataset: &splatcore::data::dataset::Dataset,
    config: &ResolvedConfig,
) -> PyResult<Arc<Vec<View>>> {
    let indices = dataset.select(Split::Train, config.data.test_every as usize);
    let options = config.load_options();
    let mut views = Vec::with_capacity(indices.len());
    for some in indices.chunks(LOADED_AT_ONCE) {
        let loaded = on_all_cores(|| dataset.load_fitting(some, &options, &|_, _| {}));
        let (loaded, warnings) = loaded.map_err(|error| errors::data(&error))?;
        views.extend(loaded);
        Python::attach(|py| {
            let mut warnings = warnings.iter();
            warnings.try_for_each(|warning| warn(py, warning))?;
            py.check_signals()
        })?;
    }
    Ok(Arc::new(views))
}
