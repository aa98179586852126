//! `samples`: launches kernels/blend_samples.cu and blend_rough.cu, which say how: the blend of large pictures.

use crate::camera::KernelCamera;
use crate::device::Kernel;
use crate::launch::{Queue, arguments, wrong_program};
use crate::programs::{self, PictureRows};
use splatcore_core::BackendError;
use splatcore_core::pipeline::Blend;

/// Blocks of either kernel that a multiprocessor holds (SAMPLES_BLOCKS and ROUGH_BLOCKS).
const RESIDENT: u32 = 7;
/// Tiles that a block of either has at a time.
const TILES: [usize; 2] = [4, 1];

/// Whether a picture of a method, without depth, is blended so.
pub fn is_sampled(method: Blend, rows: PictureRows) -> bool {
    method == Blend::Samples && rows == PictureRows::Eight
}

/// Bytes of [`Buffers::rough`].
pub fn rough_bytes(view: &KernelCamera) -> usize {
    4 * view.tile_count()
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
    /// Tiles that are left to `blend_rough`, [`rough_bytes`].
    pub rough: u64,
}

/// Blends a picture.
///
/// # Errors
/// If the launch failed.
pub fn blend(
    queue: &Queue,
    kernels: &[Kernel],
    view: &KernelCamera,
    at: Buffers,
) -> Result<(), BackendError> {
    if kernels.len() != TILES.len() {
        return Err(wrong_program("samples"));
    }
    // Blocks ask for tiles until there are no more.
    let resident = RESIDENT * queue.device.multiprocessors();
    let block = programs::picture_block(Blend::Samples, PictureRows::Eight);
    for (&kernel, tiles) in kernels.iter().zip(TILES) {
        queue.launch(
            kernel,
            resident.min(view.tile_count().div_ceil(tiles) as u32),
            block,
            &mut arguments![
                at.splats,
                at.tile_lists,
                at.ranges,
                *view,
                at.counters,
                at.image,
                at.transmittances,
                at.rough
            ],
        )?;
    }
    Ok(())
}
