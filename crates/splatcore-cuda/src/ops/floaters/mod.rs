//! `floaters`: which Gaussians hang in the air before what a view shows.

use super::sources;
use crate::device::Program;
use splatcore_core::floaters::HIDDEN;

/// `floaters`.
pub fn program() -> Program {
    sources::program(
        "floaters.cu",
        vec![("HIDDEN", format!("{HIDDEN:?}f"))],
        &["floaters"],
    )
}
