//! How tiles are blended, for pictures and in training.

use super::with;
use crate::device::Program;
use crate::device::program::files;
use crate::samples;
use splatcore_core::pipeline::{Backward, Blend};

/// Constants of blends; kernels/blend.cu says what they are.
const COUNT: &str = "COUNT";
const CHECKPOINTS: &str = "CHECKPOINTS";
const DEPTH: &str = "DEPTH";

const TILE_PIXELS: u32 = 256;
/// Threads of a block of [`blend`].
pub const BLEND_BLOCK: u32 = TILE_PIXELS;

/// `blend`; counts fragments in place of making an image if `count`, leaves behind what
/// [`Backward::GaussianParallel`] needs if `checkpoints`.
pub fn blend(blend: Blend, count: bool, checkpoints: bool) -> Program {
    let (op, files, constants): (_, _, &[_]) = match blend {
        Blend::Scalar => ("blend", files!["blend.cu"], &[COUNT, CHECKPOINTS, DEPTH]),
        Blend::EarlyCull => ("blend_early_cull", files!["blend_early_cull.cu"], &[COUNT]),
        Blend::Frag2Mat | Blend::TcGs | Blend::TcGsGlobalFp16 | Blend::TcGsGlobalTf32 => (
            "blend_tc_gs",
            files!["matrix.cuh", "blend_tc_gs.cu"],
            &[COUNT],
        ),
        Blend::GemmGs | Blend::GemmGs32 | Blend::GemmGs64 | Blend::GemmGs128 | Blend::GemmGs512 => {
            (
                "blend_gemm_gs",
                files!["matrix.cuh", "blend_gemm_gs.cu"],
                &[COUNT],
            )
        }
        Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4 => (
            "blend_tensor_gs",
            files!["matrix.cuh", "blend_tensor_gs.cu"],
            &[COUNT],
        ),
        // Counts are of f32's fragments: batches of 16 hide which of them a pixel still wanted.
        Blend::Splatcore | Blend::Samples if !count => (
            "blend_splatcore",
            files![
                "matrix.cuh",
                "subtile.cuh",
                "rows.cuh",
                "weights.cuh",
                "blend_splatcore.cu"
            ],
            &[],
        ),
        Blend::Subtile | Blend::Splatcore | Blend::Samples => (
            "blend_subtile",
            files!["subtile.cuh", "blend_subtile.cu"],
            &[COUNT, CHECKPOINTS, DEPTH],
        ),
    };
    let value_of = |&name: &&'static str| {
        let set = name == COUNT && count || name == CHECKPOINTS && checkpoints;
        (name, (set as u8).to_string())
    };
    let mut constants: Vec<_> = constants.iter().map(value_of).collect();
    let batch = match blend {
        Blend::GemmGs32 => Some(32),
        Blend::GemmGs64 => Some(64),
        Blend::GemmGs128 => Some(128),
        Blend::GemmGs => Some(256),
        Blend::GemmGs512 => Some(512),
        _ => None,
    };
    constants.extend(batch.map(|batch: u32| ("BATCH", batch.to_string())));
    if op == "blend_tc_gs" {
        let flags = [
            ("EARLY_CULL", blend != Blend::Frag2Mat),
            ("LOCAL", matches!(blend, Blend::Frag2Mat | Blend::TcGs)),
            ("TF32", blend == Blend::TcGsGlobalTf32),
        ];
        constants.extend(flags.map(|(name, set)| (name, (set as u8).to_string())));
    }
    if op == "blend_tensor_gs" {
        let side = crate::groups::side(blend).unwrap_or(1);
        constants.push(("GROUP", side.to_string()));
    }
    Program {
        op,
        files,
        constants,
        kernels: &["blend"],
    }
}

/// Bytes of a splat's row of halves in kernels/blend_picture.cu, without and with depth. Eight rows
/// side by side lie in different banks.
const PICTURE_ROW_BYTES: [u32; 2] = [80, 112];

/// Pixels from which on a picture is large: its splats are too, and a warp does better with more
/// pixels. On an H200 the blend of 3840x2160 takes 8 % less for it (fox_220k; 1 % with a million
/// smaller Gaussians), that of 1080x1920 1 % less and 10 % more. Its lists come from larger groups
/// of tiles too (`dealt::SIDES`).
pub const LARGE_PICTURE: usize = 1 << 22;

/// Rows of pixels, 8 in each, that a warp of kernels/blend_picture.cu has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureRows {
    /// Of most pictures.
    Four,
    /// Of large ones.
    Eight,
}

impl PictureRows {
    /// As a number.
    pub fn count(self) -> u32 {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// `blend` of a picture that nothing is learned from, or what takes its place (`blend_samples` and
/// `blend_rough`).
pub fn blend_picture(method: Blend, rows: PictureRows) -> Program {
    match method {
        _ if samples::is_sampled(method, rows) => return blend_samples(),
        Blend::Splatcore | Blend::Samples => {}
        _ => return blend(method, false, false),
    }
    Program {
        op: "blend_picture",
        files: files![
            "matrix.cuh",
            "subtile.cuh",
            "rows.cuh",
            "picture.cuh",
            "blend_picture.cu"
        ],
        constants: vec![
            (DEPTH, "0".to_string()),
            ("RECTANGLE_Y", rows.count().to_string()),
            ("ROW_BYTES", PICTURE_ROW_BYTES[0].to_string()),
        ],
        kernels: &["blend"],
    }
}

/// `blend_samples` and `blend_rough`, of large pictures of [`Blend::Samples`].
fn blend_samples() -> Program {
    Program {
        op: "blend_samples",
        files: files![
            "matrix.cuh",
            "subtile.cuh",
            "rows.cuh",
            "picture.cuh",
            "blend_samples.cu",
            "blend_rough.cu"
        ],
        constants: vec![
            (DEPTH, "0".to_string()),
            ("RECTANGLE_Y", PictureRows::Eight.count().to_string()),
            ("ROW_BYTES", PICTURE_ROW_BYTES[0].to_string()),
        ],
        kernels: &["blend_samples", "blend_rough"],
    }
}

/// Threads of a block of [`blend_picture`]: a lane has a column of its warp's pixels, four lanes
/// have the same.
pub fn picture_block(method: Blend, rows: PictureRows) -> u32 {
    match method {
        Blend::Splatcore | Blend::Samples => 4 * TILE_PIXELS / rows.count(),
        _ => BLEND_BLOCK,
    }
}

/// The same with depth; of the methods that [`Blend::with_inverse_depth`] leaves as they are.
pub fn blend_with_inverse_depth(method: Blend, rows: PictureRows) -> Program {
    let with_depth = with(blend_picture(method, rows), DEPTH, 1);
    with(with_depth, "ROW_BYTES", PICTURE_ROW_BYTES[1])
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
