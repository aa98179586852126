//! Which splats count at which pixel: launches rasterize_indices.cu.

use super::scene::{self, Raster, RasterScene, SHARED};
use crate::device::Program;
use crate::device::error::device_error;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::sources;
use crate::tensors::{Floats, Ints, Longs, OnStream, word};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `rasterize_indices` (rasterize_indices.cu).
    pub struct RasterizeIndicesParams {
        scene: RasterScene,
        range_start: u32,
        range_end: u32,
        gaussians: u32,
        transmittances: Address,
        starts: Address,
        counts: Address,
        gaussian_ids: Address,
        pixel_ids: Address,
        found: u64,
    }
}

/// Splats of a batch in shared memory.
const BATCH: usize = 256;

/// What [`count_indices`] and [`fill_indices`] launch.
pub(in crate::tensors) fn program() -> Program {
    let mut program = sources::program(
        "rasterize_indices.cu",
        vec![
            ("BLOCK", scene::MAX_THREADS.to_string()),
            ("BATCH", BATCH.to_string()),
        ],
        [RasterizeIndicesParams::kernel("rasterize_indices")],
    );
    program.shared = SHARED;
    program
}

/// Which part of each tile's list, and what is in front of it.
#[derive(Clone, Copy, Debug)]
pub struct IndexRange {
    /// The first batch of `tile_size`^2 splats.
    pub range_start: usize,
    /// The batch behind the last.
    pub range_end: usize,
    /// `[I, H, W]`: transmittance in front of the first batch.
    pub transmittances: Floats,
}

/// What [`fill_indices`] writes, by `starts`.
#[derive(Clone, Copy, Debug)]
pub struct Indices {
    /// `[I, H, W]`: exclusive sums of the counts.
    pub starts: Longs,
    /// `[sum of counts]`: the Gaussian, which is the splat's index in its image.
    pub gaussian_ids: Longs,
    /// `[sum of counts]`: indices in `[I, H, W]`.
    pub pixel_ids: Longs,
}

fn params(raster: &Raster, range: &IndexRange) -> Result<RasterizeIndicesParams, BackendError> {
    let (splats, images) = (raster.splats(), raster.images);
    if images == 0 || splats % images != 0 {
        return Err(device_error(format!(
            "{splats} splats are not the same number for each of {images} images"
        )));
    }
    Ok(RasterizeIndicesParams {
        scene: raster.scene()?,
        // The kernel ends at the list's end, so a range may reach beyond.
        range_start: u32::try_from(range.range_start).unwrap_or(u32::MAX),
        range_end: u32::try_from(range.range_end).unwrap_or(u32::MAX),
        gaussians: word("the number of splats of an image", splats / images)?,
        transmittances: raster.pixels(range.transmittances, "transmittances", 1)?,
        starts: 0,
        counts: 0,
        gaussian_ids: 0,
        pixel_ids: 0,
        found: 0,
    })
}

/// Counts the splats that count at each pixel, into `counts` `[I, H, W]`.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn count_indices(
    on: &OnStream,
    raster: &Raster,
    range: &IndexRange,
    counts: Ints,
) -> Result<(), BackendError> {
    let params = RasterizeIndicesParams {
        counts: raster.pixels(counts, "counts", 1)?,
        ..params(raster, range)?
    };
    on.launch_one(&program(), raster.tiles(), raster.block(), &params)
}

/// Writes what [`count_indices`] counted, pixel by pixel, front to back.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn fill_indices(
    on: &OnStream,
    raster: &Raster,
    range: &IndexRange,
    out: &Indices,
) -> Result<(), BackendError> {
    if out.gaussian_ids.is_empty() {
        return Ok(());
    }
    let params = RasterizeIndicesParams {
        starts: raster.pixels(out.starts, "starts", 1)?,
        gaussian_ids: out.gaussian_ids.address(),
        pixel_ids: out
            .pixel_ids
            .with_len("pixel_ids", out.gaussian_ids.len())?,
        found: out.gaussian_ids.len() as u64,
        ..params(raster, range)?
    };
    on.launch_one(&program(), raster.tiles(), raster.block(), &params)
}
