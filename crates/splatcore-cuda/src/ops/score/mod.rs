//! `score`: how much each Gaussian shows in bad pixels, and in all.

use super::sources;
use crate::device::{Buffer, Program};

/// [`splatcore_core::backend::Scores`] on the device.
pub struct DeviceScores {
    /// Views that were scored.
    pub views: usize,
    /// `[n]` f32
    pub bad: Buffer,
    /// `[n]` f32
    pub weight: Buffer,
    /// `[n]` f32
    pub largest: Buffer,
}

/// `error_range`, `error_mask` and `add_scores`.
pub fn program() -> Program {
    sources::program(
        "score.cu",
        vec![],
        &["error_range", "error_mask", "add_scores"],
    )
}
