//! `floaters`: which Gaussians hang in the air before what a view shows.

use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::lens::{KernelLens, LensKind};
use splatcore_core::BackendError;
use splatcore_core::floaters::HIDDEN;

kernel_params! {
    /// Parameters of `floaters` (floaters.cu).
    pub struct FloatersParams {
        means: Address,
        count: u32,
        camera: KernelCamera,
        transmittance: Address,
        inverse_depth: Address,
        share: f32,
        verdicts: Address,
        lens: KernelLens,
    }
}

/// Gaussians of a block, and threads.
const BLOCK: u32 = 256;

/// `floaters`, for cameras of a kind.
pub fn program(lens: LensKind) -> Program {
    sources::program(
        "floaters.cu",
        vec![
            ("BLOCK", BLOCK.to_string()),
            ("HIDDEN", format!("{HIDDEN:?}f")),
            ("LENS", (lens as u8).to_string()),
        ],
        [FloatersParams::kernel("floaters")],
    )
}

/// Adds the verdict of a view to those of the Gaussians.
///
/// # Errors
/// If the launch failed.
pub fn launch(queue: &Queue, kernel: Kernel, params: &FloatersParams) -> Result<(), BackendError> {
    queue.launch(kernel, params.count.div_ceil(BLOCK), BLOCK, params)
}
