//! Writing .splat.

use super::ROW;
use crate::scene::rows::{Rows, in_ordered_pieces, in_pieces};
use crate::scene::written::{Progress, WriteOptions, Written, clamped_note, degree_note, size_of};
use crate::{DataError, file};
use rayon::prelude::*;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::{Gaussians, sh};
use std::io::Write;
use std::path::Path;

/// Writes a scene as .splat: positions and standard deviations as f32, colours and opacities
/// rounded to bytes, rotations to 1/128 a component, no higher harmonics. The largest and most
/// opaque Gaussians come first (volume times opacity, as convert.py of the format's author sorts
/// them), so that a viewer shows the whole scene while it loads; not if
/// [`WriteOptions::keep_order`] is set.
///
/// # Errors
/// If there are no Gaussians, or the file cannot be written; then nothing is left under its name
/// but what was there before.
pub fn write(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    if rows.is_empty() {
        let problem = "would hold no Gaussians, and an empty file is no .splat";
        return Err(DataError::new(path, problem, "write a .ply"));
    }
    let order = (!options.keep_order).then(|| by_importance(rows));
    let order = order.transpose()?;
    let mut clamped = 0u64;
    file::write_atomically(path, |writer| {
        let mut bytes = Vec::new();
        in_ordered_pieces(rows, order.as_deref(), |start, piece| {
            bytes.resize(piece.len(), [0; ROW]);
            let each = bytes.par_iter_mut().enumerate();
            clamped += each
                .map(|(i, row)| u64::from(!fill(row, piece, i)))
                .sum::<u64>();
            writer.write_all(bytes.as_flattened())?;
            progress("writing", (start + piece.len()) as u64, rows.len() as u64);
            Ok(())
        })
    })?;
    let mut notes: Vec<String> = degree_note(rows, 0).into_iter().collect();
    notes.extend(clamped_note(clamped, "a colour outside [0, 1]"));
    Ok(Written {
        bytes: size_of(path)?,
        notes,
    })
}

/// Gaussian `i` as a row of the file; whether its colour was in range.
fn fill(row: &mut [u8; ROW], piece: &Gaussians, i: usize) -> bool {
    // A size beyond f32 is no size.
    let scales = piece.log_scales[i].map(|s| s.exp().min(f32::MAX));
    let floats = [piece.means[i], scales];
    for (to, v) in row.chunks_exact_mut(4).zip(floats.as_flattened()) {
        to.copy_from_slice(&v.to_le_bytes());
    }
    let colour = piece.sh_of(i)[0].map(|c| (sh::to_colour(c) * 255.0).round());
    let alpha = (sigmoid(piece.opacity_logits[i]) * 255.0).round();
    let [red, green, blue] = colour;
    row[24..28].copy_from_slice(&[red, green, blue, alpha].map(|v| v as u8));
    let q = piece.rotations[i].map(f64::from);
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let unit = match length > 0.0 && length.is_finite() {
        true => q.map(|v| v / length),
        false => [1.0, 0.0, 0.0, 0.0],
    };
    row[28..].copy_from_slice(&unit.map(|v| (v * 128.0 + 128.0).round() as u8));
    colour.iter().all(|v| (0.0..=255.0).contains(v))
}

/// The indices of all Gaussians, those with the largest volume times opacity first. Holds 12 bytes
/// a Gaussian in memory, of which 4 are the result.
fn by_importance(rows: &dyn Rows) -> Result<Vec<u32>, DataError> {
    let mut entries: Vec<(f32, u32)> = Vec::with_capacity(rows.len());
    in_pieces(rows, |start, piece| {
        let scales = piece.log_scales.iter().zip(&piece.opacity_logits);
        entries.extend(scales.zip(start as u32..).map(|((s, &logit), i)| {
            // Logarithms: products underflow.
            let volume = f64::from(s[0]) + f64::from(s[1]) + f64::from(s[2]);
            let logit = f64::from(logit);
            let opacity = match logit < -30.0 {
                true => logit,
                false => -(-logit).exp().ln_1p(),
            };
            ((volume + opacity) as f32, i)
        }));
        Ok::<(), DataError>(())
    })?;
    entries.par_sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    Ok(entries.into_iter().map(|(_, index)| index).collect())
}
