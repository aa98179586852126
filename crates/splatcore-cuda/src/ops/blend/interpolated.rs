//! `samples`: launches ops/blend/blend_interpolated.cu and blend_refined.cu, which say how: the
//! blend of large images.

use super::BlendParams;
use super::{InferenceRows, inference_block, inference_constants};
use crate::device::params::Params;
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::sources;
use bytemuck::Zeroable;
use splatcore_core::BackendError;
use splatcore_core::pipeline::Blend;

/// Blocks of `blend_refined` that a multiprocessor holds (REFINED_BLOCKS).
const RESIDENT: u32 = 7;
/// Lanes of a warp.
const WARP: usize = 32;
/// Tiles that the first warps of `blend_interpolated` look at.
const SEARCHED: usize = 4;
/// Lists of tiles that are left to `blend_refined`: one for each class of lengths, and one of tiles
/// without splats (REFINED_LISTS).
pub const REFINED_LISTS: usize = 9;
/// Bytes of what such a list says of a tile: where its own list begins and ends, its number, and
/// which of its squares are left.
const REFINED_BYTES: usize = 16;

/// Whether a image of a method, without depth, is blended so.
pub fn is_interpolated(method: Blend, rows: InferenceRows) -> bool {
    method == Blend::Samples && rows == InferenceRows::Eight
}

/// `blend_interpolated` and `blend_refined`, of large images of [`Blend::Samples`].
pub(super) fn program(rows: InferenceRows) -> Program {
    let kernels = ["blend_interpolated", "blend_refined"].map(BlendParams::kernel);
    sources::program("blend_interpolated.cu", inference_constants(rows), kernels)
}

/// Bytes of [`Buffers::rough`].
pub fn refined_bytes(view: &KernelCamera) -> usize {
    REFINED_LISTS * REFINED_BYTES * view.tile_count()
}

/// Addresses of what the kernels read and write.
#[derive(Clone, Copy)]
pub struct Buffers {
    /// The splats.
    pub splats: u64,
    /// The tiles' lists.
    pub tile_lists: u64,
    /// Where each of them is, as a sort notes it.
    pub ranges: u64,
    /// The counters.
    pub counters: u64,
    /// Planar rgb, f32.
    pub image: u64,
    /// f32 a pixel.
    pub transmittances: u64,
    /// Tiles that are left to `blend_refined`, [`refined_bytes`].
    pub refined_tiles: u64,
}

/// Blends a image.
///
/// # Errors
/// If the launch failed.
pub fn blend(
    queue: &Queue,
    kernels: &[Kernel],
    view: &KernelCamera,
    at: Buffers,
) -> Result<(), BackendError> {
    let &[samples, refined_tiles] = kernels else {
        return Err(wrong_program("samples"));
    };
    let tiles = view.tile_count();
    let block = inference_block(Blend::Samples, InferenceRows::Eight);
    // A warp a tile, and others that look for long lists before.
    let warps = tiles.div_ceil(SEARCHED) + tiles;
    queue.launch(
        samples,
        warps.div_ceil(block as usize / WARP) as u32,
        block,
        &BlendParams {
            splats: at.splats,
            pairs: at.tile_lists,
            ranges: at.ranges,
            camera: *view,
            counters: at.counters,
            image: at.image,
            transmittances: at.transmittances,
            refined_tiles: at.refined_tiles,
            ..BlendParams::zeroed()
        },
    )?;
    // Blocks ask for tiles until there are no more.
    let resident = (RESIDENT * queue.device.multiprocessors()).min(tiles as u32);
    queue.launch(
        refined_tiles,
        resident,
        block,
        &BlendParams {
            splats: at.splats,
            pairs: at.tile_lists,
            camera: *view,
            counters: at.counters,
            image: at.image,
            transmittances: at.transmittances,
            refined_tiles: at.refined_tiles,
            ..BlendParams::zeroed()
        },
    )
}
