//! How a run tells the outside what it does, and hears when to stop.

use crate::budget::Planned;
use crate::intrinsics::LensChange;
use serde::{Deserialize, Serialize};
use splatcore_core::Camera;
use splatcore_core::backend::{Learner, RefineReport, RenderOptions, Renderer};
use splatcore_data::DataError;

/// Where a run is. Sent every [`crate::trainer::SAMPLE_EVERY`] steps, and in slow runs every
/// [`crate::trainer::TELL_EVERY`].
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Steps taken, resumed ones included.
    pub step: u32,
    /// Steps of the whole run.
    pub iterations: u32,
    /// Smoothed training loss as of the last sample.
    pub loss: f64,
    /// Gaussians now.
    pub gaussians: usize,
    /// Recent speed.
    pub steps_per_second: f64,
    /// Seconds left at the recent speed.
    pub seconds_left: f64,
    /// Seconds trained, over all resumes.
    pub seconds: f64,
    /// The latest refinement: its step and what it did.
    pub last_refine: Option<(u32, RefineReport)>,
}

/// A sample of the training curve, for the report.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct CurvePoint {
    /// Step.
    pub step: u32,
    /// Smoothed training loss.
    pub loss: f64,
    /// Gaussians.
    pub gaussians: u64,
    /// Seconds trained, over all resumes.
    pub seconds: f64,
}

/// An observer's answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signal {
    /// Go on.
    #[default]
    Continue,
    /// Save a checkpoint and return.
    Stop,
}

/// Watches a run. Every method has a default that does nothing.
pub trait Observer {
    /// Asked after every step: must be quick (an atomic flag set by Ctrl-C).
    fn signal(&mut self) -> Signal {
        Signal::Continue
    }
    /// Told now and then; may also stop the run.
    fn progress(&mut self, progress: &Progress) -> Signal {
        let _ = progress;
        Signal::Continue
    }
    /// Called after every `eval-every` steps with the scene as it is, to render and measure
    /// held-out views ([`crate::evaluate()`]). The time it takes is not counted as training.
    fn measure(&mut self, step: u32, renderer: &mut dyn Renderer, options: &RenderOptions) {
        let _ = (step, renderer, options);
    }
    /// Asked after every step whether [`Observer::look`] is wanted: must be quick.
    fn wants_look(&mut self) -> bool {
        false
    }
    /// Called after a step when it is wanted, to render or copy the scene as it is. May take long,
    /// while a user looks at a run that is paused; the time is not counted as training. Looking
    /// changes nothing, so it must not call what makes the learner learn or restore: the run goes
    /// on as if nobody had looked.
    fn look(&mut self, step: u32, learner: &mut dyn Learner, options: &RenderOptions) -> Signal {
        let _ = (step, learner, options);
        Signal::Continue
    }
    /// Something happened that is worth a word.
    fn note(&mut self, event: &Event<'_>) {
        let _ = event;
    }
}

/// What happens beside the steps.
#[derive(Debug)]
pub enum Event<'a> {
    /// A checkpoint was written.
    Saved {
        /// Its step.
        step: u32,
    },
    /// A checkpoint could not be written; training goes on, and the next one is tried in its turn.
    NotSaved(&'a DataError),
    /// The plan of a run with a budget: the first one, and others by which its steps change much.
    Planned(Planned),
    /// These photos' poses came to a limit of what they may change, for the first time.
    PoseLimits {
        /// Names of the photos.
        names: &'a [&'a str],
    },
    /// The intrinsics of these photos, and of all that share them, came to a limit.
    IntrinsicsLimits {
        /// The first photo of each lens.
        names: &'a [&'a str],
    },
    /// The cameras as they are now, before [`Observer::measure`] of a run that refines them.
    Cameras {
        /// Of the training photos.
        trained: &'a [Camera],
        /// What other photos may be seen through ([`LensChange::of`]).
        lenses: &'a [LensChange],
    },
    /// The device's memory is short: so many bytes of parameters and moments now lie in the host's.
    Offloaded {
        /// All that lie there.
        bytes: u64,
    },
    /// The held-out photos have the quality that was asked for.
    Reached {
        /// After this step.
        step: u32,
        /// Their mean PSNR in dB.
        psnr: f64,
        /// The step at which the run now ends.
        end: u32,
    },
}

/// Watches nothing.
impl Observer for () {}
