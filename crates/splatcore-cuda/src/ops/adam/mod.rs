//! `adam`: from the sums of each splat to new parameters and moments, `project_backward` included.

pub mod moments;

use super::project::{NO_FILTER, harmonics};
use super::sources::{self, flag};
use crate::device::Program;
use moments::Moments;

/// `adam`, with the backward pass of projecting in it; `absolute` as for `project_backward`.
pub fn program(in_use: u8, stored: u8, moments: Moments, sparse: bool, absolute: bool) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(flag("COMPACT", moments == Moments::Compact));
    constants.push(flag("SPARSE", sparse));
    constants.push(flag("ABSOLUTE", absolute));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    sources::program("adam.cu", constants, &["adam"])
}

#[cfg(test)]
mod tests;
