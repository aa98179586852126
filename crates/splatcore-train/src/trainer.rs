//! The training loop.

use crate::breakdown::{Breakdown, Spent, is_profiled};
use crate::checkpoint::Checkpoint;
use crate::clock::Clock;
use crate::config::{Checkpoints, Config, ResolvedConfig};
use crate::error::{Difference, TrainError};
use crate::observer::{CurvePoint, Observer, Progress, Signal};
use crate::saver::Saver;
use crate::schedule::Schedule;
use crate::view_order::ViewOrder;
use crate::view_set::{photos, usable_views};
use splatcore_core::backend::{Backend, BackendError, Refine, RefineReport, RenderOptions};
use splatcore_core::exposure::Exposure;
use splatcore_core::{Gaussians, Learner, View, camera};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The loss is fetched every so many steps: the device has to be waited for, and then stands idle
/// until it is given work again. A number of steps, not a time, so that the same run always has the
/// same curve.
pub const SAMPLE_EVERY: u32 = 50;
/// Between two samples, progress is told when this much time has passed, with the loss of the last
/// one.
pub const TELL_EVERY: Duration = Duration::from_millis(500);
/// Without `checkpoint-every`, the state is saved when this much time of training has passed since
/// the last save.
pub const SAVE_EVERY: Duration = Duration::from_secs(300);
/// The curve keeps about this many points at most.
pub const CURVE_POINTS: u32 = 500;
/// Weight of a new sample in the smoothed loss, once there are as many as its inverse; before, a
/// plain mean.
const SMOOTHING: f64 = 0.1;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All iterations are done.
    Finished,
    /// The observer asked to stop; a checkpoint was written if there is a path for it.
    Interrupted {
        /// Steps taken.
        step: u32,
    },
    /// The time is up (see [`Trainer::stop_after`]); a checkpoint was written if there is a path
    /// for it.
    TimeLimit {
        /// Steps taken.
        step: u32,
    },
}

/// A run: a learner, where it is in the schedule, and what has been seen of it.
///
/// A checkpoint may be taken after any step; a trainer resumed from it takes the remaining steps
/// bit for bit as this one would have (given the learner's word that it restores bit for bit).
pub struct Trainer {
    schedule: Schedule,
    learner: Box<dyn Learner>,
    views: Arc<Vec<View>>,
    order: ViewOrder,
    backend: String,
    extent: f64,
    step: u32,
    smoothed_loss: Option<f64>,
    samples: u64,
    curve: Vec<CurvePoint>,
    seconds: f64,
    path: Option<PathBuf>,
    time_limit: Option<f64>,
    saver: Saver,
    last_refine: Option<(u32, RefineReport)>,
    /// Refinements of which nothing was heard yet: after which step, and whether users are told.
    unheard: VecDeque<(u32, bool)>,
    spent: Spent,
}

impl Trainer {
    /// A fresh run. `views` are the training photos, `init` the Gaussians to start from (see
    /// [`crate::init`]); they get the config's SH degree.
    ///
    /// # Errors
    /// Wrong settings, no photos, photos that do not fit their cameras, no Gaussians, what the
    /// backend reports.
    pub fn new(
        config: &ResolvedConfig,
        backend: &dyn Backend,
        views: Arc<Vec<View>>,
        init: Gaussians,
    ) -> Result<Self, TrainError> {
        config.check()?;
        if init.is_empty() {
            return Err(TrainError::NoGaussians);
        }
        let usable = usable_views(&views)?;
        let scene = match init.sh_degree == config.scene.sh_degree {
            true => init,
            false => init.with_sh_degree(config.scene.sh_degree),
        };
        let extent = camera::extent(views.iter().map(|view| &view.camera));
        let schedule = Schedule::new(config, extent);
        let mut learner = backend.learner(&scene, Arc::clone(&views))?;
        learner.reserve(schedule.gaussians_in_the_end(0, scene.len()))?;
        if let Some(refine) = schedule.preparations() {
            learner.refine(&refine)?;
        }
        Ok(Self {
            schedule,
            learner,
            order: ViewOrder::new(usable, config.seed),
            views,
            backend: backend.name().to_owned(),
            extent,
            step: 0,
            smoothed_loss: None,
            samples: 0,
            curve: Vec::new(),
            seconds: 0.0,
            path: None,
            time_limit: None,
            saver: Saver::new(None),
            last_refine: None,
            unheard: VecDeque::new(),
            spent: Spent::default(),
        })
    }

