//! How many pixels a warp of the inference blends has: more in large images.

use super::methods;
use crate::ops::constants::flag;
use splatcore_core::pipeline::Blend;
use splatcore_core::semantics::TILE;

const TILE_PIXELS: u32 = (TILE * TILE) as u32;
/// Threads of a block of the other blends: one a pixel of a tile.
pub const BLEND_BLOCK: u32 = TILE_PIXELS;
/// A constant of blends: 1 sums inverse depths too.
pub(super) const DEPTH: &str = "DEPTH";
/// Bytes of a splat's row of halves in ops/blend/blend_splatcore_inference.cu, without and with
/// depth. Eight rows side by side lie in different banks.
pub(super) const INFERENCE_ROW_BYTES: [u32; 2] = [80, 112];

/// Pixels from which on an image is large: its splats are too, and a warp does better with more
/// pixels. On an H200 the blend of 3840x2160 takes 8 % less for it (fox_220k; 1 % with a million
/// smaller Gaussians), that of 1080x1920 1 % less and 10 % more. Its lists come from larger
/// macro-tiles too (`bin::SIDES`).
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

/// Constants of inference.cuh.
pub(super) fn inference_constants(rows: InferenceRows) -> Vec<(&'static str, String)> {
    vec![
        ("BLOCK", splatcore_block(rows).to_string()),
        flag(DEPTH, false),
        ("RECTANGLE_Y", rows.count().to_string()),
        ("ROW_BYTES", INFERENCE_ROW_BYTES[0].to_string()),
    ]
}

/// Threads of a block of [`Blend::Splatcore`]'s inference: a lane has a column of its warp's
/// pixels, four lanes have the same.
fn splatcore_block(rows: InferenceRows) -> u32 {
    4 * TILE_PIXELS / rows.count()
}

/// Threads of a block of an inference blend.
pub fn inference_block(method: Blend, rows: InferenceRows) -> u32 {
    match methods::of(method).own_inference {
        true => splatcore_block(rows),
        false => BLEND_BLOCK,
    }
}
