//! What the calls of a step ([`splatcore_core::backend::take_step`]) leave for each other.

use crate::batch::Batch;
use splatcore_core::{BackendError, Camera};

/// What the calls of a step leave for those after them.
#[derive(Default)]
pub(crate) struct StepBuffers {
    /// Of the last frame, at the step's scale.
    pub camera: Option<Camera>,
    /// Of each frame so far.
    pub losses: Vec<f64>,
    /// Views of the frames, and gradients of the numbers of their photos and cameras, if the plan
    /// learns them.
    pub colours: Vec<(usize, [Vec<f64>; 2])>,
    /// Gradients of the sky's numbers by each frame, if the plan learns it.
    pub skies: Vec<Vec<f64>>,
    /// Of steps of several frames.
    pub batch: Batch,
}

impl StepBuffers {
    /// The mean over the frames of the last step; 0 before any.
    pub fn loss(&self) -> f64 {
        match self.losses.len() {
            0 => 0.0,
            frames => self.losses.iter().sum::<f64>() / frames as f64,
        }
    }

    /// Of the last frame.
    pub fn camera(&self) -> Result<Camera, BackendError> {
        let nothing = || BackendError::Input("a frame that was not projected".into());
        self.camera.clone().ok_or_else(nothing)
    }
}
