//! `gather_splats`: what a frame needs whose splats several ranks projected; launches
//! `ops/gather_splats/gather_splats.cu`.

use super::constants::WARP;
use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::row_blocks::RowBlocks;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `gather_splats` (gather_splats.cu).
    pub struct GatherSplatsParams {
        shards: Address,
        firsts: Address,
        ranks: u32,
        splats: Address,
        keys: Address,
        depths: Address,
        splat_order: Address,
        counters: Address,
        blocks: RowBlocks,
    }

    /// Parameters of `agree` (gather_splats.cu).
    pub struct AgreeParams {
        overflowed: Address,
        ranks: u32,
        counters: Address,
    }
}

/// Threads of a block of `gather_splats`.
const BLOCK: u32 = 256;

/// `gather_splats` and `agree`.
pub fn program() -> Program {
    sources::program(
        "gather_splats.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [
            GatherSplatsParams::kernel("gather_splats"),
            AgreeParams::kernel("agree"),
        ],
    )
}

/// Makes one frame of the splats of all ranks.
///
/// # Errors
/// If the launch failed.
pub fn launch_gather(
    queue: &Queue,
    kernel: Kernel,
    room: usize,
    params: &GatherSplatsParams,
) -> Result<(), BackendError> {
    // Without any room one thread says that there are no splats.
    let blocks = (room.max(1) as u32).div_ceil(BLOCK);
    queue.launch(kernel, blocks, BLOCK, params)
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
