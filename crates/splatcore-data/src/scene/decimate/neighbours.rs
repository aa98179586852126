//! Gaussians in an order in which neighbours in space are near each other.

use super::blob::Blob;
use rayon::prelude::*;

/// Cells along an axis.
const CELLS: f64 = (1 << 21) as f64;

/// The Gaussians `which` along a Morton curve, shifted by a share of a cell of every size that
/// differs from curve to curve, so that a border of one is none of the other. Coordinates are
/// squeezed by x/(1+|x|) around the medians: half of the cells go to the middle half of the
/// Gaussians, however far the others are.
pub fn along_curve(blobs: &[Blob], which: &[u32], curve: u32) -> Vec<u32> {
    let axes = [0, 1, 2].map(|c| {
        let mut values: Vec<f64> = which.iter().map(|&i| blobs[i as usize].mean[c]).collect();
        let mut at = |share: usize| {
            let at = (values.len() * share / 4).min(values.len().saturating_sub(1));
            *values.select_nth_unstable_by(at, f64::total_cmp).1
        };
        let (low, middle, high) = (at(1), at(2), at(3));
        (middle, (0.5 * (high - low)).max(f64::MIN_POSITIVE))
    });
    // Thirds have no end in binary: 1/3 is off every border by a third of it.
    let shift = f64::from(curve) / 3.0 * 0.25;
    let mut keys: Vec<(u64, u32)> = which
        .par_iter()
        .with_min_len(1024)
        .map(|&i| {
            let mean = blobs[i as usize].mean;
            let mut key = 0;
            for c in 0..3 {
                let (middle, width) = axes[c];
                let at = (mean[c] - middle) / width;
                // In [-1, 1]; infinite if the width is 0.
                let squeezed = if at.is_finite() {
                    at / (1.0 + at.abs())
                } else {
                    at.signum()
                };
                let cell = ((0.375 + 0.375 * squeezed + shift) * CELLS) as u64;
                key |= spread(cell.min(CELLS as u64 - 1)) << c;
            }
            (key, i)
        })
        .collect();
    keys.par_sort_unstable();
    keys.into_iter().map(|(_, i)| i).collect()
}

/// Puts two zeros between the lowest 21 bits.
fn spread(bits: u64) -> u64 {
    let mut x = bits & 0x1f_ffff;
    x = (x | x << 32) & 0x001f_0000_0000_ffff;
    x = (x | x << 16) & 0x001f_0000_ff00_00ff;
    x = (x | x << 8) & 0x100f_00f0_0f00_f00f;
    x = (x | x << 4) & 0x10c3_0c30_c30c_30c3;
    (x | x << 2) & 0x1249_2492_4924_9249
}
