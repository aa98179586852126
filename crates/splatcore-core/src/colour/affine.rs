//! `affine`: what the camera made of a colour is `A rgb + b`, 3x3 and 3 numbers for each photo.
//!
//! As INRIA's trainer does it (graphdeco-inria/gaussian-splatting, "exposure compensation"; idea:
//! Kerbl et al. 2024, A Hierarchical 3D Gaussian Representation), but for two things: each photo's
//! Adam counts its own steps, and the mean transform is pulled to the identity.

use super::model::{Gauge, Model, Rates};
use super::number::Real;

/// The rows of `[A | b]`, 3x4, one after the other: what red, green and blue become.
pub struct Affine;

impl Model for Affine {
    const NAME: &'static str = "affine";
    const ABOUT: &'static str = "a 3x4 matrix a photo";
    const PHOTO: &'static [f32] = &[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0];
    const CAMERA: &'static [f32] = &[];
    const FACTORS: usize = 12;
    const PHOTO_IS_FACTORS: bool = true;
    const GAUGE: Gauge = Gauge::Pull(0.1);
    const RATES: Rates = Rates::Given;

    fn factors<T: Real>(photo: &[T], _: &[T], factors: &mut [T]) {
        factors.copy_from_slice(photo);
    }

    fn colour<T: Real>(rows: &[T], _: [T; 2], [r, g, b]: [T; 3]) -> [T; 3] {
        [0, 4, 8].map(|k: usize| rows[k] * r + (rows[k + 1] * g + (rows[k + 2] * b + rows[k + 3])))
    }

    fn expose(photo: &mut [f32], stops: f32) {
        for diagonal in [0, 5, 10] {
            photo[diagonal] = stops.exp2();
        }
    }

    fn backward(
        rows: &[f32],
        _: [f32; 2],
        rgb: [f32; 3],
        g: [f32; 3],
        sums: &mut [f64],
    ) -> [f32; 3] {
        for c in 0..3 {
            for k in 0..3 {
                sums[4 * c + k] += (g[c] * rgb[k]) as f64;
            }
            sums[4 * c + 3] += g[c] as f64;
        }
        [0, 1, 2].map(|k: usize| rows[k] * g[0] + (rows[4 + k] * g[1] + rows[8 + k] * g[2]))
    }
}
