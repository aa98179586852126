//! The directions from cameras to Gaussians: launches directions.cu.

#[cfg(test)]
mod tests;

use super::slice::optional;
use super::{BLOCK, Bools, Floats, Ints, OnStream, word};
use crate::device::Program;
use crate::device::error::device_error;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `directions` (directions.cu).
    pub struct DirectionsParams {
        means: Address,
        viewmats: Address,
        radii: Address,
        batches: u32,
        cameras: u32,
        gaussians: u32,
        dirs: Address,
        masks: Address,
    }
}

/// What [`forward`] launches.
pub(super) fn program() -> Program {
    sources::program(
        "directions.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [DirectionsParams::kernel("directions")],
    )
}

/// Gaussians and cameras.
#[derive(Clone, Copy, Debug)]
pub struct Views {
    /// B.
    pub batches: usize,
    /// C.
    pub cameras: usize,
    /// N.
    pub gaussians: usize,
    /// `[B, N, 3]`, in the world.
    pub means: Floats,
    /// `[B, C, 4, 4]`, world to camera.
    pub viewmats: Floats,
    /// `[B, C, N, 2]`, pixels.
    pub radii: Option<Ints>,
}

/// Writes a mean less its camera's centre, `[B, C, N, 3]`, and whether both radii are positive,
/// `[B, C, N]`.
///
/// # Errors
/// If lengths do not agree, there are masks but no radii, or the device failed.
pub fn forward(
    on: &OnStream,
    views: &Views,
    dirs: Floats,
    masks: Option<Bools>,
) -> Result<(), BackendError> {
    let cameras = views.batches * views.cameras;
    let rows = cameras * views.gaussians;
    if masks.is_some() && views.radii.is_none() {
        return Err(device_error("masks need radii, but there are none".into()));
    }
    let params = DirectionsParams {
        means: views
            .means
            .with_len("means", 3 * views.batches * views.gaussians)?,
        viewmats: views.viewmats.with_len("viewmats", 16 * cameras)?,
        radii: optional(views.radii, "radii", 2 * rows)?,
        batches: word("the number of batches", views.batches)?,
        cameras: word("the number of cameras", views.cameras)?,
        gaussians: word("the number of Gaussians", views.gaussians)?,
        dirs: dirs.with_len("dirs", 3 * rows)?,
        masks: optional(masks, "masks", rows)?,
    };
    on.launch_one(&program(), rows.div_ceil(BLOCK as usize), BLOCK, &params)
}
