//! Every program of the crate, and those that releases carry compiled.

use crate::device::Program;
use crate::{ops, tensors};

/// Every program in every variant, for the check that all of them compile.
pub fn all_programs() -> Vec<Program> {
    let mut all = ops::all_programs();
    all.extend(tensors::programs());
    all
}

/// The programs that releases carry compiled: those of the default pipeline, and those of functions
/// on tensors.
pub fn built_in_programs() -> Vec<Program> {
    let mut all = ops::built_in_programs();
    all.extend(tensors::programs());
    all
}
