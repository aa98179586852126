//! Interpolated images: launches ops/blend/blend_interpolated.cu and blend_refined.cu, which say
//! how. They take the place of `splatcore`'s blend in large images with
//! `RenderOptions::interpolate`.

use super::params::BlendParams;
use super::rows::{InferenceRows, inference_block, inference_constants};
use crate::device::params::Params;
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::constants::WARP;
use crate::ops::counters::REFINED_LISTS;
use crate::ops::sources;
use splatcore_core::BackendError;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Blend;

/// Bytes of what such a list says of a tile: where its own list begins and ends, its number, and
/// which of its squares are left.
const REFINED_BYTES: usize = 16;

/// Rows of pixels of a warp of either kernel.
const ROWS: InferenceRows = InferenceRows::Eight;

/// Whether an image with these options is blended so.
pub fn is_interpolated(options: &RenderOptions, rows: InferenceRows) -> bool {
    let asked = options.interpolate && options.pipeline.blend == Blend::Splatcore;
    asked && rows == ROWS && !options.inverse_depth
}

/// `blend_interpolated` and `blend_refined`.
pub fn program() -> Program {
    let kernels = ["blend_interpolated", "blend_refined"].map(BlendParams::kernel);
    sources::program("blend_interpolated.cu", inference_constants(ROWS), kernels)
}

/// Bytes of `BlendParams::refined_tiles`.
pub fn refined_bytes(view: &KernelCamera) -> usize {
    REFINED_LISTS * REFINED_BYTES * view.tile_count()
}

/// Blends an image.
///
/// # Errors
/// If a launch failed.
pub fn launch(queue: &Queue, kernels: &[Kernel], params: &BlendParams) -> Result<(), BackendError> {
    let &[interpolated, refined] = kernels else {
        return Err(wrong_program("interpolated"));
    };
    let tiles = params.camera.tile_count();
    let block = inference_block(Blend::Splatcore, ROWS);
    // A warp a tile, and others that search for long lists before.
    let warps = tiles.div_ceil(interpolated.tuned("SEARCHED")? as usize) + tiles;
    let blocks = warps.div_ceil(block as usize / WARP) as u32;
    queue.launch(interpolated, blocks, block, params)?;
    // Blocks ask for tiles until there are no more.
    let most = refined.tuned("REFINED_BLOCKS")? * queue.device.multiprocessors();
    let resident = most.min(tiles as u32);
    queue.launch(refined, resident, block, params)
}
