//! `blend` and `blend_backward`, method `scalar` / `atomic`: every pixel walks the tile's whole
//! list, as in INRIA's rasterizer. Kept plain: the baseline that the other methods are measured
//! against, and the easiest to read.

use crate::blend::{Counted, Target, Tile};
use crate::blend_backward::{Pixels, SumRow};
use crate::intersect::Pair;
use crate::project::Splat;
use crate::shared::Disjoint;
use splatcore_core::backend::StripCounts;
use splatcore_core::semantics::{ALPHA_MIN, TILE, TRANSMITTANCE_MIN};

/// One fragment that changes its pixel.
struct Fragment {
    pair: usize,
    alpha: f32,
    /// Alpha was at its cap.
    capped: bool,
    /// Transmittance in front of it.
    transmittance: f32,
    offset: [f32; 2],
}

/// Walks a pixel's fragments front to back; returns the transmittance behind the last.
#[inline(always)]
fn walk(
    splats: &[Splat],
    pairs: &[Pair],
    tile: &Tile,
    pixel: [usize; 2],
    counted: &mut Counted,
    mut visit: impl FnMut(&Splat, Fragment),
) -> f32 {
    let mut transmittance = 1.0f32;
    for (index, pair) in pairs.iter().enumerate() {
        let splat = &splats[*pair as usize];
        let dx = pixel[0] as f32 + 0.5 - splat.mean[0];
        let dy = pixel[1] as f32 + 0.5 - splat.mean[1];
        let [a, b, c] = splat.power;
        let raw = (splat.log2_opacity + (a * dx + b * dy) * dx + c * dy * dy).exp2();
        let alpha = raw.min(tile.alpha_max);
        counted.evaluated += 1;
        if alpha.is_nan() || alpha < ALPHA_MIN as f32 {
            continue;
        }
        let next = transmittance - alpha * transmittance;
        if next < TRANSMITTANCE_MIN as f32 {
            break;
        }
        counted.blended += 1;
        let capped = raw >= tile.alpha_max;
        visit(
            splat,
            Fragment {
                pair: index,
                alpha,
                capped,
                transmittance,
                offset: [dx, dy],
            },
        );
        transmittance = next;
    }
    transmittance
}

fn pixels_of(tile: &Tile) -> impl Iterator<Item = [usize; 2]> {
    let [x0, y0] = tile.origin;
    let [x1, y1] = [(x0 + TILE).min(tile.size[0]), (y0 + TILE).min(tile.size[1])];
    (y0..y1).flat_map(move |y| (x0..x1).map(move |x| [x, y]))
}

/// Blends one tile and writes its pixels.
pub fn blend(splats: &[Splat], pairs: &[Pair], tile: &Tile, target: &Target<'_>) {
    let counted = &mut Counted::default();
    for pixel in pixels_of(tile) {
        let mut colour = [0.0f32; 3];
        let mut inverse_depth = 0.0f32;
        let with_depth = target.inverse_depth.is_some();
        let transmittance = walk(splats, pairs, tile, pixel, counted, |splat, fragment| {
            for c in 0..3 {
                colour[c] += fragment.alpha * fragment.transmittance * splat.colour[c];
            }
            if with_depth {
                inverse_depth += fragment.alpha * fragment.transmittance / splat.depth;
            }
        });
        let to = pixel[1] * tile.size[0] + pixel[0];
        // SAFETY: a pixel belongs to one tile, and a tile to one thread.
        unsafe {
            target.transmittance.get(to, 1)[0] = transmittance;
            for c in 0..3 {
                target.colour[c].get(to, 1)[0] = colour[c] + transmittance * tile.background[c];
            }
            if let Some(plane) = &target.inverse_depth {
                plane.get(to, 1)[0] = inverse_depth;
            }
        }
    }
}

/// Splats of a batch, and rows of pixels of a strip; see [`StripCounts`].
const BATCH: usize = 256;
const STRIP_ROWS: usize = 2;

