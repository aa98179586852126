//! How tiles are blended, for images and in training.

pub mod interpolated;
mod methods;
mod params;
mod rows;

pub use params::BlendParams;
pub use rows::{BLEND_BLOCK, InferenceRows, LARGE_IMAGE, inference_block};

use super::constants::flag;
use super::sources::program;
use crate::device::params::Params;
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use rows::{DEPTH, INFERENCE_ROW_BYTES, inference_constants};
use splatcore_core::BackendError;
use splatcore_core::pipeline::Blend;

/// Constants of blends; ops/blend/blend_scalar.cu says what they are.
const COUNT: &str = "COUNT";
const CHECKPOINTS: &str = "CHECKPOINTS";

/// `blend`; counts fragments in place of making an image if `count`, leaves behind what
/// [`Backward::GaussianParallel`] needs if `checkpoints`.
///
/// [`Backward::GaussianParallel`]: splatcore_core::pipeline::Backward::GaussianParallel
pub fn blend(blend: Blend, count: bool, checkpoints: bool) -> Program {
    let method = match count {
        true => methods::of(methods::of(blend).counted_by),
        false => methods::of(blend),
    };
    let mut constants = Vec::new();
    if method.counted_by == blend || count {
        constants.push(flag(COUNT, count));
    }
    if method.has_switches {
        constants.extend([flag(CHECKPOINTS, checkpoints), flag(DEPTH, false)]);
    }
    constants.push(("BLOCK", BLEND_BLOCK.to_string()));
    constants.extend(method.constants);
    program(method.file, constants, [BlendParams::kernel("blend")])
}

/// Whether a method reads `BlendParams::rays`, which `project` then writes. Training has none.
pub fn needs_rays(blend: Blend) -> bool {
    methods::of(blend).reads_rays
}

/// Whether a method writes `BlendParams::stops` of an image: for each pixel the number of splats up
/// to the last that it blended.
pub fn counts_contributors(blend: Blend) -> bool {
    methods::of(blend).counts_contributors
}

/// `blend` of an image that nothing is learned from.
pub fn blend_inference(method: Blend, rows: InferenceRows) -> Program {
    match methods::of(method).own_inference {
        true => {
            let constants = inference_constants(rows);
            program(
                "blend_splatcore_inference.cu",
                constants,
                [BlendParams::kernel("blend")],
            )
        }
        false => blend(method, false, false),
    }
}

/// The same with depth; of the methods that sum depths
/// ([`splatcore_core::pipeline::Method::inverse_depth`]).
pub fn blend_with_inverse_depth(method: Blend, rows: InferenceRows) -> Program {
    blend_inference(method, rows)
        .with(DEPTH, 1)
        .with("ROW_BYTES", INFERENCE_ROW_BYTES[1])
}

/// Blends `lists` lists for inference, with the kernel of [`blend_inference`] or
/// [`blend_with_inverse_depth`].
///
/// # Errors
/// If the launch failed.
pub fn launch_inference(
    queue: &Queue,
    kernel: Kernel,
    (method, rows): (Blend, InferenceRows),
    lists: usize,
    params: &BlendParams,
) -> Result<(), BackendError> {
    queue.launch(kernel, lists as u32, inference_block(method, rows), params)
}

/// Blends `lists` lists with the kernel of [`blend`].
///
/// # Errors
/// If the launch failed.
pub fn launch(
    queue: &Queue,
    kernel: Kernel,
    lists: usize,
    params: &BlendParams,
) -> Result<(), BackendError> {
    queue.launch(kernel, lists as u32, BLEND_BLOCK, params)
}

#[cfg(test)]
mod tests;
