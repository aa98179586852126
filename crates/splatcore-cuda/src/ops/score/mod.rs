//! `score`: how much each Gaussian shows in bad pixels, and in all; [`visibility`] tells apart what
//! a plain view shows.

pub mod visibility;

use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Buffer, Kernel, Program};
use splatcore_core::BackendError;

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

/// Threads of a block: pixels, or Gaussians.
const BLOCK: u32 = 256;
/// Blocks a multiprocessor of the kernel that walks over pixels.
const BLOCKS_A_MULTIPROCESSOR: u32 = 8;

/// `error_range`, `error_mask` and `add_scores`.
pub fn program() -> Program {
    sources::program(
        "score.cu",
        vec![("BLOCK", BLOCK.to_string())],
        [
            ErrorRangeParams::kernel("error_range"),
            ErrorMaskParams::kernel("error_mask"),
            AddScoresParams::kernel("add_scores"),
        ],
    )
}

/// Widens the range of a view's errors by those of its image.
///
/// # Errors
/// If the launch failed.
pub fn launch_range(
    queue: &Queue,
    kernel: Kernel,
    params: &ErrorRangeParams,
) -> Result<(), BackendError> {
    let most = BLOCKS_A_MULTIPROCESSOR * queue.device.multiprocessors();
    let blocks = params.pixels.div_ceil(BLOCK).min(most);
    queue.launch(kernel, blocks, BLOCK, params)
}

/// Writes which pixels are bad as the gradient of an image.
///
/// # Errors
/// If the launch failed.
pub fn launch_mask(
    queue: &Queue,
    kernel: Kernel,
    params: &ErrorMaskParams,
) -> Result<(), BackendError> {
    queue.launch(kernel, params.pixels.div_ceil(BLOCK), BLOCK, params)
}

/// Adds the sums of at most `gaussians` splats to the scores of their Gaussians.
///
/// # Errors
/// If the launch failed.
pub fn launch_add(
    queue: &Queue,
    kernel: Kernel,
    gaussians: usize,
    params: &AddScoresParams,
) -> Result<(), BackendError> {
    queue.launch(kernel, (gaussians as u32).div_ceil(BLOCK), BLOCK, params)
}
