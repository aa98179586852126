//! `score`: how much each Gaussian shows in bad pixels, and in all.

use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::{Buffer, Program};

kernel_params! {
    /// Parameters of `error_range` (score.cu).
    pub struct ErrorRangeParams {
        image: Address,
        photo: Address,
        mask: Address,
        pixels: u32,
        counters: Address,
        least: Address,
        most: Address,
    }

    /// Parameters of `error_mask` (score.cu).
    pub struct ErrorMaskParams {
        image: Address,
        photo: Address,
        mask: Address,
        pixels: u32,
        threshold: f32,
        counters: Address,
        least: Address,
        most: Address,
        gradient: Address,
    }

    /// Parameters of `add_scores` (score.cu).
    pub struct AddScoresParams {
        splats: Address,
        sums: Address,
        area: f32,
        counters: Address,
        bad: Address,
        weight: Address,
        largest: Address,
    }
}

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
        [
            ErrorRangeParams::kernel("error_range"),
            ErrorMaskParams::kernel("error_mask"),
            AddScoresParams::kernel("add_scores"),
        ],
    )
}
