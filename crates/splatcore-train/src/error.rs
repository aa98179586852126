//! What can stop a training run.

use crate::config::ConfigError;
use splatcore_core::BackendError;
use splatcore_data::DataError;
use std::fmt;

/// What can stop a training run or its start.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The backend failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A file could not be read or written.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// There is nothing to learn from.
    #[error("no photo to train on: all are held out, or their masks leave no pixel")]
    NoViews,
    /// A step wants more photos than there are.
    #[error("a step of {batch} photos, and there are {views} to train on")]
    Batch {
        /// Photos of a step.
        batch: u32,
        /// Photos to train on.
        views: usize,
    },
    /// A quality is asked for, and there are no photos on which it could be seen.
    #[error("no photo is held out, so that nothing tells when the quality is reached")]
    NothingHeldOut,
    /// There is nothing to start from.
    #[error("no Gaussian to start from: the starting points are empty or none of them is finite")]
    NoGaussians,
    /// A photo that does not fit its camera.
    #[error("view '{view}': {problem}")]
    View {
        /// Name of the view.
        view: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The loss is infinite or not a number.
    #[error(
        "the loss is {loss} at step {step} (view '{view}'), {since}; the last checkpoint is kept: \
         resume from it, \
         with lower learning rates if it happens again"
    )]
    NotFinite {
        /// Step of the loss.
        step: u32,
        /// View of that step.
        view: String,
        /// The loss.
        loss: f64,
        /// When it was last seen to be finite.
        since: String,
    },
    /// No Gaussian is finite. Such show nothing, so that the loss may well be.
    #[error(
        "training has diverged: at step {step} no Gaussian is finite any more; start anew with \
         lower learning rates (an \
         older checkpoint, if there is one, is kept)"
    )]
    Diverged {
        /// Steps taken.
        step: u32,
    },
    /// A refinement pruned the last Gaussian.
    #[error("no Gaussian is left after the refinement at step {step}")]
    Empty {
        /// Step of the refinement.
        step: u32,
    },
    /// Memory ran out, or a photo could not be read; a checkpoint was saved.
    #[error("{source}; the state after step {step} is saved")]
    Saved {
        /// Steps taken.
        step: u32,
        /// What stopped the run.
        source: BackendError,
    },
    /// Another process that trains the scene is gone, or says that it cannot go on.
    #[error("{0}")]
    Together(String),
    /// A checkpoint of another run.
    #[error("cannot resume: {what} was {checkpoint} in the checkpoint and is {now} now")]
    Mismatch {
        /// What differs.
        what: Difference,
        /// Its value in the checkpoint.
        checkpoint: String,
        /// Its value in this run.
        now: String,
    },
}

/// What differs between a checkpoint and the run that is to go on from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The setting of this key.
    Setting(String),
    /// The backend in use.
    Backend,
    /// The set of training photos.
    Photos,
    /// Their cameras.
    Cameras,
    /// Their pixels or masks.
    Pixels,
    /// Their depth maps.
    Depths,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Setting(key) => key,
            Self::Backend => "the backend in use",
            Self::Photos => "the set of training photos",
            Self::Cameras => "the hash of the training photos' cameras",
            Self::Pixels => "the hash of the training photos' pixels and masks",
            Self::Depths => "the hash of the training photos' depth maps",
        })
    }
}
