//! `clear`: zeroes what a frame counts in.

use super::sources;
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};

kernel_params! {
    /// Parameters of `clear` (clear.cu).
    pub struct ClearParams {
        cleared: Address,
        count: u64,
        counters: Address,
    }
}

/// `clear`.
pub fn program() -> Program {
    sources::program("clear.cu", vec![], [ClearParams::kernel("clear")])
}
