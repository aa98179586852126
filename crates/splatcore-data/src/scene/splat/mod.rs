//! `.splat`, the format of antimatter15's viewer: 32 bytes a Gaussian and nothing else.
//!
//! Position and standard deviations as three f32 each, colour and opacity as four bytes, rotation
//! as four bytes `w, x, y, z` around 128; little-endian, PLY's axes, no spherical harmonics. The
//! format: `convert.py` of github.com/antimatter15/splat. No magic number: the file's name tells,
//! and [`is_plausible`] checks.

mod write;

pub use write::write;

use super::opacity::logit_of_byte;
use super::scene_file::SceneFile;
use super::source::KNOWN_FORMATS;
use crate::{DataError, Place};
use rayon::prelude::*;
use splatcore_core::{Gaussians, sh};
use std::path::Path;

/// Bytes a Gaussian.
const ROW: usize = 32;
/// Rows that [`is_plausible`] looks at.
const LOOKED_AT: usize = 4096;
/// No real scene has centres or sizes beyond this, in any unit.
const MAX: f32 = 1e9;

/// Reads a scene from the bytes of a .splat file; `path` is for messages only. Opacities of 0 and 1
/// become logits of ∓[`super::spz::MAX_LOGIT`]; a standard deviation of 0, whose log is
/// infinite, the smallest normal f32.
///
/// # Errors
/// If the size is no multiple of 32 bytes, or the values are not those of Gaussians.
pub fn parse(bytes: &[u8], path: &Path) -> Result<SceneFile, DataError> {
    let (rows, rest) = bytes.as_chunks::<ROW>();
    if !rest.is_empty() {
        let problem = format!(
            "{} bytes are not a multiple of a .splat Gaussian's {ROW}",
            bytes.len()
        );
        let remedy = "the file is cut short or is no .splat: get it again";
        return Err(DataError::new(path, problem, remedy).at(Place::Byte(bytes.len() as u64)));
    }
    if !is_plausible(bytes) {
        let problem = "the name says .splat, but the content is not rows of 32 bytes a Gaussian";
        return Err(DataError::new(path, problem, KNOWN_FORMATS));
    }
    let mut gaussians = Gaussians::zeros(rows.len(), 0);
    (
        rows,
        &mut gaussians.means,
        &mut gaussians.log_scales,
        &mut gaussians.rotations,
        &mut gaussians.opacity_logits,
        &mut gaussians.sh,
    )
        .into_par_iter()
        .for_each(|(row, mean, log_scales, rotation, logit, sh)| {
            *mean = std::array::from_fn(|c| float(row, c));
            // Below 0 the log is NaN, and the row is dropped later.
            *log_scales = std::array::from_fn(|c| match float(row, 3 + c) {
                0.0 => f32::MIN_POSITIVE.ln(),
                scale => scale.ln(),
            });
            *sh = std::array::from_fn(|c| ((f64::from(row[24 + c]) / 255.0 - 0.5) / sh::C0) as f32);
            *logit = logit_of_byte(row[27]);
            *rotation = unit(std::array::from_fn(|c| {
                f64::from(row[28 + c]) / 127.5 - 1.0
            }));
        });
    Ok(SceneFile::checked(
        gaussians,
        "antimatter15 .splat".into(),
        bytes.len() as u64,
        Vec::new(),
        false,
    ))
}

/// Whether the bytes can be a .splat file: whole rows, of which nearly all hold finite positions
/// and standard deviations of no absurd size. Compressed or text data fails.
pub fn is_plausible(bytes: &[u8]) -> bool {
    let (rows, rest) = bytes.as_chunks::<ROW>();
    if rows.is_empty() || !rest.is_empty() {
        return false;
    }
    let step = rows.len().div_ceil(LOOKED_AT);
    let mut good = 0;
    let mut seen = 0;
    for row in rows.iter().step_by(step) {
        let position = (0..3).all(|c| float(row, c).abs() < MAX);
        let scale = (3..6).all(|c| (0.0..MAX).contains(&float(row, c)));
        good += usize::from(position && scale);
        seen += 1;
    }
    good * 10 >= seen * 9
}

/// The i-th f32 of a row.
fn float(row: &[u8; ROW], i: usize) -> f32 {
    f32::from_le_bytes([row[4 * i], row[4 * i + 1], row[4 * i + 2], row[4 * i + 3]])
}

/// Never zero: no byte decodes to 0.
fn unit(q: [f64; 4]) -> [f32; 4] {
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.map(|v| (v / length) as f32)
}
