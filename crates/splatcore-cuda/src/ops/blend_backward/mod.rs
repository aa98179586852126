//! `blend_backward`: from a pixel's gradient to sums for each (tile, splat) pair or splat, and
//! `sum_pairs`: from the sums of pairs to the sums of splats.

use super::sources::{flag, program};
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::camera::KernelCamera;
use splatcore_core::pipeline::Backward;

kernel_params! {
    /// Parameters of `blend_backward` (blend_backward_atomic.cu).
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
        pair_sums: Address,
        bucket_tiles: Address,
        checkpoints: Address,
        stops: Address,
    }

    /// Parameters of `sum_pairs` (sum_pairs.cu).
    pub struct SumPairsParams {
        order: Address,
        first_pairs: Address,
        tile_counts: Address,
        pair_sums: Address,
        splats: Address,
        counters: Address,
        sums: Address,
    }

    /// Parameters of `sum_long_pairs` (sum_pairs.cu).
    pub struct SumLongPairsParams {
        long_splats: Address,
        first_pairs: Address,
        tile_counts: Address,
        pair_sums: Address,
        splats: Address,
        counters: Address,
        sums: Address,
    }
}

/// `blend_backward`.
pub fn blend_backward(backward: Backward) -> Program {
    let (root, aggregate) = match backward {
        Backward::Atomic => ("blend_backward_atomic.cu", Some(0)),
        Backward::WarpReduce => ("blend_backward_atomic.cu", Some(1)),
        Backward::WarpReduceSkip => ("blend_backward_atomic.cu", Some(2)),
        Backward::GaussianParallel => ("blend_backward_gaussian_parallel.cu", None),
        Backward::Subtile => ("blend_backward_subtile.cu", None),
        Backward::Splatcore => ("blend_backward_splatcore.cu", None),
    };
    let constants = aggregate.map(|number: u8| ("AGGREGATE", number.to_string()));
    program(
        root,
        constants.into_iter().collect(),
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
            SumLongPairsParams::kernel("sum_long_pairs"),
        ],
    )
}

#[cfg(test)]
mod tests;
