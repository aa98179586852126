//! Gradients by way of transmittance and inverse depth; launches `ops/depth_sums/depth_sums.cu`,
//! which says how.

use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `depth_colours` (depth_sums.cu).
    pub struct DepthColoursParams {
        order: Address,
        splats: Address,
        counters: Address,
    }

    /// Parameters of `add_depth_sums` (depth_sums.cu).
    pub struct AddDepthSumsParams {
        order: Address,
        splats: Address,
        of_depth: Address,
        sums: Address,
        counters: Address,
    }
}

/// Splats of a block, and threads.
const BLOCK: u32 = 256;
/// Column of a row of sums that holds dL/dz.
pub const OF_DEPTH: usize = 11;

/// Both kernels.
pub fn program() -> Program {
    let constants = vec![
        ("BLOCK", BLOCK.to_string()),
        ("OF_DEPTH", OF_DEPTH.to_string()),
    ];
    let kernels = [
        DepthColoursParams::kernel("depth_colours"),
        AddDepthSumsParams::kernel("add_depth_sums"),
    ];
    sources::program("depth_sums.cu", constants, kernels)
}

/// Launches either kernel for at most `splats` splats.
///
/// # Errors
/// If the launch failed.
pub fn launch(
    queue: &Queue,
    kernel: Kernel,
    splats: usize,
    params: &impl Params,
) -> Result<(), BackendError> {
    queue.launch(kernel, (splats as u32).div_ceil(BLOCK), BLOCK, params)
}
