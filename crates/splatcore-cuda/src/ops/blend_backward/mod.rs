//! `blend_backward`: from a pixel's gradient to sums for each (tile, splat) pair or splat, and
//! `sum_pairs`: from the sums of pairs to the sums of splats.

use super::sources::{flag, program};
use crate::device::Program;
use splatcore_core::pipeline::Backward;

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
    program(root, constants.into_iter().collect(), &["blend_backward"])
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
    program("sum_pairs.cu", constants, &["sum_pairs", "sum_long_pairs"])
}

#[cfg(test)]
mod tests;
