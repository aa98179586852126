//! Images of any number of channels from sorted lists of splats, their gradients, and which splats
//! count at which pixel.

pub mod halves;
mod indices;
mod scene;
#[cfg(test)]
mod tests;

pub(super) use indices::program as indices_program;
pub use indices::{IndexRange, Indices, count_indices, fill_indices};
pub use scene::{Lists, Raster};

use super::slice::optional;
use super::{Floats, Ints, OnStream, grid, word};
use crate::device::params::{Address, Params, kernel_params};
use crate::device::{Buffer, Kernel, Program};
use crate::ops::sources;
use scene::{RasterScene, SHARED};
use splatcore_core::BackendError;

kernel_params! {
    /// Parameters of `rasterize` (rasterize.cu).
    pub struct RasterizeParams {
        scene: RasterScene,
        colors: Address,
        backgrounds: Address,
        channels: u32,
        first_channel: u32,
        render_colors: Address,
        render_alphas: Address,
        last_ids: Address,
    }

    /// Parameters of `rasterize_backward` (rasterize_backward.cu).
    pub struct RasterizeBackwardParams {
        scene: RasterScene,
        colors: Address,
        backgrounds: Address,
        channels: u32,
        is_absolute: u32,
        render_alphas: Address,
        last_ids: Address,
        v_render_colors: Address,
        v_render_alphas: Address,
        sums: Address,
        v_colors: Address,
    }

    /// Parameters of `write_gradients` (rasterize_backward.cu).
    pub struct WriteGradientsParams {
        sums: Address,
        conics: Address,
        opacities: Address,
        splats: u32,
        channels: u32,
        v_means2d: Address,
        v_means2d_abs: Address,
        v_conics: Address,
        v_colors: Address,
        v_opacities: Address,
    }
}

/// Channels that a program makes at a time, ascending: few variants, so that compiled ones are few.
pub(super) const CHANNELS: [usize; 5] = [1, 3, 4, 8, 32];

/// The least of [`CHANNELS`] that covers `channels`, or the most.
fn covering(channels: usize) -> usize {
    let [.., most] = CHANNELS;
    let covers = CHANNELS.into_iter().find(|&covered| covered >= channels);
    covers.unwrap_or(most)
}

/// Constants of a program whose batches have so many splats. Colours in shared memory are padded
/// to whole vectors.
fn constants(channels: usize, batch: usize) -> Vec<(&'static str, String)> {
    let padded = if channels == 1 {
        1
    } else {
        channels.next_multiple_of(4)
    };
    vec![
        ("BLOCK", scene::MAX_THREADS.to_string()),
        ("BATCH", batch.to_string()),
        ("CHANNELS", channels.to_string()),
        ("PADDED", padded.to_string()),
    ]
}

/// What [`forward`] launches, for one of [`CHANNELS`].
pub(super) fn program(channels: usize) -> Program {
    // 10 to 16 KB of shared memory.
    let batch = if channels > 8 { 64 } else { 256 };
    let mut program = sources::program(
        "rasterize.cu",
        constants(channels, batch),
        [RasterizeParams::kernel("rasterize")],
    );
    program.shared = SHARED;
    program
}

/// Floats of a splat's row of sums, `COLUMNS` of rasterize_backward.cu.
const fn columns(channels: usize) -> usize {
    let lanes = if channels > 8 { 8 } else { 4 };
    (8 + channels).next_multiple_of(lanes)
}

/// What [`backward`] launches, for one of [`CHANNELS`].
pub(super) fn backward_program(channels: usize) -> Program {
    // At most 48 KB of shared memory, with the gradients of all pixels.
    let batch = if channels > 8 { 24 } else { 256 };
    let mut constants = constants(channels, batch);
    constants.push(("MAX_CHANNELS", covering(usize::MAX).to_string()));
    let mut program = sources::program(
        "rasterize_backward.cu",
        constants,
        [
            RasterizeBackwardParams::kernel("rasterize_backward"),
            WriteGradientsParams::kernel("write_gradients"),
        ],
    );
    program.shared = SHARED;
    program
}

/// What the pixels are made of. M splats, I images, D channels.
#[derive(Clone, Copy, Debug)]
pub struct Colors {
    /// D.
    pub channels: usize,
    /// `[M, D]`.
    pub colors: Floats,
    /// `[I, D]`.
    pub backgrounds: Option<Floats>,
}

/// What [`forward`] writes. H, W: height and width of the images.
#[derive(Clone, Copy, Debug)]
pub struct Images {
    /// `[I, H, W, D]`.
    pub render_colors: Floats,
    /// `[I, H, W, 1]`, 1 - T.
    pub render_alphas: Floats,
    /// `[I, H, W]`, places in `flatten_ids`.
    pub last_ids: Ints,
}

