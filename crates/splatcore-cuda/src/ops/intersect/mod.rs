//! `intersect`: the (tile, splat) pairs, or (macro-tile, splat) pairs, in depth order.

pub mod macro_tiles;

use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use splatcore_core::BackendError;
use splatcore_core::pipeline::Intersect;

kernel_params! {
    /// Parameters of `expand` (intersect.cu).
    pub struct ExpandParams {
        splats: Address,
        order: Address,
        tile_counts: Address,
        camera: KernelCamera,
        pair_capacity: u32,
        tiles: Address,
        pair_splats: Address,
        pair_numbers: Address,
        first_pairs: Address,
        long_splats: Address,
        states: Address,
        counters: Address,
    }
}

/// Splats of a block of `expand`, and threads.
pub const BLOCK: usize = 256;
/// More pairs than this are refused: the look-back keeps a count in 30 bits.
pub const MAX_PAIRS: u64 = (1 << 30) - 1;

/// `INTERSECT` of ops/shared/footprint.cuh.
pub(super) fn footprint(intersect: Intersect) -> (&'static str, String) {
    let number = match intersect {
        Intersect::Aabb => 0,
        Intersect::AdaptiveRadius => 1,
        Intersect::Snugbox => 2,
        Intersect::Accutile => 3,
        Intersect::Obb => 4,
        Intersect::TileCull => 5,
        Intersect::Exact => 6,
    };
    ("INTERSECT", number.to_string())
}

/// `expand` and `expand_long`.
pub fn program(intersect: Intersect) -> Program {
    sources::program(
        "intersect.cu",
        vec![footprint(intersect), ("BLOCK", BLOCK.to_string())],
        [
            ExpandParams::kernel("expand"),
            ExpandParams::kernel("expand_long"),
        ],
    )
}

/// Writes the (tile, splat) pairs of at most `gaussians` splats in depth order: `expand` those of
/// most splats, `expand_long`, in `long_blocks` blocks, those of the long-list queue.
///
/// # Errors
/// If a launch failed.
pub fn launch(
    queue: &Queue,
    [expand, expand_long]: [Kernel; 2],
    (gaussians, long_blocks): (usize, u32),
    params: &ExpandParams,
) -> Result<(), BackendError> {
    let blocks = gaussians.div_ceil(BLOCK) as u32;
    queue.launch(expand, blocks, BLOCK as u32, params)?;
    queue.launch(expand_long, long_blocks, BLOCK as u32, params)
}
