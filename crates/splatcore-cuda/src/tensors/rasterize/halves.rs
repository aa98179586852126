//! Images of three or four channels on the matrix units: the engine's blend and its backward pass,
//! method `splatcore`, between tensors.

use super::scene::Raster;
use super::{Colors, SplatGradients, backward_program, columns, from_sums};
use crate::device::error::{device_error, failed};
use crate::device::params::{Address, Layout, Params, kernel_params};
use crate::device::{Buffer, Kernel, Program, Signature};
use crate::ops::camera::KernelCamera;
use crate::ops::{blend, blend_backward, sources};
use crate::tensors::slice::optional;
use crate::tensors::{BLOCK, Floats, OnStream, grid, word};
use splatcore_core::BackendError;
use splatcore_core::pipeline::{Backward, Blend};
use splatcore_core::semantics::TILE;

kernel_params! {
    /// Splats and the lists of tiles (halves.cuh).
    pub struct TensorLists {
        splats: Address,
        largest: Address,
        tile_offsets: Address,
        flatten_ids: Address,
        masks: Address,
        pairs: u32,
        images: u32,
        camera: KernelCamera,
    }

    /// Parameters of `blend` with `TENSORS` (halves.cuh).
    pub struct BlendTensorsParams {
        lists: TensorLists,
        backgrounds: Address,
        render_colors: Address,
        render_alphas: Address,
        planes: Address,
    }

    /// Parameters of `blend_backward` with `TENSORS` (halves.cuh).
    pub struct BlendBackwardTensorsParams {
        lists: TensorLists,
        planes: Address,
        render_alphas: Address,
        v_render_colors: Address,
        v_render_alphas: Address,
        backgrounds: Address,
        sums: Address,
    }

    /// Parameters of `make_splats` and `find_largest` (make_splats.cu).
    pub struct MakeSplatsParams {
        means2d: Address,
        conics: Address,
        opacities: Address,
        colors: Address,
        count: u32,
        largest: Address,
        splats: Address,
    }
}

/// D that there are kernels for.
pub const HALVES_CHANNELS: [usize; 2] = [3, 4];
/// The highest cap on alpha. Behind a higher one nothing is left of a transmittance in halves.
pub const MAX_ALPHA_MAX: f32 = 0.999;
/// Splats of a thread of `find_largest`.
const MAX_ROWS: u32 = 8;
/// Bytes of a splat's row, and of its row of sums.
const ROW_BYTES: usize = 48;
static SHARED: &[(&str, &Layout)] = &[
    ("splat.cuh", KernelCamera::LAYOUT),
    ("halves.cuh", TensorLists::LAYOUT),
];

/// An engine's program between tensors.
fn of_tensors(mut program: Program, channels: usize, kernel: Signature) -> Program {
    program.constants.push(("TENSORS", channels.to_string()));
    program.kernels = vec![kernel];
    program.shared = SHARED;
    program
}

fn blend_program(channels: usize) -> Program {
    let engine = blend::blend(Blend::Splatcore, false, false);
    of_tensors(engine, channels, BlendTensorsParams::kernel("blend"))
}

fn blend_backward_program(channels: usize) -> Program {
    let engine = blend_backward::blend_backward(Backward::Splatcore);
    let kernel = BlendBackwardTensorsParams::kernel("blend_backward");
    of_tensors(engine, channels, kernel)
}

fn make_splats_program(channels: usize) -> Program {
    let constants = [("BLOCK", BLOCK as usize), ("CHANNELS", channels)];
    let constants = constants.map(|(name, value)| (name, value.to_string()));
    let mut program = sources::program(
        "make_splats.cu",
        constants.into(),
        ["make_splats", "find_largest"].map(MakeSplatsParams::kernel),
    );
    program.shared = SHARED;
    program
}

/// What the functions here launch besides `write_gradients`.
pub(in crate::tensors) fn programs() -> Vec<Program> {
    let programs = [make_splats_program, blend_program, blend_backward_program];
    let of = |channels| programs.map(|program| program(channels));
    HALVES_CHANNELS.into_iter().flat_map(of).collect()
}

/// What [`forward`] writes. H, W: height and width of the images.
#[derive(Clone, Copy, Debug)]
pub struct Images {
    /// `[I, H, W, D]`.
    pub render_colors: Floats,
    /// `[I, H, W, 1]`, 1 - T.
    pub render_alphas: Floats,
    /// `[I, D, H, W]`: the colours once more, for [`backward`]; a caller may change the others.
    pub planes: Option<Floats>,
}

/// What [`backward`] takes of the forward pass and of the loss.
#[derive(Clone, Copy, Debug)]
pub struct ImageGradients {
    /// `[I, D, H, W]`, of the forward pass.
    pub planes: Floats,
    /// `[I, H, W, 1]`, of the forward pass.
    pub render_alphas: Floats,
    /// `[I, H, W, D]`.
    pub v_render_colors: Floats,
    /// `[I, H, W, 1]`; without it, 0.
    pub v_render_alphas: Option<Floats>,
}

/// Rows of splats, and the parameters that both passes share.
struct Prepared {
    lists: TensorLists,
    backgrounds: Address,
    _splats: Buffer,
}

