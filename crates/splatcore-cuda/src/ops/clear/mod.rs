//! `clear`: zeroes what a frame counts in.

use super::sources;
use crate::device::Program;

/// `clear`.
pub fn program() -> Program {
    sources::program("clear.cu", vec![], &["clear"])
}
