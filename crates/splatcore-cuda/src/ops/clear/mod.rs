//! `clear`: zeroes what a frame counts in.

use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `clear` (clear.cu).
    pub struct ClearParams {
        cleared: Address,
        count: u64,
        counters: Address,
    }
}

/// Threads of a block of `clear`.
const BLOCK: u32 = 256;
/// Bytes that a thread clears at a time.
pub const PIECE_BYTES: usize = 16;

/// `clear`.
pub fn program() -> Program {
    sources::program(
        "clear.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [ClearParams::kernel("clear")],
    )
}

/// Zeroes memory and counters.
///
/// # Errors
/// If the launch failed.
pub fn launch(queue: &Queue, kernel: Kernel, params: &ClearParams) -> Result<(), BackendError> {
    let blocks = params.count.div_ceil(u64::from(BLOCK)).max(1) as u32;
    let most = 2 * queue.device.multiprocessors();
    queue.launch(kernel, blocks.min(most), BLOCK, params)
}
