//! `strips`: what ranks need that render one frame together; launches `ops/strips/strips.cu`.

use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `divide` (strips.cu).
    pub struct DivideParams {
        ranges: Address,
        tiles: u32,
        first: u32,
        end: u32,
        strip: u32,
        strips: u32,
        forward: Address,
        backward: Address,
        pairs: Address,
        pair_splats: Address,
        keys: Address,
        tile_counts: Address,
        splats: u32,
        counters: Address,
    }

    /// Parameters of `move_rows` (strips.cu).
    pub struct MoveRowsParams {
        groups: Address,
        pairs: Address,
        strip: u32,
        strips: u32,
        room: u32,
        back: u32,
        pair_sums: Address,
        packed: Address,
        wanted: Address,
        counters: Address,
    }

    /// Parameters of `pick_sums` (strips.cu).
    pub struct PickSumsParams {
        sums: Address,
        room: u32,
        first: u32,
        strips: u32,
    }
}

/// Threads of a block.
const BLOCK: u32 = 256;

/// `divide`, `move_rows` and `pick_sums`.
pub fn program() -> Program {
    sources::program(
        "strips.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [
            DivideParams::kernel("divide"),
            MoveRowsParams::kernel("move_rows"),
            PickSumsParams::kernel("pick_sums"),
        ],
    )
}

/// Gives the tiles, at most `pairs` pairs and the splats of a frame to strips.
///
/// # Errors
/// If the launch failed.
pub fn launch_divide(
    queue: &Queue,
    kernel: Kernel,
    pairs: usize,
    params: &DivideParams,
) -> Result<(), BackendError> {
    let most = params.tiles.max(params.splats).max(pairs as u32);
    queue.launch(kernel, most.div_ceil(BLOCK), BLOCK, params)
}

/// Packs the rows that go to others, or puts in place those that came.
///
/// # Errors
/// If the launch failed.
pub fn launch_move(
    queue: &Queue,
    kernel: Kernel,
    params: &MoveRowsParams,
) -> Result<(), BackendError> {
    let blocks = (params.strips - 1) * (3 * params.room).div_ceil(BLOCK);
    queue.launch(kernel, blocks, BLOCK, params)
}

/// Takes each splat's sums from the rank that made them.
///
/// # Errors
/// If the launch failed.
pub fn launch_pick(
    queue: &Queue,
    kernel: Kernel,
    params: &PickSumsParams,
) -> Result<(), BackendError> {
    queue.launch(kernel, (3 * params.room).div_ceil(BLOCK), BLOCK, params)
}
