//! Columns on the device ([`splatcore_core::columns`]): their rows, what kernels are told of them,
//! and what computes them.

pub mod kernels;
pub mod rows;
mod smoothing;

use super::by_camera::ByCamera;
use super::state::State;
use crate::device::Program;
use crate::device::queue::Queue;
use splatcore_core::BackendError;
use splatcore_core::columns::Column;

/// What computes a column from the cameras.
pub struct Computed {
    /// What `launch` launches, for pinholes alone or also for cameras with a lens.
    pub program: fn(lens: bool) -> Program,
    /// Gives every Gaussian its numbers.
    pub launch: fn(&ByCamera, &Queue, &mut State) -> Result<(), BackendError>,
}

/// What computes a column; `None` of one that learns.
pub fn computed(column: Column) -> Option<Computed> {
    match column {
        Column::Filter => Some(Computed {
            program: smoothing::program,
            launch: smoothing::smooth,
        }),
        Column::Mask => None,
    }
}

/// All programs that compute columns.
pub fn programs() -> impl Iterator<Item = Program> {
    let all = Column::ALL.into_iter().filter_map(computed);
    all.flat_map(|computed| [false, true].map(computed.program))
}