/// What [`backward`] takes of the forward pass and of the loss.
#[derive(Clone, Copy, Debug)]
pub struct ImageGradients {
    /// `[I, H, W, 1]`, of the forward pass.
    pub render_alphas: Floats,
    /// `[I, H, W]`, of the forward pass.
    pub last_ids: Ints,
    /// `[I, H, W, D]`.
    pub v_render_colors: Floats,
    /// `[I, H, W, 1]`; without it, 0.
    pub v_render_alphas: Option<Floats>,
}

/// What [`backward`] writes.
#[derive(Clone, Copy, Debug)]
pub struct SplatGradients {
    /// `[M, 2]`.
    pub v_means2d: Floats,
    /// `[M, 2]`: sums of absolute values over pixels.
    pub v_means2d_abs: Option<Floats>,
    /// `[M, 3]`.
    pub v_conics: Floats,
    /// `[M, D]`.
    pub v_colors: Floats,
    /// `[M]`.
    pub v_opacities: Floats,
}

/// Blends the splats of each tile's list front to back.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn forward(
    on: &OnStream,
    raster: &Raster,
    colors: &Colors,
    images: &Images,
) -> Result<(), BackendError> {
    let channels = colors.channels;
    let splats = raster.splats();
    let mut params = RasterizeParams {
        scene: raster.scene()?,
        colors: colors.colors.with_len("colors", splats * channels)?,
        backgrounds: optional(colors.backgrounds, "backgrounds", raster.images * channels)?,
        channels: word("the number of channels", channels)?,
        first_channel: 0,
        render_colors: raster.pixels(images.render_colors, "render_colors", channels)?,
        render_alphas: raster.pixels(images.render_alphas, "render_alphas", 1)?,
        last_ids: raster.pixels(images.last_ids, "last_ids", 1)?,
    };
    let mut first = 0;
    // Without channels alphas and ids are still wanted.
    while first < channels.max(1) {
        let covered = covering(channels - first);
        params.first_channel = first as u32;
        on.launch_one(&program(covered), raster.tiles(), raster.block(), &params)?;
        first += covered;
    }
    Ok(())
}

/// Gradients of [`forward`].
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn backward(
    on: &OnStream,
    raster: &Raster,
    colors: &Colors,
    images: &ImageGradients,
    out: &SplatGradients,
) -> Result<(), BackendError> {
    let channels = colors.channels;
    let splats = raster.splats();
    let covered = covering(channels);
    let sums = Buffer::new(
        &on.queue.device,
        "sums of gradients",
        4 * splats * columns(covered),
    )?;
    let v_colors = out.v_colors.with_len("v_colors", splats * channels)?;
    let params = RasterizeBackwardParams {
        scene: raster.scene()?,
        colors: colors.colors.with_len("colors", splats * channels)?,
        backgrounds: optional(colors.backgrounds, "backgrounds", raster.images * channels)?,
        channels: word("the number of channels", channels)?,
        is_absolute: out.v_means2d_abs.is_some().into(),
        render_alphas: raster.pixels(images.render_alphas, "render_alphas", 1)?,
        last_ids: raster.pixels(images.last_ids, "last_ids", 1)?,
        v_render_colors: raster.pixels(images.v_render_colors, "v_render_colors", channels)?,
        v_render_alphas: images
            .v_render_alphas
            .map_or(Ok(0), |values| raster.pixels(values, "v_render_alphas", 1))?,
        sums: sums.address(),
        v_colors,
    };
    if splats == 0 {
        return Ok(());
    }
    let [rasterize_backward, write_gradients] = on.kernels(&backward_program(covered))?;
    sums.fill(0, 4 * splats * columns(covered))?;
    if channels > covered {
        on.zero(out.v_colors)?;
    }
    if !raster.lists.flatten_ids.is_empty() {
        let (blocks, block) = (grid(raster.tiles())?, raster.block());
        on.queue
            .launch(rasterize_backward, blocks, block, &params)?;
    }
    from_sums(on, write_gradients, raster, channels, &sums, out)
}

/// Gradients from rows of sums.
fn from_sums(
    on: &OnStream,
    write_gradients: Kernel,
    raster: &Raster,
    channels: usize,
    sums: &Buffer,
    out: &SplatGradients,
) -> Result<(), BackendError> {
    let splats = raster.splats();
    let params = WriteGradientsParams {
        sums: sums.address(),
        conics: raster.conics.with_len("conics", 3 * splats)?,
        opacities: raster.opacities.address(),
        splats: word("the number of splats", splats)?,
        channels: word("the number of channels", channels)?,
        v_means2d: out.v_means2d.with_len("v_means2d", 2 * splats)?,
        v_means2d_abs: optional(out.v_means2d_abs, "v_means2d_abs", 2 * splats)?,
        v_conics: out.v_conics.with_len("v_conics", 3 * splats)?,
        v_colors: out.v_colors.with_len("v_colors", splats * channels)?,
        v_opacities: out.v_opacities.with_len("v_opacities", splats)?,
    };
    let block = scene::MAX_THREADS;
    let blocks = grid(splats.div_ceil(block))?;
    on.queue
        .launch(write_gradients, blocks, block as u32, &params)
}
