//! `blend_backward`: from the gradient of the image to those of every splat's centre, conic,
//! opacity and colour.
//!
//! With B the colour behind fragment i as it would look through full transmittance, the pixel is
//! ... + T_i (alpha_i c_i + (1 - alpha_i) B_i), so dL/dc_i = T_i alpha_i g and dL/dalpha_i = T_i
//! g·(c_i - B_i). Walking back to front, B starts as the background and takes each fragment in: no
//! division anywhere.

use super::blend::walk;
use super::cut_offs::{CutOffs, Doubt};
use super::intersect::TileLists;
use super::project::Splat;
use super::sky;
use splatcore_core::Camera;
use splatcore_core::backend::RenderOptions;
use splatcore_core::semantics::TILE;
use std::collections::BTreeMap;

/// Gradients with respect to what [`super::project`] made.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SplatGradient {
    /// Centre, per pixel.
    pub mean: [f64; 2],
    /// Conic xx, xy, yy; xy counts once, as the coefficient of dx dy.
    pub conic: [f64; 3],
    /// After the sigmoid.
    pub opacity: f64,
    /// After the clamp.
    pub colour: [f64; 3],
    /// As `mean`, but absolute values of the sums over each tile are added up (see
    /// [`splatcore_core::backend::Statistic::Absolute`]).
    pub absolute: [f64; 2],
}

/// One gradient a splat. `image_gradient` is asked pixel by pixel, row by row, and told what is in
/// doubt there; `scale_behind` gets the alpha of every fragment and says by what the colour behind
/// it is to be multiplied: 1, but to find what errors there do.
pub fn blend_backward(
    splats: &[Splat],
    tiles: &TileLists,
    camera: &Camera,
    options: &RenderOptions,
    cut_offs: CutOffs,
    image_gradient: &mut dyn FnMut(usize, &Doubt) -> [f64; 3],
    scale_behind: &mut dyn FnMut(f64) -> f64,
) -> Vec<SplatGradient> {
    let mut gradients = vec![SplatGradient::default(); splats.len()];
    let (width, height) = (camera.width as usize, camera.height as usize);
    // Sums of a row of tiles: (tile, splat) to dL/dmean.
    let mut of_tiles: BTreeMap<(usize, usize), [f64; 2]> = BTreeMap::new();
    for i in 0..width * height {
        if i % (width * TILE) == 0 {
            add_absolute(&mut of_tiles, &mut gradients);
        }
        let pixel = walk(i % width, i / width, splats, tiles, options, cut_offs);
        let g = image_gradient(i, &pixel.doubt);
        let mut behind = sky::behind(options, camera, [i % width, i / width]);
        for fragment in pixel.fragments.iter().rev() {
            let splat = &splats[fragment.splat];
            let out = &mut gradients[fragment.splat];
            let (t, alpha) = (fragment.transmittance, fragment.alpha);
            let (mut d_alpha, scale) = (0.0, scale_behind(alpha));
            for c in 0..3 {
                out.colour[c] += t * alpha * g[c];
                d_alpha += t * g[c] * (splat.colour[c] - scale * behind[c]);
                behind[c] = alpha * splat.colour[c] + (1.0 - alpha) * behind[c];
            }
            if fragment.capped {
                continue;
            }
            // alpha = o exp(power): d alpha / d o = alpha / o, d alpha / d power = alpha.
            out.opacity += d_alpha * alpha / splat.opacity;
            let d_power = d_alpha * alpha;
            let ([dx, dy], [a, b, c]) = (fragment.offset, splat.conic);
            out.conic[0] += d_power * -0.5 * dx * dx;
            out.conic[1] += d_power * -dx * dy;
            out.conic[2] += d_power * -0.5 * dy * dy;
            // The offset is pixel minus centre, so the sign turns.
            let d_mean = [d_power * (a * dx + b * dy), d_power * (b * dx + c * dy)];
            let of_tile = of_tiles
                .entry((i % width / TILE, fragment.splat))
                .or_default();
            for k in 0..2 {
                out.mean[k] += d_mean[k];
                of_tile[k] += d_mean[k];
            }
        }
    }
    add_absolute(&mut of_tiles, &mut gradients);
    gradients
}

/// Adds the absolute values of the sums of a row of tiles, and clears them.
fn add_absolute(
    of_tiles: &mut BTreeMap<(usize, usize), [f64; 2]>,
    gradients: &mut [SplatGradient],
) {
    for ((_, splat), sums) in std::mem::take(of_tiles) {
        for (total, sum) in gradients[splat].absolute.iter_mut().zip(sums) {
            *total += sum.abs();
        }
    }
}
