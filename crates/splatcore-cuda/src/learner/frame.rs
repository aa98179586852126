//! What the calls of a step (`engine.rs`) leave for those after them.

use crate::device::Address;
use crate::ops::camera::KernelCamera;
use splatcore_core::BackendError;

/// What the calls of a step leave for those after them.
#[derive(Default)]
pub(super) struct Frame {
    /// Of the last frame.
    pub camera: Option<KernelCamera>,
    /// The sums of its splats.
    pub sums: Address,
}

impl Frame {
    pub fn camera(&self) -> Result<KernelCamera, BackendError> {
        let nothing = || BackendError::Input("a frame that was not projected".into());
        self.camera.ok_or_else(nothing)
    }
}
