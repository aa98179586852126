//! Several processes that train one scene, each with a card: all take the same steps, and what
//! depends on time or on users is decided by one of them.

use crate::error::TrainError;

/// What happens after a step besides the schedule's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// The run stops, as somebody asked for.
    pub stop: bool,
    /// The run stops, as its time is up.
    pub time_is_up: bool,
    /// The observer looks at the scene.
    pub look: bool,
    /// A checkpoint is due.
    pub save: bool,
    /// It is time to plan where the run ends.
    pub plan: bool,
    /// It is time to look at the quality of held-out photos.
    pub judge: bool,
}

/// Where a run ends, as far as time and quality decide it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct End {
    /// Steps of the whole run, as planned.
    pub iterations: u32,
    /// PSNR of the held-out photos in dB, if it is what was asked for.
    pub reached: Option<f64>,
}

/// The other processes.
pub trait Together: Send {
    /// Whether this is rank 0, which decides for all.
    fn leads(&self) -> bool;
    /// Called after every step by all of them. Rank 0 gives its decision to the others and gets it
    /// back; the others get that of rank 0, whatever theirs is.
    ///
    /// # Errors
    /// [`TrainError::Together`] if a process is gone.
    fn decide(&mut self, step: u32, own: Decision) -> Result<Decision, TrainError>;
    /// Called after a step for which all decided to plan or to judge. Rank 0 gives the end that it
    /// found to the others and gets it back; the others get that of rank 0, whatever theirs is.
    ///
    /// # Errors
    /// As [`Together::decide`].
    fn end(&mut self, step: u32, own: End) -> Result<End, TrainError>;
}