    /// Goes on where a checkpoint left off. `config` and `views` must be those of the run that
    /// wrote it, but for [`crate::config::HARMLESS_ON_RESUME`].
    ///
    /// # Errors
    /// [`TrainError::Mismatch`] when they are not, naming the first difference; else as
    /// [`Trainer::new`].
    pub fn resume(
        config: &ResolvedConfig,
        backend: &dyn Backend,
        views: Arc<Vec<View>>,
        checkpoint: Checkpoint,
    ) -> Result<Self, TrainError> {
        config.check()?;
        let mismatch = |what: Difference, checkpoint: String, now: String| {
            Err(TrainError::Mismatch {
                what,
                checkpoint,
                now,
            })
        };
        let before = Config::from_toml(&checkpoint.config, "the checkpoint's config".as_ref())?;
        if let Some((key, old, new)) = before.complete().difference(config)? {
            return mismatch(Difference::Setting(key), old, new);
        }
        if checkpoint.backend != backend.name() {
            let now = backend.name().to_owned();
            return mismatch(Difference::Backend, checkpoint.backend, now);
        }
        let usable = usable_views(&views)?;
        let mut known = checkpoint.order.order.clone();
        known.sort_unstable();
        let photos = photos(&views);
        if checkpoint.photos != photos || known != usable {
            return mismatch(Difference::Photos, checkpoint.photos, photos);
        }
        if checkpoint.state.gaussians.is_empty() {
            return Err(TrainError::NoGaussians);
        }
        let extent = camera::extent(views.iter().map(|view| &view.camera));
        let mut learner = backend.learner(&checkpoint.state.gaussians, Arc::clone(&views))?;
        learner.restore(&checkpoint.state)?;
        let schedule = Schedule::new(config, extent);
        learner.reserve(schedule.gaussians_in_the_end(checkpoint.step, learner.count()))?;
        Ok(Self {
            schedule,
            learner,
            views,
            order: checkpoint.order,
            backend: checkpoint.backend,
            extent,
            step: checkpoint.step,
            smoothed_loss: checkpoint.smoothed_loss,
            samples: checkpoint.samples,
            curve: checkpoint.curve,
            seconds: checkpoint.seconds,
            path: None,
            time_limit: None,
            saver: Saver::new(Some(checkpoint.step)),
            last_refine: None,
            unheard: VecDeque::new(),
            spent: Spent::default(),
        })
    }

    /// Where [`Trainer::run`] saves checkpoints; without it none are saved.
    pub fn save_to(&mut self, path: impl Into<PathBuf>) {
        self.path = Some(path.into());
    }

    /// Ends [`Trainer::run`] at the first step after which [`Trainer::seconds`] has reached this:
    /// seconds trained, over all resumes, without loading and measuring.
    pub fn stop_after(&mut self, seconds: f64) {
        self.time_limit = Some(seconds);
    }

