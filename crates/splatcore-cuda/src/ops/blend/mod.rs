//! How tiles are blended, for images and in training.

pub mod interpolated;
mod params;
mod rows;

pub use params::BlendParams;
pub use rows::{BLEND_BLOCK, InferenceRows, LARGE_IMAGE, inference_block};

use super::constants::flag;
use super::intersect::macro_tiles;
use super::sources::program;
use crate::device::params::Params;
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use rows::{DEPTH, INFERENCE_ROW_BYTES, inference_constants};
use splatcore_core::BackendError;
use splatcore_core::pipeline::{Backward, Blend};

/// Constants of blends; ops/blend/blend_scalar.cu says what they are.
const COUNT: &str = "COUNT";
const CHECKPOINTS: &str = "CHECKPOINTS";

/// `blend`; counts fragments in place of making an image if `count`, leaves behind what
/// [`Backward::GaussianParallel`] needs if `checkpoints`.
pub fn blend(blend: Blend, count: bool, checkpoints: bool) -> Program {
    let counted = vec![flag(COUNT, count)];
    let in_f32 = vec![
        flag(COUNT, count),
        flag(CHECKPOINTS, checkpoints),
        flag(DEPTH, false),
    ];
    let (root, mut constants) = match blend {
        Blend::Scalar => ("blend_scalar.cu", in_f32),
        Blend::Literal => ("blend_literal.cu", counted),
        Blend::EarlyCull => ("blend_early_cull.cu", counted),
        Blend::Seele => ("blend_seele.cu", counted),
        Blend::GsCore => ("blend_gscore.cu", counted),
        Blend::StopThePop => ("blend_stop_the_pop.cu", counted),
        Blend::Frag2Mat
        | Blend::TcGs
        | Blend::TcGsHalf
        | Blend::TcGsGlobalFp16
        | Blend::TcGsGlobalTf32 => ("blend_tc_gs.cu", counted),
        Blend::GemmGs | Blend::GemmGs32 | Blend::GemmGs64 | Blend::GemmGs128 | Blend::GemmGs512 => {
            ("blend_gemm_gs.cu", counted)
        }
        Blend::TensorGs1x1
        | Blend::TensorGs2x2
        | Blend::TensorGs4x4
        | Blend::TensorGs1x1Half
        | Blend::TensorGs2x2Half
        | Blend::TensorGs4x4Half => ("blend_tensor_gs.cu", counted),
        // Counts are of f32's fragments: batches of 16 hide which of them a pixel still wanted.
        Blend::Splatcore if !count => ("blend_splatcore_training.cu", vec![]),
        Blend::Subtile | Blend::Splatcore => ("blend_subtile.cu", in_f32),
    };
    constants.push(("BLOCK", BLEND_BLOCK.to_string()));
    constants.extend(constants_of(blend));
    program(root, constants, [BlendParams::kernel("blend")])
}

/// Whether a method reads `BlendParams::rays`, which `project` then writes. Training has none.
pub fn needs_rays(blend: Blend) -> bool {
    blend == Blend::StopThePop
}

/// Whether a method writes `BlendParams::stops` of an image: for each pixel the number of splats up
/// to the last that it blended.
pub fn counts_contributors(blend: Blend) -> bool {
    blend == Blend::Literal
}

/// What tells the variants of a published method apart.
fn constants_of(blend: Blend) -> Vec<(&'static str, String)> {
    let batch = |batch: u32| vec![("BATCH", batch.to_string())];
    let tc_gs = || {
        let global = matches!(blend, Blend::TcGsGlobalFp16 | Blend::TcGsGlobalTf32);
        vec![
            flag("EARLY_CULL", blend != Blend::Frag2Mat),
            flag("LOCAL", !global),
            flag("TF32", blend == Blend::TcGsGlobalTf32),
            flag("HALF_TRANSMITTANCE", blend == Blend::TcGsHalf),
        ]
    };
    let tensor_gs = |two_halves| {
        let side = macro_tiles::side(blend).unwrap_or(1).to_string();
        vec![("MACRO_TILE_SIDE", side), flag("TWO_HALVES", two_halves)]
    };
    match blend {
        Blend::Frag2Mat
        | Blend::TcGs
        | Blend::TcGsHalf
        | Blend::TcGsGlobalFp16
        | Blend::TcGsGlobalTf32 => tc_gs(),
        Blend::GemmGs32 => batch(32),
        Blend::GemmGs64 => batch(64),
        Blend::GemmGs128 => batch(128),
        Blend::GemmGs => batch(256),
        Blend::GemmGs512 => batch(512),
        Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4 => tensor_gs(true),
        Blend::TensorGs1x1Half | Blend::TensorGs2x2Half | Blend::TensorGs4x4Half => {
            tensor_gs(false)
        }
        _ => vec![],
    }
}

/// `blend` of an image that nothing is learned from.
pub fn blend_inference(method: Blend, rows: InferenceRows) -> Program {
    match method {
        Blend::Splatcore => {
            let constants = inference_constants(rows);
            program(
                "blend_splatcore_inference.cu",
                constants,
                [BlendParams::kernel("blend")],
            )
        }
        _ => blend(method, false, false),
    }
}

/// The same with depth; of the methods that [`Blend::with_inverse_depth`] leaves as they are.
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

/// The blend of a training pass. [`Backward::Splatcore`] repeats the weights of
/// [`Blend::Splatcore`] bit for bit and wants no other image. A method in f32 wants one in f32, or
/// what it takes for the colour behind a fragment is off where little transmittance is left; the
/// published methods keep the image that is theirs all the same. Only methods in f32 leave
/// checkpoints.
pub fn blend_in_training(blend: Blend, backward: Backward) -> Blend {
    match (blend, backward) {
        (_, Backward::Splatcore) => Blend::Splatcore,
        // The same arithmetic; only `scalar` leaves checkpoints.
        (Blend::Scalar | Blend::Literal, _) => Blend::Scalar,
        (Blend::Subtile | Blend::Splatcore, _) | (_, Backward::GaussianParallel) => Blend::Subtile,
        // Its lists are of macro-tiles, sums are of tiles.
        (Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4, _)
        | (Blend::TensorGs1x1Half | Blend::TensorGs2x2Half | Blend::TensorGs4x4Half, _) => {
            Blend::Subtile
        }
        // On trained scenes gradients in f32 behind its image are off by more than
        // `GRADIENT_BEHIND_PUBLISHED`.
        (Blend::TcGsHalf, _) => Blend::Subtile,
        // Backward passes blend by the depth of means.
        (Blend::StopThePop, _) => Blend::Subtile,
        _ => blend,
    }
}

#[cfg(test)]
mod tests;
