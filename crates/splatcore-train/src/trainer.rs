//! A training run: how it begins, what it holds, what can be asked of it. The loop is in `steps`,
//! checkpoints are in `save`.

mod end;
mod ends;
mod poses;
mod residuals;
mod save;
mod steps;

pub use ends::Afterwards;
pub use residuals::Residuals;

use crate::breakdown::{Breakdown, Spent};
use crate::budget::Spending;
use crate::checkpoint::Checkpoint;
use crate::clock::{self, Now};
use crate::config::{Config, ResolvedConfig};
use crate::error::{Difference, TrainError};
use crate::intrinsics::{Intrinsics, IntrinsicsState};
use crate::motion::{self, MotionState, Motions};
use crate::observer::CurvePoint;
use crate::poses::{PoseState, Poses};
use crate::saver::Saver;
use crate::schedule::{Schedule, starting_exposures};
use crate::together::Together;
use crate::view_order::ViewOrder;
use crate::view_set::{PhotoSet, usable_views};
use ends::Ends;
use splatcore_core::backend::{Backend, BackendError, RefineReport, RenderOptions};
use splatcore_core::colour::{ColourState, camera_count};
use splatcore_core::sky::Sky;
use splatcore_core::{Gaussians, Learner, Pipeline, Region, View, camera};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
    photos: PhotoSet,
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
    /// Bytes in the host's memory that the observer knows of.
    offloaded: u64,
    /// Queued refinements without a report yet: after which step, and whether users are told.
    queued: VecDeque<(u32, bool)>,
    spent: Spent,
    /// Of a run that refines them.
    poses: Option<Poses>,
    intrinsics: Option<Intrinsics>,
    motion: Option<Motions>,
    /// The sky behind the scene, of a run that learns none.
    given_sky: Option<Arc<Sky>>,
    /// The other processes that train this scene.
    together: Option<Box<dyn Together>>,
    now: Now,
    ends: Ends,
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
        let views = as_read(config, views);
        if init.is_empty() {
            return Err(TrainError::NoGaussians);
        }
        let usable = usable_views(&views)?;
        fits_batch(config, &usable)?;
        let scene = match init.sh_degree == config.scene.sh_degree {
            true => init,
            false => init.with_sh_degree(config.scene.sh_degree),
        };
        let extent = camera::extent(views.iter().map(|view| &view.camera));
        let schedule = Schedule::new(config, extent)
            .with_photos(views.iter(), usable.len())
            .within(views.iter().map(|view| &view.camera))?;
        let mut learner = backend.learner(&scene, Arc::clone(&views))?;
        learner.reserve(schedule.gaussians_in_the_end(0, scene.len()))?;
        for refine in schedule.preparations() {
            learner.refine(&refine)?;
            learner.finish()?; // One of several processes may look before the first step.
        }
        let (now, photos) = (clock::real(), usable.len());
        let poses = posed(config, &views, &usable, extent);
        let intrinsics = seen_through(config, &views);
        let motion = moving(config, &views);
        Ok(Self {
            schedule,
            learner,
            order: ViewOrder::new(usable, config.seed),
            photos: PhotoSet::of(&views),
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
            offloaded: 0,
            queued: VecDeque::new(),
            spent: Spent::default(),
            poses,
            intrinsics,
            motion,
            given_sky: None,
            together: None,
            ends: Ends::new(config, &now, Spending::default(), photos),
            now,
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
        let views = as_read(config, views);
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
        fits_batch(config, &usable)?;
        let photos = PhotoSet::of(&views);
        photos.check(&checkpoint, &usable)?;
        if checkpoint.state.gaussians.is_empty() {
            return Err(TrainError::NoGaussians);
        }
        let extent = camera::extent(views.iter().map(|view| &view.camera));
        let mut learner = backend.learner(&checkpoint.state.gaussians, Arc::clone(&views))?;
        learner.restore(&checkpoint.state)?;
        let left = (checkpoint.poses, checkpoint.intrinsics, checkpoint.motion);
        let Some((poses, intrinsics, motion)) = as_left(config, &views, &usable, extent, left)
        else {
            return mismatch(Difference::Photos, checkpoint.photos, photos.photos);
        };
        let schedule = Schedule::new(config, extent)
            .with_photos(views.iter(), usable.len())
            .within(views.iter().map(|view| &view.camera))?
            .on(checkpoint.course);
        let now = clock::real();
        learner.reserve(schedule.gaussians_in_the_end(checkpoint.step, learner.count()))?;
        let mut trainer = Self {
            schedule,
            learner,
            views,
            photos,
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
            offloaded: 0,
            queued: VecDeque::new(),
            spent: Spent::default(),
            poses,
            intrinsics,
            motion,
            given_sky: None,
            together: None,
            ends: Ends::new(config, &now, checkpoint.spending, usable.len()),
            now,
        };
        trainer.show_cameras()?;
        Ok(trainer)
    }

    /// Lets the photos' exposures start at what is known of them, before the first step of a run
    /// that learns colours: by how many stops each view's photo took more light than the middle
    /// one, `None` where that is unknown. The mean over the views is taken for the scene's.
    ///
    /// # Errors
    /// [`BackendError::Input`] if there are more or fewer than views; what the backend reports.
    pub fn expose(&mut self, noted: &[Option<f32>]) -> Result<(), TrainError> {
        let Some(model) = self.config().loss.colour else {
            return Ok(());
        };
        if noted.len() != self.views.len() {
            let (noted, views) = (noted.len(), self.views.len());
            let problem = format!("exposures of {noted} photos, and there are {views}");
            return Err(BackendError::Input(problem).into());
        }
        let mut state = self.learner.snapshot()?;
        let cameras = camera_count(self.views.iter());
        state.colours = ColourState::exposed(model, &starting_exposures(noted), cameras);
        Ok(self.learner.restore(&state)?)
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

    /// Trains together with other processes, whose backends take steps together. All have the same
    /// settings, views and start, and make the same calls. Only one of them should save.
    pub fn train_together(&mut self, others: Box<dyn Together>) {
        self.together = Some(others);
    }

    /// The Gaussians as they are, for evaluation and export.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn scene(&mut self) -> Result<Gaussians, TrainError> {
        Ok(self.learner.scene()?)
    }

    /// What the training photos ([`Trainer::views`]) and their cameras made of colours; empty if
    /// the run learns no colour model.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn colours(&mut self) -> Result<ColourState, TrainError> {
        Ok(self.learner.colours()?)
    }

    /// The training photos.
    pub fn views(&self) -> &[View] {
        &self.views
    }

    /// The learner as a renderer of the present scene, and how to render it: to evaluate without
    /// another upload. Whatever pipeline trains, quality is measured with [`Pipeline::MEASURED`].
    ///
    /// # Errors
    /// What the backend reports.
    pub fn renderer(
        &mut self,
    ) -> Result<(&mut dyn splatcore_core::Renderer, RenderOptions), TrainError> {
        let options = RenderOptions {
            pipeline: Pipeline::MEASURED,
            sh_degree: self.schedule.config().scene.sh_degree,
            ..self.shown()?
        };
        Ok((&mut *self.learner, options))
    }

    /// The sky as it is; `None` if the run learns none.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn sky(&mut self) -> Result<Option<Sky>, TrainError> {
        match self.schedule.config().sky.learn {
            true => Ok(self.learner.sky()?),
            false => Ok(None),
        }
    }

    /// Lets the scene stand before a sky that stays as it is, in a run that learns none.
    pub fn stand_before(&mut self, sky: Option<Arc<Sky>>) {
        self.given_sky = sky;
    }

    /// How the scene is rendered as it is now, with its sky.
    fn shown(&mut self) -> Result<RenderOptions, TrainError> {
        let learned = self.sky()?.map(Arc::new);
        Ok(RenderOptions {
            sky: learned.or_else(|| self.given_sky.clone()),
            ..self.schedule.render(self.step)
        })
    }

    /// Steps taken, resumed ones included.
    pub fn step(&self) -> u32 {
        self.step
    }

    /// Seconds trained, over all resumes, without measuring.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Smoothed training loss as of the last sample, that of a resumed checkpoint included; `None`
    /// before the first step.
    pub fn loss(&self) -> Option<f64> {
        self.smoothed_loss
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

    /// Where the set of Gaussians grows; `None` for everywhere.
    pub fn region(&self) -> Option<Region> {
        self.schedule.region()
    }

    /// The config; of a run whose end was moved, as it is planned now.
    pub fn config(&self) -> &ResolvedConfig {
        self.schedule.config()
    }
}

