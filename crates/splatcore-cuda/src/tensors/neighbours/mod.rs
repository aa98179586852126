//! Distances to the nearest points: launches neighbours.cu.

#[cfg(test)]
mod tests;

use super::{BLOCK, Floats, OnStream, word};
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `neighbours` (neighbours.cu).
    pub struct NeighboursParams {
        points: Address,
        count: u32,
        squared_distance: Address,
    }
}

/// What [`mean_squared_distances`] launches.
pub(super) fn program() -> Program {
    sources::program(
        "neighbours.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [NeighboursParams::kernel("neighbours")],
    )
}

/// Writes for each of `points` `[n, 3]` the mean squared distance to the 3 nearest others, `[n]`.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn mean_squared_distances(
    on: &OnStream,
    points: Floats,
    squared_distance: Floats,
) -> Result<(), BackendError> {
    let count = squared_distance.len();
    let params = NeighboursParams {
        points: points.with_len("points", 3 * count)?,
        count: word("the number of points", count)?,
        squared_distance: squared_distance.address(),
    };
    on.launch_one(&program(), count.div_ceil(BLOCK as usize), BLOCK, &params)
}
