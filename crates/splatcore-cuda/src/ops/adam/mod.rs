//! `adam`: from the sums of each splat to new parameters and moments, `project_backward` included.

pub mod kind;
pub mod moments;
pub mod rates;

use super::columns::kernels::{self, COLUMNS, LearnedColumn, ShapeColumns};
use super::constants::flag;
use super::project::{NO_FILTER, harmonics, in_floats, no_depth, with_halves};
use super::sources;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::lens::KernelLens;
use crate::ops::row_blocks::RowBlocks;
use moments::Moments;
use rates::Rates;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `adam` (adam.cu). A name with `_1` or `_2` is the first or second moment.
    pub struct AdamParams {
        means: Address,
        means_1: Address,
        means_2: Address,
        log_scales: Address,
        log_scales_1: Address,
        log_scales_2: Address,
        rotations: Address,
        rotations_1: Address,
        rotations_2: Address,
        opacity_logits: Address,
        opacity_logits_1: Address,
        opacity_logits_2: Address,
        sh: Address,
        sh_1: Address,
        sh_2: Address,
        gradient_sum: Address,
        seen: Address,
        splat_of: Address,
        splats: Address,
        sums: Address,
        shape: ShapeColumns,
        columns: [LearnedColumn; COLUMNS],
        gaussians: Address,
        camera: KernelCamera,
        rates: Rates,
        counters: Address,
        gradients: Address,
        sh_gradients: Address,
        share: f32,
        blocks: RowBlocks,
        lens: KernelLens,
    }
}

/// A constant: 1 takes gradients that were added up.
const SEVERAL_FRAMES: &str = "SEVERAL_FRAMES";

/// `adam`, with the backward pass of projecting in it; `absolute` as for `project_backward`.
pub fn program(in_use: u8, stored: u8, moments: Moments, sparse: bool, absolute: bool) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(in_floats());
    constants.push(flag("COMPACT", moments != Moments::Full));
    constants.push(flag("FIRST_MOMENTS", moments.keeps_first()));
    constants.push(flag("SPARSE", sparse));
    constants.push(flag("ABSOLUTE", absolute));
    constants.extend(rates::constants());
    constants.extend(moments::constants());
    constants.extend(kernels::constants());
    constants.push(flag(SEVERAL_FRAMES, false));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    constants.push(no_depth());
    let program = sources::program("adam.cu", constants, [AdamParams::kernel("adam")]);
    with_halves(program, stored, moments.has_halves(stored))
}

/// `adam` of the gradients that several frames added up.
pub fn of_batch(adam: Program) -> Program {
    adam.with(SEVERAL_FRAMES, 1)
}

/// Steps so many Gaussians, as far as they exist. One block counts the step, also where there are
/// none.
///
/// # Errors
/// If the launch failed.
pub fn launch(
    queue: &Queue,
    kernel: Kernel,
    rows: usize,
    params: &AdamParams,
) -> Result<(), BackendError> {
    let (block, rows) = (kernel.tuned("BLOCK")?, rows as u32);
    queue.launch(kernel, rows.div_ceil(block).max(1), block, params)
}

#[cfg(test)]
mod tests;
