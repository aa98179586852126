//! `project_backward`: from the sums of each splat to the gradients of its Gaussian's parameters,
//! and `write_gradients`, which spreads them over the scene's arrays.

use super::constants::flag;
use super::project::{NO_FILTER, harmonics, in_floats, no_depth};
use super::sources::program;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::columns::kernels::ShapeColumns;
use crate::ops::lens::KernelLens;
use crate::ops::row_blocks::RowBlocks;
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `project_backward` (project_backward.cu).
    pub struct ProjectBackwardParams {
        means: Address,
        log_scales: Address,
        rotations: Address,
        opacity_logits: Address,
        sh: Address,
        camera: KernelCamera,
        splats: Address,
        sums: Address,
        counters: Address,
        gradients: Address,
        shape: ShapeColumns,
        visible: Address,
        blocks: RowBlocks,
        lens: KernelLens,
    }

    /// Parameters of `write_gradients` (write_gradients.cu).
    pub struct WriteGradientsParams {
        scene_means: Address,
        splat_of: Address,
        gradients: Address,
        count: u32,
        camera: KernelCamera,
        means: Address,
        log_scales: Address,
        rotations: Address,
        opacity_logits: Address,
        sh: Address,
    }
}

/// Splats of a block of `project_backward`, and threads.
const BLOCK: u32 = 128;
/// Gaussians of a block of `write_gradients`, and threads.
const WRITE_BLOCK: u32 = 256;
/// Bytes of a splat's gradients, which `project_backward` writes.
pub const GRADIENT_BYTES: usize = 64;

/// `project_backward`, which takes the statistic of densification from the pairs' absolute values
/// if `absolute`.
pub fn project_backward(in_use: u8, stored: u8, absolute: bool) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(in_floats());
    constants.push(("BLOCK", BLOCK.to_string()));
    constants.push(flag("ABSOLUTE", absolute));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    constants.push(no_depth());
    program(
        "project_backward.cu",
        constants,
        [ProjectBackwardParams::kernel("project_backward")],
    )
}

/// `write_gradients`.
pub fn write_gradients(in_use: u8, stored: u8) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(("BLOCK", WRITE_BLOCK.to_string()));
    program(
        "write_gradients.cu",
        constants,
        [WriteGradientsParams::kernel("write_gradients")],
    )
}

/// From the sums of at most `splats` splats to the gradients of their Gaussians' parameters.
///
/// # Errors
/// If the launch failed.
pub fn launch(
    queue: &Queue,
    kernel: Kernel,
    splats: usize,
    params: &ProjectBackwardParams,
) -> Result<(), BackendError> {
    queue.launch(
        kernel,
        splats.div_ceil(BLOCK as usize) as u32,
        BLOCK,
        params,
    )
}

/// Spreads the splats' gradients over arrays like the scene's.
///
/// # Errors
/// If the launch failed.
pub fn launch_write(
    queue: &Queue,
    kernel: Kernel,
    params: &WriteGradientsParams,
) -> Result<(), BackendError> {
    let blocks = params.count.div_ceil(WRITE_BLOCK);
    queue.launch(kernel, blocks, WRITE_BLOCK, params)
}
