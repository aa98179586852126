//! `visibility`: sums over the fragments of each Gaussian in one view.

use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::sources;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `visibility` (visibility.cu).
    pub struct VisibilityParams {
        splats: Address,
        pairs: Address,
        ranges: Address,
        camera: KernelCamera,
        counters: Address,
        gaussians: u32,
        sums: Address,
    }
}

/// Units of a sum in a transmittance of 1.
pub const UNITS: f64 = (1u64 << 36) as f64;
/// Threads of a block: the pixels of a tile.
const BLOCK: u32 = 256;

/// `visibility`.
pub fn program() -> Program {
    sources::program(
        "visibility.cu",
        vec![
            ("BLOCK", BLOCK.to_string()),
            ("UNITS", format!("{UNITS:.1}f")),
        ],
        [VisibilityParams::kernel("visibility")],
    )
}

/// Adds up the fragments of `tiles` lists.
///
/// # Errors
/// If the launch failed.
pub fn launch(
    queue: &Queue,
    kernel: Kernel,
    tiles: usize,
    params: &VisibilityParams,
) -> Result<(), BackendError> {
    queue.launch(kernel, tiles as u32, BLOCK, params)
}