/// The poses of the photos, if they are refined.
fn posed(config: &ResolvedConfig, views: &[View], usable: &[u32], extent: f64) -> Option<Poses> {
    let given = || views.iter().map(|view| view.camera.clone()).collect();
    let together = || usable.iter().map(|&view| view as usize).collect();
    let settings = &config.poses;
    let poses = || Poses::new(given(), together(), extent, settings.clone());
    settings.refine.then(poses)
}

/// The intrinsics of the photos' cameras, if they are refined.
fn seen_through(config: &ResolvedConfig, views: &[View]) -> Option<Intrinsics> {
    let given = || {
        views
            .iter()
            .map(|view| view.camera.clone())
            .collect::<Vec<_>>()
    };
    let settings = &config.intrinsics;
    settings
        .refine
        .then(|| Intrinsics::new(&given(), settings.clone()))
}

/// What a checkpoint has of refined cameras, and the cameras as they are with it.
type LeftOff = (
    Option<PoseState>,
    Option<IntrinsicsState>,
    Option<MotionState>,
);
type Refined = (Option<Poses>, Option<Intrinsics>, Option<Motions>);

/// The cameras that are refined, as a checkpoint has them; `None` if that is of other photos.
fn as_left(
    config: &ResolvedConfig,
    views: &[View],
    usable: &[u32],
    extent: f64,
    (poses, intrinsics, motion): LeftOff,
) -> Option<Refined> {
    Some((
        known(
            posed(config, views, usable, extent),
            poses,
            Poses::with_state,
        )?,
        known(
            seen_through(config, views),
            intrinsics,
            Intrinsics::with_state,
        )?,
        known(moving(config, views), motion, Motions::with_state)?,
    ))
}

