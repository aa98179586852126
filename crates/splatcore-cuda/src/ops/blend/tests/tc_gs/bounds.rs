//! How far a pixel may be off follows from the digits of the product. A fragment's base-2 exponent
//! is the product of six coefficients v of the Gaussian with six monomials u of the pixel (TC-GS,
//! equation 11). With v rounded by eps = 2^-11 of itself (11 binary digits, to nearest), and u too
//! where it is not exact, the exponent is off by at most E = sum of |v u| (eps_v + eps_u + a few
//! roundings of f32): the paper's proposition A.3, for rounding to nearest. So alpha lies in alpha
//! 2^±E. Replacing the fragments of a pixel one by one, front to back, moves it by at most T
//! |difference of alpha| · brightest colour each, T being the largest transmittance in front that
//! the intervals allow; a fragment whose interval holds 1/255 may be there or not; where the
//! interval of T reaches 1e-4 the pixel may stop. Where T is rounded behind each fragment (by 2^-11
//! of itself), its interval grows by that much, and the pixel moves by at most that much of T times
//! the brightest colour.

use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Intersect;
use splatcore_core::semantics::{ALPHA_MIN, TILE, TRANSMITTANCE_MIN};
use splatcore_core::{Camera, Gaussians};
use splatcore_reference::twin::blend::{CutOffs, alpha};
use splatcore_reference::twin::{self, Scene, intersect, project::Splat};
use std::f64::consts::LOG2_E;

/// Relative error of a number rounded to 11 binary digits, half or TF32.
pub const ROUNDED: f64 = 1.0 / 2048.0;
/// Relative error of the few operations in f32 that a term goes through before and after it is
/// rounded to a half.
const SINGLE: f64 = 16.0 / 16_777_216.0;
/// Half of the smallest step of a half: what rounding loses of the smallest numbers.
const MIN: f64 = 1.0 / 33_554_432.0;
/// Largest error of an image in f32, as in the conformance suite's scenes.
const IMAGE_TOLERANCE: f64 = 2e-5;

/// E of a fragment, see the top of the file.
fn exponent_error(splat: &Splat, pixel: [usize; 2], local: bool) -> f64 {
    let [a, b, c] = splat.conic;
    let [a, b, c] = [-0.5 * LOG2_E * a, -LOG2_E * b, -0.5 * LOG2_E * c];
    let origin = pixel.map(|x| {
        if local {
            (x / TILE * TILE + TILE / 2) as f64
        } else {
            0.0
        }
    });
    let [x, y] = [0, 1].map(|i| pixel[i] as f64 + 0.5 - origin[i]);
    let [mx, my] = [0, 1].map(|i| splat.mean[i] - origin[i]);
    let constant = splat.opacity.log2() + a * mx * mx + b * mx * my + c * my * my;
    let terms = [
        (constant, 1.0),
        (-2.0 * a * mx - b * my, x),
        (-2.0 * c * my - b * mx, y),
        (a, x * x),
        (b, x * y),
        (c, y * y),
    ];
    // f32 loses digits of the constant before it is rounded: its own terms are larger than it is.
    let cancelled = (a * mx * mx).abs() + (b * mx * my).abs() + (c * my * my).abs();
    let loss = |v: f64, u: f64| {
        // Products of n + 1/2 with n below 16 have 10 digits at most.
        let exact = local || pixel.iter().all(|&p| p < TILE);
        (v * u).abs() * (if exact { ROUNDED } else { 2.0 * ROUNDED } + SINGLE) + MIN * u.abs()
    };
    terms.into_iter().map(|(v, u)| loss(v, u)).sum::<f64>() + SINGLE * cancelled
}

/// How far each pixel may be from the image in f32; `kept` is the relative error of a transmittance
/// as a pixel keeps it.
pub fn bounds(
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
    local: bool,
    kept: f64,
) -> Vec<f64> {
    let splats = twin::visible_splats(&Scene::from(scene), camera, options);
    // A backend's `exact` may keep pairs just below 1/255, which roundings may lift above it:
    // whatever reaches 1/255 in a pixel is in its list with `exact`, so every splat may be in every
    // list here.
    let cut_offs = match options.pipeline.intersect {
        Intersect::Exact => CutOffs::None,
        _ => CutOffs::Reference,
    };
    let tiles = intersect::intersect(&splats, camera, options.pipeline.intersect, cut_offs);
    let brightest = splats
        .iter()
        .flat_map(|splat| splat.colour)
        .chain(options.background.map(f64::from))
        .fold(0.0, f64::max);
    let cap = options.semantics.alpha_max as f64;
    let of_pixel = |pixel: [usize; 2]| {
        let list = &tiles.lists[pixel[1] / TILE * tiles.columns + pixel[0] / TILE];
        let (mut least, mut most, mut bound) = (1.0, 1.0, IMAGE_TOLERANCE);
        for splat in list.iter().map(|&k| &splats[k]) {
            let (_, exact) = alpha(splat, pixel.map(|x| x as f64 + 0.5));
            let error = exponent_error(splat, pixel, local).exp2();
            let (low, exact, high) = (exact / error, exact.min(cap), (exact * error).min(cap));
            if high < ALPHA_MIN {
                continue;
            }
            if least * (1.0 - high) * (1.0 - kept) < TRANSMITTANCE_MIN {
                bound += most * brightest;
                break;
            }
            let low = if low < ALPHA_MIN { 0.0 } else { low.min(cap) };
            bound += most * (high - exact).max(exact - low) * brightest;
            least *= (1.0 - high) * (1.0 - kept);
            most *= (1.0 - low) * (1.0 + kept);
            bound += most * kept * brightest;
        }
        bound
    };
    let (width, height) = (camera.width as usize, camera.height as usize);
    (0..width * height)
        .map(|i| of_pixel([i % width, i / width]))
        .collect()
}
