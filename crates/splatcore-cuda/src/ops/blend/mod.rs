//! How tiles are blended, for images and in training.

pub mod interpolated;

use super::intersect::macro_tiles;
use super::sources::{flag, program};
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::camera::KernelCamera;
use splatcore_core::pipeline::{Backward, Blend};

kernel_params! {
    /// Parameters of `blend` (blend_early_cull.cu).
    pub struct BlendParams {
        splats: Address,
        pairs: Address,
        pair_splats: Address,
        ranges: Address,
        entries: Address,
        masks: Address,
        camera: KernelCamera,
        counters: Address,
        image: Address,
        transmittances: Address,
        inverse_depths: Address,
        bucket_tiles: Address,
        checkpoints: Address,
        stops: Address,
        refined_tiles: Address,
    }
}

/// Constants of blends; ops/blend/blend_scalar.cu says what they are.
const COUNT: &str = "COUNT";
const CHECKPOINTS: &str = "CHECKPOINTS";
const DEPTH: &str = "DEPTH";

const TILE_PIXELS: u32 = 256;
/// Threads of a block of [`blend`].
pub const BLEND_BLOCK: u32 = TILE_PIXELS;

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
        Blend::EarlyCull => ("blend_early_cull.cu", counted),
        Blend::Frag2Mat | Blend::TcGs | Blend::TcGsGlobalFp16 | Blend::TcGsGlobalTf32 => {
            ("blend_tc_gs.cu", counted)
        }
        Blend::GemmGs | Blend::GemmGs32 | Blend::GemmGs64 | Blend::GemmGs128 | Blend::GemmGs512 => {
            ("blend_gemm_gs.cu", counted)
        }
        Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4 => {
            ("blend_tensor_gs.cu", counted)
        }
        // Counts are of f32's fragments: batches of 16 hide which of them a pixel still wanted.
        Blend::Splatcore | Blend::Samples if !count => ("blend_splatcore_training.cu", vec![]),
        Blend::Subtile | Blend::Splatcore | Blend::Samples => ("blend_subtile.cu", in_f32),
    };
    constants.extend(constants_of(blend));
    program(root, constants, [BlendParams::kernel("blend")])
}

/// What tells the variants of a published method apart.
fn constants_of(blend: Blend) -> Vec<(&'static str, String)> {
    let batch = |batch: u32| vec![("BATCH", batch.to_string())];
    match blend {
        Blend::Frag2Mat | Blend::TcGs | Blend::TcGsGlobalFp16 | Blend::TcGsGlobalTf32 => vec![
            flag("EARLY_CULL", blend != Blend::Frag2Mat),
            flag("LOCAL", matches!(blend, Blend::Frag2Mat | Blend::TcGs)),
            flag("TF32", blend == Blend::TcGsGlobalTf32),
        ],
        Blend::GemmGs32 => batch(32),
        Blend::GemmGs64 => batch(64),
        Blend::GemmGs128 => batch(128),
        Blend::GemmGs => batch(256),
        Blend::GemmGs512 => batch(512),
        Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4 => {
            vec![(
                "MACRO_TILE_SIDE",
                macro_tiles::side(blend).unwrap_or(1).to_string(),
            )]
        }
        _ => vec![],
    }
}

/// Bytes of a splat's row of halves in ops/blend/blend_splatcore_inference.cu, without and with
/// depth. Eight rows side by side lie in different banks.
const INFERENCE_ROW_BYTES: [u32; 2] = [80, 112];

/// Pixels from which on a image is large: its splats are too, and a warp does better with more
/// pixels. On an H200 the blend of 3840x2160 takes 8 % less for it (fox_220k; 1 % with a million
/// smaller Gaussians), that of 1080x1920 1 % less and 10 % more. Its lists come from larger groups
/// of tiles too (`bin::SIDES`).
pub const LARGE_IMAGE: usize = 1 << 22;

/// Rows of pixels, 8 in each, that a warp of ops/blend/blend_splatcore_inference.cu has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InferenceRows {
    /// Of most images.
    Four,
    /// Of large ones.
    Eight,
}

impl InferenceRows {
    /// As a number.
    pub fn count(self) -> u32 {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// `blend` of a image that nothing is learned from, or what takes its place (`blend_interpolated`
/// and `blend_refined`).
pub fn blend_inference(method: Blend, rows: InferenceRows) -> Program {
    match method {
        _ if interpolated::is_interpolated(method, rows) => interpolated::program(rows),
        Blend::Splatcore | Blend::Samples => {
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

/// Constants of inference.cuh.
fn inference_constants(rows: InferenceRows) -> Vec<(&'static str, String)> {
    vec![
        flag(DEPTH, false),
        ("RECTANGLE_Y", rows.count().to_string()),
        ("ROW_BYTES", INFERENCE_ROW_BYTES[0].to_string()),
    ]
}

/// Threads of a block of [`blend_inference`]: a lane has a column of its warp's pixels, four lanes
/// have the same.
pub fn inference_block(method: Blend, rows: InferenceRows) -> u32 {
    match method {
        Blend::Splatcore | Blend::Samples => 4 * TILE_PIXELS / rows.count(),
        _ => BLEND_BLOCK,
    }
}

/// The same with depth; of the methods that [`Blend::with_inverse_depth`] leaves as they are.
pub fn blend_with_inverse_depth(method: Blend, rows: InferenceRows) -> Program {
    blend_inference(method, rows)
        .with(DEPTH, 1)
        .with("ROW_BYTES", INFERENCE_ROW_BYTES[1])
}

/// The blend of a training pass. [`Backward::Splatcore`] repeats the weights of
/// [`Blend::Splatcore`] bit for bit and wants no other image. A method in f32 wants one in f32, or
/// what it takes for the colour behind a fragment is off where little light is left; the published
/// methods keep the image that is theirs all the same. Only methods in f32 leave checkpoints.
pub fn blend_in_training(blend: Blend, backward: Backward) -> Blend {
    match (blend, backward) {
        (_, Backward::Splatcore) => Blend::Splatcore,
        (Blend::Scalar, _) => Blend::Scalar,
        (Blend::Subtile | Blend::Splatcore | Blend::Samples, _)
        | (_, Backward::GaussianParallel) => Blend::Subtile,
        // Its lists are of groups of tiles, sums are of tiles.
        (Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4, _) => Blend::Subtile,
        _ => blend,
    }
}

#[cfg(test)]
mod tests;
