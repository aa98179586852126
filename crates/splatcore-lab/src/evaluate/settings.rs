//! What is judged, and how.

use crate::gates::result::Wanted;
use crate::timing::Plan;
use crate::worker::Limits;
use splatcore_core::Pipeline;

/// What is judged.
pub struct Settings {
    /// The pipeline.
    pub pipeline: Pipeline,
    /// Whether the backward pass counts.
    pub training: bool,
    /// Files that may be changed.
    pub files: Vec<String>,
    /// Seed of the test scenes and of the order of frames.
    pub seed: u64,
    /// Scenes to look at besides: counterexamples of a second model.
    pub more: Vec<Wanted>,
    /// How sure a verdict is.
    pub plan: Plan,
    /// How long a worker may take.
    pub limits: Limits,
}
