//! What happens beside the training: the caller's callback, and Ctrl-C.

use crate::camera::Camera;
use crate::errors;
use crate::process::{Home, detached};
use crate::render::options_of;
use crate::rendering::Rendering;
use pyo3::prelude::*;
use splatcore::core::Renderer;
use splatcore::core::backend::{Learner, RenderOptions};
use splatcore::core::with_depth::render_with_depth;
use splatcore::train::{Observer, Progress, Signal, Trainer};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Python is asked for Ctrl-C when this much time has passed since the last time.
const LISTEN_EVERY: Duration = Duration::from_millis(20);

/// A run in the middle, as a callback sees it. Rendering and stopping are for the duration of the
/// callback; the numbers stay.
#[pyclass(frozen, module = "splatcore")]
pub struct TrainingState {
    /// Steps taken.
    #[pyo3(get)]
    step: u32,
    /// Steps of the whole run.
    #[pyo3(get)]
    iterations: u32,
    /// Smoothed loss; sampled at the first step, at every 50th, and at the last.
    #[pyo3(get)]
    loss: f64,
    /// Number of Gaussians.
    #[pyo3(get)]
    count: usize,
    /// Seconds trained, without the time of callbacks.
    #[pyo3(get)]
    seconds: f64,
    live: Arc<Live>,
    home: Home,
    options: RenderOptions,
}

#[pymethods]
impl TrainingState {
    /// Renders the scene as it is. ``background`` is the run's unless given.
    #[pyo3(signature = (camera, *, background=None, depth=false))]
    fn render(
        &self,
        py: Python<'_>,
        camera: &Bound<'_, Camera>,
        background: Option<&Bound<'_, PyAny>>,
        depth: bool,
    ) -> PyResult<Rendering> {
        // Before the lock, which no thread of a forked child would ever let go.
        self.home.check("TrainingState")?;
        let mut options = self.options.clone();
        if background.is_some() {
            options.background = options_of(background, "auto", None)?.background;
        }
        let camera = &camera.get().camera;
        let rendered = detached(py, || {
            let renderer = self.live.renderer.lock();
            let mut renderer = renderer.unwrap_or_else(PoisonError::into_inner);
            let renderer = renderer.as_mut().ok_or_else(|| {
                errors::Error::new_err("this state is of a callback that has returned")
            })?;
            // SAFETY: `Watch::look` put it there, and takes it away under this lock before the
            // renderer goes back to the run.
            let renderer = unsafe { &mut *renderer.0 };
            let rendered = render_with_depth(renderer, camera, &options, depth);
            rendered.map_err(|error| errors::backend(&error))
        })?;
        Rendering::of(py, rendered)
    }

    /// Ends the run after this step: ``train`` returns what was learned.
    fn stop(&self) {
        self.live.stop.store(true, Ordering::Relaxed);
    }

    fn __repr__(&self) -> String {
        format!(
            "<splatcore.TrainingState at step {} of {}, loss {:.4}, {} Gaussians>",
            self.step, self.iterations, self.loss, self.count
        )
    }
}

/// What a callback may touch while it runs.
#[derive(Default)]
struct Live {
    renderer: Mutex<Option<Borrowed>>,
    stop: AtomicBool,
}

/// A renderer that is lent for the duration of a callback.
struct Borrowed(*mut dyn Renderer);

// SAFETY: renderers are `Send`, and this one is only used under a lock.
unsafe impl Send for Borrowed {}

/// The observer of a run.
pub struct Watch {
    callback: Option<Py<PyAny>>,
    every: u32,
    step: u32,
    iterations: u32,
    /// Smoothed loss and seconds trained, as last told.
    loss: f64,
    seconds: f64,
    listened: Instant,
    /// What Python raised, which ended the run.
    pub raised: Option<PyErr>,
}

impl Watch {
    /// Calls `callback` after every so many steps of a run that begins or goes on.
    pub fn new(callback: Option<Py<PyAny>>, every: u32, trainer: &Trainer) -> Self {
        Self {
            callback,
            every,
            step: trainer.step(),
            iterations: trainer.config().iterations,
            loss: trainer.loss().unwrap_or(f64::NAN),
            seconds: trainer.seconds(),
            listened: Instant::now(),
            raised: None,
        }
    }

    fn note(&mut self, result: PyResult<()>) -> Signal {
        match result {
            Ok(()) => Signal::Continue,
            Err(error) => {
                self.raised.get_or_insert(error);
                Signal::Stop
            }
        }
    }
}

impl Observer for Watch {
    fn signal(&mut self) -> Signal {
        self.step += 1;
        if self.listened.elapsed() < LISTEN_EVERY {
            return Signal::Continue;
        }
        let heard = Python::attach(|py| py.check_signals());
        self.listened = Instant::now();
        self.note(heard)
    }

    fn progress(&mut self, progress: &Progress) -> Signal {
        (self.loss, self.seconds) = (progress.loss, progress.seconds);
        self.iterations = progress.iterations;
        Signal::Continue
    }

    fn wants_look(&mut self) -> bool {
        self.callback.is_some() && self.step.is_multiple_of(self.every) && self.raised.is_none()
    }

    fn look(&mut self, step: u32, learner: &mut dyn Learner, options: &RenderOptions) -> Signal {
        let renderer: &mut dyn Renderer = learner;
        let Some(callback) = &self.callback else {
            return Signal::Continue;
        };
        let live = Arc::new(Live::default());
        let state = TrainingState {
            step,
            iterations: self.iterations,
            loss: self.loss,
            count: renderer.count(),
            seconds: self.seconds,
            live: live.clone(),
            home: Home::here(),
            options: options.clone(),
        };
        let lent: *mut (dyn Renderer + '_) = renderer;
        // SAFETY: only the lifetime changes. `Returned` takes the pointer away before this ends.
        let lent: *mut (dyn Renderer + 'static) = unsafe { std::mem::transmute(lent) };
        lend(&live, Some(Borrowed(lent)));
        let returned = Returned(&live);
        let called = Python::attach(|py| callback.call1(py, (state,)).map(drop));
        drop(returned);
        let stopped = live.stop.load(Ordering::Relaxed);
        match self.note(called) {
            Signal::Continue if stopped => Signal::Stop,
            signal => signal,
        }
    }
}

/// Puts a renderer in its place, or takes it away; waits for who is using it.
fn lend(live: &Live, renderer: Option<Borrowed>) {
    *live.renderer.lock().unwrap_or_else(PoisonError::into_inner) = renderer;
}

/// Takes the renderer away at its end.
struct Returned<'a>(&'a Live);

impl Drop for Returned<'_> {
    fn drop(&mut self) {
        lend(self.0, None);
    }
}
