//! From pixels to parameters.

use super::meta::{CENTROIDS, LABELS, MEANS_HIGH, MEANS_LOW, Meta, QUATS, SCALES, SH0};
use super::pixels::Pixels;
use rayon::prelude::*;
use splatcore_core::Gaussians;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Gaussians that a thread takes at a time.
const CHUNK: usize = 4096;

/// Decodes all attributes; every image has a pixel for every Gaussian.
pub fn decode(meta: &Meta, sh_degree: u8, pixels: &Pixels, notes: &mut Vec<String>) -> Gaussians {
    let mut gaussians = Gaussians::zeros(meta.count, sh_degree);
    let k = gaussians.coefficients();
    let palette = palette(meta, k - 1, pixels);
    let strangers = AtomicUsize::new(0);
    (
        gaussians.means.par_chunks_mut(CHUNK),
        gaussians.log_scales.par_chunks_mut(CHUNK),
        gaussians.rotations.par_chunks_mut(CHUNK),
        gaussians.opacity_logits.par_chunks_mut(CHUNK),
        gaussians.sh.par_chunks_mut(CHUNK * k),
    )
        .into_par_iter()
        .enumerate()
        .for_each(|(chunk, (means, log_scales, rotations, logits, sh))| {
            for row in 0..means.len() {
                let i = chunk * CHUNK + row;
                let (low, high) = (pixels.get(MEANS_LOW, i), pixels.get(MEANS_HIGH, i));
                means[row] = std::array::from_fn(|c| {
                    let range = meta.means[c];
                    let at = f64::from(u16::from_le_bytes([low[c], high[c]])) / 65535.0;
                    unlog(range.min + (range.max - range.min) * at)
                });
                let scale = pixels.get(SCALES, i);
                log_scales[row] = std::array::from_fn(|c| meta.scales[c][scale[c] as usize]);
                rotations[row] = smallest_three(pixels.get(QUATS, i));
                let colour = pixels.get(SH0, i);
                let [red, green, blue, logit] =
                    std::array::from_fn(|c| meta.sh0[c][colour[c] as usize]);
                logits[row] = logit;
                let sh = &mut sh[row * k..(row + 1) * k];
                sh[0] = [red, green, blue];
                if k > 1 {
                    let [low, high, ..] = pixels.get(LABELS, i);
                    let label = u16::from_le_bytes([low, high]) as usize;
                    match palette.get(label * (k - 1)..(label + 1) * (k - 1)) {
                        Some(entry) => sh[1..].copy_from_slice(entry),
                        None => _ = strangers.fetch_add(1, Ordering::Relaxed),
                    }
                }
            }
        });
    let strangers = strangers.into_inner();
    if strangers > 0 {
        notes.push(format!(
            "{strangers} Gaussians name an entry that the palette lacks: their colours do not \
             change with direction"
        ));
    }
    gaussians
}

/// The palette's coefficients above degree 0, `[entries][higher]` of r, g, b.
fn palette(meta: &Meta, higher: usize, pixels: &Pixels) -> Vec<[f32; 3]> {
    let Some(part) = meta.higher.as_ref().filter(|_| higher > 0) else {
        return Vec::new();
    };
    // Rows of 64 entries side by side: pixels in reading order are entry after entry.
    let held = pixels.count(CENTROIDS) / higher;
    let entries = part.palette.unwrap_or(held).min(held);
    (0..entries * higher)
        .map(|i| {
            let [r, g, b, _] = pixels.get(CENTROIDS, i);
            [r, g, b].map(|byte| part.table[byte as usize])
        })
        .collect()
}

/// The inverse of sign(x) ln(1 + |x|).
fn unlog(value: f64) -> f32 {
    value.abs().exp_m1().copysign(value) as f32
}

/// Alpha tells which of w, x, y, z is largest (252 to 255); red, green and blue are the others in
/// order, over [-1/√2, 1/√2]; the largest is positive, from the unit length. Returns w, x, y, z; of
/// any other alpha zeros, which no rotation has.
fn smallest_three([r, g, b, mode]: [u8; 4]) -> [f32; 4] {
    let Some(largest) = mode.checked_sub(252).map(usize::from) else {
        return [0.0; 4];
    };
    let mut wxyz = [0.0f64; 4];
    let mut squares = 0.0;
    for (i, byte) in (0..4).filter(|&i| i != largest).zip([r, g, b]) {
        let value = (f64::from(byte) / 127.5 - 1.0) * std::f64::consts::FRAC_1_SQRT_2;
        wxyz[i] = value;
        squares += value * value;
    }
    wxyz[largest] = (1.0 - squares).max(0.0).sqrt();
    wxyz.map(|v| v as f32)
}
