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
}

/// The other processes.
pub trait Together: Send {
    /// Called after every step by all of them. Rank 0 gives its decision to the others and gets it
    /// back; the others get that of rank 0, whatever theirs is.
    ///
    /// # Errors
    /// [`TrainError::Together`] if a process is gone.
    fn decide(&mut self, step: u32, own: Decision) -> Result<Decision, TrainError>;
}