/// Counts what blending one tile does: fragments, and (strip, splat) pairs.
pub fn count(splats: &[Splat], pairs: &[Pair], tile: &Tile, counted: &mut Counted) -> StripCounts {
    // Bit s: a pixel of strip s blends the pair's splat.
    let mut blending = vec![0u8; pairs.len()];
    let mut longest = 0;
    for pixel in pixels_of(tile) {
        let strip = (pixel[1] - tile.origin[1]) / STRIP_ROWS;
        let mut of_pixel = Counted::default();
        walk(splats, pairs, tile, pixel, &mut of_pixel, |_, fragment| {
            blending[fragment.pair] |= 1 << strip;
        });
        longest = longest.max(of_pixel.evaluated as usize);
        counted.evaluated += of_pixel.evaluated;
        counted.blended += of_pixel.blended;
    }
    let walked = longest.next_multiple_of(BATCH).min(pairs.len());
    let blended = blending.iter().map(|strips| strips.count_ones() as u64);
    StripCounts {
        visited: (walked * TILE / STRIP_ROWS) as u64,
        blended: blended.sum(),
    }
}

/// Sums over the fragments of a (tile, splat) pair: alpha T, T, and their number.
pub type Shown = [f32; 3];

/// Writes the sums over the fragments of every pair of one tile into its row of `all`.
pub fn visibility(
    splats: &[Splat],
    pairs: &[Pair],
    tile: &Tile,
    first_pair: usize,
    all: &Disjoint<'_, Shown>,
) {
    // SAFETY: a pair belongs to one tile, and a tile to one thread.
    let rows = unsafe { all.get(first_pair, pairs.len()) };
    let counted = &mut Counted::default();
    for pixel in pixels_of(tile) {
        walk(splats, pairs, tile, pixel, counted, |_, f| {
            let [weight, transmittance, fragments] = &mut rows[f.pair];
            *weight += f.alpha * f.transmittance;
            *transmittance += f.transmittance;
            *fragments += 1.0;
        });
    }
}

/// Writes the sums of every pair of one tile into its row of `all_sums`; see
/// [`crate::blend_backward`] for what they are.
pub fn blend_backward(
    splats: &[Splat],
    pairs: &[Pair],
    tile: &Tile,
    pixels: &Pixels<'_>,
    sums: &mut Vec<SumRow>,
    first_pair: usize,
    all_sums: &Disjoint<'_, SumRow>,
) {
    sums.clear();
    sums.resize(pairs.len(), SumRow::default());
    for pixel in pixels_of(tile) {
        let at = pixel[1] * tile.size[0] + pixel[0];
        let gradient = [0, 1, 2].map(|c: usize| pixels.gradient[c][at]);
        let mut behind: f32 = (0..3).map(|c| gradient[c] * pixels.colour[c][at]).sum();
        walk(
            splats,
            pairs,
            tile,
            pixel,
            &mut Counted::default(),
            |splat, f| {
                let weight = f.alpha * f.transmittance;
                let toward: f32 = (0..3).map(|c| gradient[c] * splat.colour[c]).sum();
                behind -= weight * toward;
                let d_alpha = f.transmittance * toward - behind / (1.0 - f.alpha);
                let v = if f.capped { 0.0 } else { d_alpha * f.alpha };
                let [dx, dy] = f.offset;
                let row = &mut sums[f.pair];
                for (sum, term) in
                    row.iter_mut()
                        .zip([v, v * dx, v * dy, v * dx * dx, v * dx * dy, v * dy * dy])
                {
                    *sum += term;
                }
                for c in 0..3 {
                    row[6 + c] += weight * gradient[c];
                }
            },
        );
    }
    // SAFETY: a pair belongs to one tile, and a tile to one thread.
    unsafe { all_sums.get(first_pair, pairs.len()) }.copy_from_slice(sums);
}
