//! `gather_splats`: what a frame needs whose splats several ranks projected; launches
//! `ops/gather_splats/gather_splats.cu`.

use super::constants::WARP;
use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `count_splats` (gather_splats.cu).
    pub struct CountSplatsParams {
        depths: Address,
        pair_counts: Address,
        splat_order: Address,
        count: u32,
        counters: Address,
    }

    /// Parameters of `agree` (gather_splats.cu).
    pub struct AgreeParams {
        overflowed: Address,
        ranks: u32,
        counters: Address,
    }
}

/// Threads of a block of `count_splats`.
const BLOCK: u32 = 256;

/// `count_splats` and `agree`.
pub fn program() -> Program {
    sources::program(
        "gather_splats.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [
            CountSplatsParams::kernel("count_splats"),
            AgreeParams::kernel("agree"),
        ],
    )
}

/// Counts splats and pairs.
///
/// # Errors
/// If the launch failed.
pub fn launch_count(
    queue: &Queue,
    kernel: Kernel,
    params: &CountSplatsParams,
) -> Result<(), BackendError> {
    queue.launch(kernel, params.count.div_ceil(BLOCK), BLOCK, params)
}

/// Lets every rank know that one has overflowed.
///
/// # Errors
/// If the launch failed.
pub fn launch_agree(
    queue: &Queue,
    kernel: Kernel,
    params: &AgreeParams,
) -> Result<(), BackendError> {
    queue.launch(kernel, 1, WARP as u32, params)
}