/// What is refined, as a checkpoint has it; `None` if that is of other photos.
fn known<T, S>(
    fresh: Option<T>,
    state: Option<S>,
    with_state: fn(T, S) -> Option<T>,
) -> Option<Option<T>> {
    match (fresh, state) {
        (Some(fresh), Some(state)) => with_state(fresh, state).map(Some),
        _ => Some(None),
    }
}

/// The views, with a shutter that reads lines where motions are looked for.
fn as_read(config: &ResolvedConfig, mut views: Arc<Vec<View>>) -> Arc<Vec<View>> {
    match config.poses.motion {
        Some(order) if views.iter().any(motion::lacks_shutter) => {
            motion::rolling(Arc::make_mut(&mut views).as_mut_slice(), order.into());
        }
        _ => {}
    }
    views
}

/// The motions of the photos' cameras, if they are looked for.
fn moving(config: &ResolvedConfig, views: &[View]) -> Option<Motions> {
    let motions = || Motions::new(views.iter().map(|view| &view.camera));
    config.poses.motion.map(|_| motions())
}

/// A step takes no photo twice, but where two rounds through the photos meet in it.
fn fits_batch(config: &ResolvedConfig, usable: &[u32]) -> Result<(), TrainError> {
    let (batch, views) = (config.batch.views, usable.len());
    match batch as usize > views {
        true => Err(TrainError::Batch { batch, views }),
        false => Ok(()),
    }
}
