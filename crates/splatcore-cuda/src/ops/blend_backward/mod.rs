//! `blend_backward`: from a pixel's gradient to sums for each (tile, splat) pair or splat;
//! `sum_pairs` and `gather_sums`: from either to a row of sums for each splat.

use super::constants::{PART, WARP, flag, part};
use super::sources::program;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use splatcore_core::BackendError;
use splatcore_core::pipeline::Backward;
use splatcore_core::semantics::TILE;

kernel_params! {
    /// Parameters of every `blend_backward` (blend_backward.cuh).
    pub struct BlendBackwardParams {
        splats: Address,
        pairs: Address,
        pair_splats: Address,
        ranges: Address,
        camera: KernelCamera,
        counters: Address,
        image: Address,
        gradient: Address,
        sums: Address,
        splat_capacity: u32,
        pair_sums: Address,
        bucket_tiles: Address,
        checkpoints: Address,
        stops: Address,
    }

    /// Parameters of `sum_pairs` (sum_pairs.cu).
    pub struct SumPairsParams {
        order: Address,
        long_splats: Address,
        first_pairs: Address,
        tile_counts: Address,
        pair_sums: Address,
        splats: Address,
        counters: Address,
        sums: Address,
    }

    /// Parameters of `gather_sums` (gather_sums.cu).
    pub struct GatherSumsParams {
        from: Address,
        splat_capacity: u32,
        counters: Address,
        sums: Address,
    }
}

/// Bytes of a row of sums. What `atomic` and its kin add to takes less.
pub const SUM_BYTES: usize = 48;
/// Splats of a bucket of `gaussian-parallel`, and threads of its blocks.
const BUCKET: usize = WARP;
/// Bytes of a tile's pixels in the checkpoint of a bucket.
pub const CHECKPOINT_BYTES: usize = 16 * TILE * TILE;
/// Threads of a block of the other methods, which blend a tile.
const BLOCK: u32 = (TILE * TILE) as u32;

/// `blend_backward`.
pub fn blend_backward(backward: Backward) -> Program {
    let block = ("BLOCK", BLOCK.to_string());
    let aggregate = |number: u8| vec![block.clone(), ("AGGREGATE", number.to_string())];
    let (root, constants) = match backward {
        Backward::Atomic => ("blend_backward_atomic.cu", aggregate(0)),
        Backward::WarpReduce => ("blend_backward_atomic.cu", aggregate(1)),
        Backward::WarpReduceSkip => ("blend_backward_atomic.cu", aggregate(2)),
        Backward::PlainAdd => ("blend_backward_atomic.cu", aggregate(3)),
        // A warp a bucket.
        Backward::GaussianParallel => ("blend_backward_gaussian_parallel.cu", vec![]),
        Backward::Subtile => ("blend_backward_subtile.cu", vec![block]),
        Backward::Splatcore => ("blend_backward_splatcore.cu", vec![block, part()]),
    };
    program(
        root,
        constants,
        [BlendBackwardParams::kernel("blend_backward")],
    )
}

/// Whether a method writes a row of sums for each (tile, splat) pair, and with that has the same
/// bits in every run.
pub fn has_pair_rows(backward: Backward) -> bool {
    matches!(
        backward,
        Backward::GaussianParallel | Backward::Subtile | Backward::Splatcore
    )
}

/// `sum_pairs` and `sum_long_pairs`; also of the pairs' absolute values if `absolute`.
pub fn sum_pairs(absolute: bool) -> Program {
    let constants = vec![flag("ABSOLUTE", absolute)];
    program(
        "sum_pairs.cu",
        constants,
        [
            SumPairsParams::kernel("sum_pairs"),
            SumPairsParams::kernel("sum_long_pairs"),
        ],
    )
}

/// `gather_sums`, for methods without a row for each pair.
pub fn gather_sums() -> Program {
    let kernels = [GatherSumsParams::kernel("gather_sums")];
    program("gather_sums.cu", vec![], kernels)
}

#[cfg(test)]
mod tests;

/// Splats of the buckets that a method takes, with the state of the pixels in front of each, if it
/// does: those of a tile's list are then differentiated side by side.
pub fn bucket(method: Backward) -> Option<usize> {
    match method {
        Backward::GaussianParallel => Some(BUCKET),
        Backward::Splatcore => Some(PART),
        _ => None,
    }
}

/// Buckets that a view's lists can have, and blocks of a method that takes some; see
/// blend_backward_gaussian_parallel.cu and blend_backward_splatcore.cu.
pub fn buckets(method: Backward, pair_capacity: usize, view: &KernelCamera) -> usize {
    bucket(method).map_or(0, |splats| pair_capacity / splats) + view.tile_count()
}

/// From the gradient of the image to the sums of pairs or of splats.
///
/// # Errors
/// If the launch failed.
pub fn launch(
    queue: &Queue,
    kernel: Kernel,
    method: Backward,
    pair_capacity: usize,
    params: &BlendBackwardParams,
) -> Result<(), BackendError> {
    let view = &params.camera;
    let threads = match method {
        Backward::GaussianParallel => BUCKET as u32,
        _ => BLOCK,
    };
    let blocks = buckets(method, pair_capacity, view);
    queue.launch(kernel, blocks as u32, threads, params)
}

/// From the sums of pairs to those of at most `splats` splats; `long_blocks` blocks for the
/// long-list queue.
///
/// # Errors
/// If a launch failed.
pub fn launch_sum_pairs(
    queue: &Queue,
    [sum_pairs, sum_long_pairs]: [Kernel; 2],
    (splats, long_blocks): (usize, u32),
    params: &SumPairsParams,
) -> Result<(), BackendError> {
    let (block, lanes) = (sum_pairs.tuned("BLOCK")?, sum_pairs.tuned("LANES")?);
    let blocks = (splats as u32).div_ceil(block / lanes);
    queue.launch(sum_pairs, blocks, block, params)?;
    queue.launch(sum_long_pairs, long_blocks, block, params)
}

/// From what `atomic` and its kin added up to a row for each of at most `splats` splats.
///
/// # Errors
/// If the launch failed.
pub fn launch_gather_sums(
    queue: &Queue,
    kernel: Kernel,
    splats: usize,
    params: &GatherSumsParams,
) -> Result<(), BackendError> {
    let block = kernel.tuned("BLOCK")?;
    queue.launch(kernel, (splats as u32).div_ceil(block), block, params)
}