fn prepare(on: &OnStream, raster: &Raster, colors: &Colors) -> Result<Prepared, BackendError> {
    let channels = colors.channels;
    let is_known = HALVES_CHANNELS.contains(&channels);
    if !is_known || raster.tile_size != TILE || raster.alpha_max > MAX_ALPHA_MAX {
        return Err(device_error(format!(
            "{channels} channels, tile_size {} and alpha_max {} have no kernel in halves, which \
             has 3 or 4, {TILE} and at most {MAX_ALPHA_MAX}",
            raster.tile_size, raster.alpha_max
        )));
    }
    let (scene, count) = (raster.scene()?, raster.splats());
    // The rows, and the largest value.
    let bytes = ROW_BYTES * count;
    let splats = Buffer::new(&on.queue.device, "splats", bytes + ROW_BYTES)?;
    let largest = splats.address() + bytes as u64;
    let [make_splats, find_largest]: [Kernel; 2] = on.kernels(&make_splats_program(channels))?;
    let params = MakeSplatsParams {
        means2d: scene.means2d,
        conics: scene.conics,
        opacities: scene.opacities,
        colors: colors.colors.with_len("colors", channels * count)?,
        count: word("the number of splats", count)?,
        largest,
        splats: splats.address(),
    };
    let blocks = grid(count.div_ceil(BLOCK as usize))?;
    if channels == 4 {
        // SAFETY: the buffer has a row behind those of the splats.
        unsafe { on.queue.device.fill(largest, 0, size_of::<u32>()) }.map_err(failed)?;
        let blocks = blocks.div_ceil(MAX_ROWS);
        on.queue.launch(find_largest, blocks, BLOCK, &params)?;
    }
    on.queue.launch(make_splats, blocks, BLOCK, &params)?;
    let size = [scene.width, scene.height];
    let tiles = [scene.tile_width, scene.tile_height];
    let backgrounds = channels * raster.images;
    Ok(Prepared {
        lists: TensorLists {
            splats: splats.address(),
            largest,
            tile_offsets: scene.tile_offsets,
            flatten_ids: scene.flatten_ids,
            masks: scene.masks,
            pairs: scene.pairs,
            images: scene.images,
            camera: KernelCamera::of_images(size, tiles, scene.alpha_max),
        },
        backgrounds: optional(colors.backgrounds, "backgrounds", backgrounds)?,
        _splats: splats,
    })
}

/// As [`super::forward`] for one of [`HALVES_CHANNELS`], with weights in halves
/// (`splatcore_core::precision`): for tiles of 16 pixels and a cap on alpha of at most
/// [`MAX_ALPHA_MAX`]. Values of the first three channels beyond 60000 are cut.
///
/// # Errors
/// If lengths do not agree, there is no such kernel, or the device failed.
pub fn forward(
    on: &OnStream,
    raster: &Raster,
    colors: &Colors,
    images: &Images,
) -> Result<(), BackendError> {
    let prepared = prepare(on, raster, colors)?;
    let params = BlendTensorsParams {
        lists: prepared.lists,
        backgrounds: prepared.backgrounds,
        render_colors: raster.pixels(images.render_colors, "render_colors", colors.channels)?,
        render_alphas: raster.pixels(images.render_alphas, "render_alphas", 1)?,
        planes: images.planes.map_or(Ok(0), |planes| {
            raster.pixels(planes, "planes", colors.channels)
        })?,
    };
    let program = blend_program(colors.channels);
    on.launch_one(&program, raster.tiles(), raster.block(), &params)
}

/// Gradients of [`forward`]. There are no absolute ones.
///
/// # Errors
/// As [`forward`].
pub fn backward(
    on: &OnStream,
    raster: &Raster,
    colors: &Colors,
    images: &ImageGradients,
    out: &SplatGradients,
) -> Result<(), BackendError> {
    let (splats, channels) = (raster.splats(), colors.channels);
    if out.v_means2d_abs.is_some() {
        let words = "gradients in halves have no absolute values";
        return Err(device_error(words.into()));
    }
    let prepared = prepare(on, raster, colors)?;
    let bytes = ROW_BYTES * splats;
    let sums = Buffer::new(&on.queue.device, "sums of gradients", bytes.max(ROW_BYTES))?;
    let of_colors = |values, name| raster.pixels(values, name, channels);
    let params = BlendBackwardTensorsParams {
        lists: prepared.lists,
        planes: of_colors(images.planes, "planes")?,
        render_alphas: raster.pixels(images.render_alphas, "render_alphas", 1)?,
        v_render_colors: of_colors(images.v_render_colors, "v_render_colors")?,
        v_render_alphas: images
            .v_render_alphas
            .map_or(Ok(0), |values| raster.pixels(values, "v_render_alphas", 1))?,
        backgrounds: prepared.backgrounds,
        sums: sums.address(),
    };
    if splats == 0 {
        return Ok(());
    }
    sums.fill(0, bytes)?;
    if !raster.lists.flatten_ids.is_empty() {
        let [blend_backward]: [Kernel; 1] = on.kernels(&blend_backward_program(channels))?;
        let blocks = grid(raster.tiles())?;
        on.queue
            .launch(blend_backward, blocks, raster.block(), &params)?;
    }
    let [_, write_gradients] = on.kernels(&backward_program(channels))?;
    from_sums(on, write_gradients, raster, channels, &sums, out)
}

// `write_gradients` reads rows of the sums of `blend_backward`.
const _: () = assert!(4 * columns(HALVES_CHANNELS[0]) == ROW_BYTES);
const _: () = assert!(4 * columns(HALVES_CHANNELS[1]) == ROW_BYTES);