    /// As [`Trainer::run_ahead`], and waits until the last checkpoint is on disk.
    ///
    /// # Errors
    /// As [`Trainer::run_ahead`] and [`Trainer::wait_saved`].
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let outcome = self.run_ahead(observer);
        let saved = self.wait_saved(observer);
        let outcome = outcome?;
        saved.map(|()| outcome)
    }

    /// Takes the remaining steps. For each: the step, then what the schedule refines after it (see
    /// [`Schedule::refinements`]); every [`SAMPLE_EVERY`] steps the loss is sampled. Saves every
    /// `checkpoint-every` steps (or every [`SAVE_EVERY`]), when stopped, and at the end; files are
    /// written while training goes on, and the last one may still be being written when this
    /// returns: [`Trainer::wait_saved`]. May be called again after an interrupt.
    ///
    /// # Errors
    /// [`TrainError::NotFinite`] within [`SAMPLE_EVERY`] steps of the loss becoming infinite or not
    /// a number (nothing is saved then: the last checkpoint is from before), [`TrainError::Empty`]
    /// when every Gaussian was pruned, [`TrainError::Diverged`] when none is finite at a
    /// checkpoint, [`TrainError::OutOfMemory`] (the state is saved, if it still can be had), and
    /// what the backend or the disk report.
    pub fn run_ahead(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let outcome = self.take_steps(observer);
        match outcome {
            Err(TrainError::Backend(error @ BackendError::OutOfMemory { .. })) => {
                Err(self.save_what_there_is(error, observer))
            }
            outcome => outcome,
        }
    }

    fn take_steps(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let config = self.schedule.config().clone();
        let iterations = config.iterations;
        let every = |interval: u32, step: u32| interval > 0 && step.is_multiple_of(interval);
        let curve_every = iterations
            .div_ceil(CURVE_POINTS)
            .next_multiple_of(SAMPLE_EVERY);
        let (begun, first_step) = (Instant::now(), self.step);
        let mut clock = Clock::start(self.seconds, self.step);
        let (mut saved_at, mut told_at) = (self.seconds, self.seconds);
        let mut finite_at = None;
        let mut outcome = Outcome::Finished;
        // A resumed run may have used up its time before.
        let time_is_up = self.time_limit.is_some_and(|limit| self.seconds >= limit);
        if time_is_up && self.step < iterations {
            outcome = Outcome::TimeLimit { step: self.step };
        }
        while self.step < iterations && outcome == Outcome::Finished {
            let step = self.step + 1;
            let view = self.order.next_view().ok_or(TrainError::NoViews)?;
            let plan = self.schedule.plan(step, view);
            // Not the first step of its options, for which kernels may have to be compiled.
            let warm = self.step > first_step
                && RenderOptions {
                    background: plan.render.background,
                    ..self.schedule.render(self.step)
                } == plan.render;
            match warm && is_profiled(step, iterations) {
                true => self.learner.profiled_step(&plan)?,
                false => self.learner.step(&plan)?,
            }
            self.step = step;
            self.hear()?;
            self.refine(step)?;
            self.seconds = clock.seconds();

            let mut signal = observer.signal();
            let last = step == iterations;
            let sample = step == 1 || last || every(SAMPLE_EVERY, step);
            if sample {
                let loss = self.checked_loss(view, finite_at)?;
                finite_at = Some(step);
                self.samples += 1;
                let weight = SMOOTHING.max(1.0 / self.samples as f64);
                let smoothed = self
                    .smoothed_loss
                    .map_or(loss, |old| old + weight * (loss - old));
                self.smoothed_loss = Some(smoothed);
                self.seconds = clock.seconds();
                if step == 1 || last || every(curve_every, step) {
                    self.curve.push(CurvePoint {
                        step,
                        loss: smoothed,
                        gaussians: self.learner.count() as u64,
                        seconds: self.seconds,
                    });
                }
            }
            if sample || self.seconds - told_at >= TELL_EVERY.as_secs_f64() {
                told_at = self.seconds;
                let steps_per_second = clock.rate(step);
                let answer = observer.progress(&Progress {
                    step,
                    iterations,
                    loss: self.smoothed_loss.unwrap_or(f64::NAN),
                    gaussians: self.learner.count(),
                    steps_per_second,
                    seconds_left: (iterations - step) as f64 / steps_per_second.max(1e-9),
                    seconds: self.seconds,
                    last_refine: self.last_refine,
                });
                if answer == Signal::Stop {
                    signal = Signal::Stop;
                }
            }
            let stop = if signal == Signal::Stop {
                Some(Outcome::Interrupted { step })
            } else if self.time_limit.is_some_and(|limit| self.seconds >= limit) {
                Some(Outcome::TimeLimit { step })
            } else {
                None
            };
            let stop = stop.filter(|_| !last);
            let due = match config.saving.checkpoints {
                Checkpoints::EverySteps(interval) => every(interval, step),
                Checkpoints::AtEnd => false,
                Checkpoints::ByTime => self.seconds - saved_at >= SAVE_EVERY.as_secs_f64(),
            };
            if !sample && (stop.is_some() || due) {
                self.checked_loss(view, finite_at)?;
                // The device may have been behind until the loss was there.
                self.seconds = clock.seconds();
            }
            if config
                .saving
                .eval_every
                .is_some_and(|interval| every(interval, step))
            {
                // What the device has still to do is training.
                self.learner.finish()?;
                self.hear()?;
                let pause = Instant::now();
                let options = self.schedule.render(step);
                observer.measure(step, &mut *self.learner, &options);
                let pause = pause.elapsed().as_secs_f64();
                clock.exclude(pause);
                self.spent.evaluation += pause;
            }
            if let Some(stop) = stop {
                outcome = stop;
                break;
            }
            // After the last step the one below is enough.
            if due && !last {
                saved_at = self.seconds;
                self.save(observer)?;
            }
        }
        // A run resumed from its last checkpoint has nothing left to do, but perhaps another place
        // to save to.
        self.save(observer)?;
        if self.step > first_step {
            self.spent.profile.add(self.learner.take_profile()?);
            self.spent.steps += self.step - first_step;
            self.spent.wall += begun.elapsed().as_secs_f64();
        }
        Ok(outcome)
    }

    fn refine(&mut self, step: u32) -> Result<(), TrainError> {
        for refine in self.schedule.refinements(step) {
            let told = !matches!(
                refine,
                Refine::ResetOpacity { .. } | Refine::SmoothingFilter | Refine::LimitScales { .. }
            );
            match self.learner.queue_refine(&refine)? {
                None => self.unheard.push_back((step, told)),
                Some(report) => {
                    self.hear()?;
                    self.heard(step, told, report)?;
                }
            }
        }
        Ok(())
    }

    /// What has become known of refinements since.
    fn hear(&mut self) -> Result<(), TrainError> {
        for report in self.learner.take_reports() {
            if let Some((step, told)) = self.unheard.pop_front() {
                self.heard(step, told, report)?;
            }
        }
        Ok(())
    }

    fn heard(&mut self, step: u32, told: bool, report: RefineReport) -> Result<(), TrainError> {
        if report.count == 0 {
            return Err(TrainError::Empty { step });
        }
        if told {
            self.last_refine = Some((step, report));
        }
        Ok(())
    }

    /// After memory ran out: the state goes to disk if the learner still gives it. A photo of which
    /// the step was left out comes next when the run is resumed; a round of densification that
    /// failed stays undone.
    fn save_what_there_is(
        &mut self,
        error: BackendError,
        observer: &mut dyn Observer,
    ) -> TrainError {
        let sound = self.learner.last_loss().is_ok_and(f64::is_finite);
        for view in self.learner.take_skipped_views().into_iter().rev() {
            self.order.put_back(view);
        }
        let saved = sound
            && self.path.is_some()
            && self.step > 0
            && self.save(observer).is_ok()
            && self.wait_saved(observer).is_ok();
        match saved {
            true => TrainError::OutOfMemory {
                step: self.step,
                source: error,
            },
            false => TrainError::Backend(error),
        }
    }

    /// The loss of the step just taken, on `view`.
    fn checked_loss(&mut self, view: usize, finite_at: Option<u32>) -> Result<f64, TrainError> {
        let loss = self.learner.last_loss()?;
        self.hear()?;
        if loss.is_finite() {
            return Ok(loss);
        }
        Err(TrainError::NotFinite {
            step: self.step,
            view: self
                .views
                .get(view)
                .map_or(String::new(), |view| view.name.clone()),
            loss,
            since: match finite_at {
                Some(step) => format!("it was finite at step {step}"),
                None => "the first one looked at".to_owned(),
            },
        })
    }

    /// Takes a snapshot and starts to write it.
    fn save(&mut self, observer: &mut dyn Observer) -> Result<(), TrainError> {
        let Some(path) = self.path.clone() else {
            return Ok(());
        };
        let start = Instant::now();
        // One at a time: two snapshots and a third in the making would take too much memory.
        match self.wait_saved(observer) {
            // The one that begins now takes its place, and hours of training are worth more than a
            // copy of them.
            Err(TrainError::Data(error)) => observer.not_saved(&error),
            waited => waited?,
        }
        if !self.saver.holds(self.step, &path) {
            let checkpoint = self.checkpoint()?;
            let scene = &checkpoint.state.gaussians;
            if !(0..scene.len()).any(|i| scene.is_sound(i)) {
                return Err(TrainError::Diverged { step: self.step });
            }
            self.saver.start(checkpoint, path);
        }
        self.spent.checkpoint += start.elapsed().as_secs_f64();
        Ok(())
    }

    /// Waits until the checkpoint that is being written, if any, is on disk.
    ///
    /// # Errors
    /// What the disk reports.
    pub fn wait_saved(&mut self, observer: &mut dyn Observer) -> Result<(), TrainError> {
        if let Some(step) = self.saver.wait()? {
            observer.saved(step);
        }
        Ok(())
    }

    /// Everything needed to go on from here.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn checkpoint(&mut self) -> Result<Checkpoint, TrainError> {
        Ok(Checkpoint {
            step: self.step,
            state: self.learner.snapshot()?,
            order: self.order.clone(),
            smoothed_loss: self.smoothed_loss,
            samples: self.samples,
            curve: self.curve.clone(),
            seconds: self.seconds,
            config: self.schedule.config().to_toml()?,
            backend: self.backend.clone(),
            photos: photos(&self.views),
        })
    }

    /// The Gaussians as they are, for evaluation and export.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn scene(&mut self) -> Result<Gaussians, TrainError> {
        Ok(self.learner.scene()?)
    }

    /// Name and transform of colours of each training photo, as the rows of `[A | b]`; none if the
    /// run learns none.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn exposures(&mut self) -> Result<Vec<(String, Exposure)>, TrainError> {
        let transforms = self.learner.exposures()?;
        let names = self.views.iter().map(|view| view.name.clone());
        Ok(names.zip(transforms).collect())
    }

    /// The learner as a renderer of the present scene, and how to render it: to evaluate without
    /// another upload.
    pub fn renderer(&mut self) -> (&mut dyn splatcore_core::Renderer, RenderOptions) {
        let options = RenderOptions {
            sh_degree: self.schedule.config().scene.sh_degree,
            ..self.schedule.render(self.step)
        };
        (&mut *self.learner, options)
    }

    /// Steps taken, resumed ones included.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Seconds trained, over all resumes, without measuring.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The training curve so far.
    pub fn curve(&self) -> &[CurvePoint] {
        &self.curve
    }

    /// Where the time went since this trainer was made; `None` if no step's stages were timed.
    pub fn breakdown(&self) -> Option<Breakdown> {
        Breakdown::new(&self.spent)
    }

    /// Extent of the training cameras in world units.
    pub fn extent(&self) -> f64 {
        self.extent
    }

    /// The config.
    pub fn config(&self) -> &ResolvedConfig {
        self.schedule.config()
    }
}
