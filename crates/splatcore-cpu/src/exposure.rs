//! `exposure`: the photo's own affine transform of colours, between `blend` and `loss`, and its
//! update.
//!
//! `image' = A rgb + b` goes to the loss; back come dL/drgb = A^T dL/dimage', and the sums over
//! pixels of dL/dimage' rgb^T and dL/dimage', the gradients of A and b. The rendered image stays as
//! it was: `blend_backward` reads it. What it is for: [`splatcore_core::exposure`]. Twin:
//! `splatcore_reference::twin::exposure`.

use crate::adam::{Correction, EPSILON};
use rayon::prelude::*;
use splatcore_core::backend::BETAS;
use splatcore_core::exposure::{Exposure, Exposures, IDENTITY, PULL, of_colour};

/// Pixels that are summed together; parts are added up in their order, whichever thread made them.
const PART: usize = 4096;

/// Buffers reused from step to step.
#[derive(Default)]
pub struct Exposed {
    /// What the loss sees, a plane a channel.
    pub image: [Vec<f32>; 3],
    sums: Vec<[f64; 12]>,
}

impl Exposed {
    /// Fills `image` from the rendered planes.
    pub fn apply(&mut self, exposure: &Exposure, colour: &[Vec<f32>; 3]) {
        let [r, g, b] = colour;
        for (row, plane) in exposure.chunks_exact(4).zip(&mut self.image) {
            plane.resize(r.len(), 0.0);
            let parts = plane.par_chunks_mut(PART).zip(r.par_chunks(PART));
            let parts = parts.zip(g.par_chunks(PART)).zip(b.par_chunks(PART));
            parts.for_each(|(((out, r), g), b)| {
                for i in 0..out.len() {
                    out[i] = row[0] * r[i] + (row[1] * g[i] + (row[2] * b[i] + row[3]));
                }
            });
        }
    }

    /// Turns the gradient of `image` into that of the rendered planes, in place, and returns that
    /// of the transform.
    pub fn backward(
        &mut self,
        exposure: &Exposure,
        colour: &[Vec<f32>; 3],
        gradient: &mut [Vec<f32>; 3],
    ) -> [f64; 12] {
        let pixels = colour[0].len();
        self.sums.clear();
        self.sums.resize(pixels.div_ceil(PART), [0.0; 12]);
        let [red, green, blue] = gradient;
        let parts = red.par_chunks_mut(PART).zip(green.par_chunks_mut(PART));
        let parts = parts.zip(blue.par_chunks_mut(PART)).zip(&mut self.sums);
        parts
            .enumerate()
            .for_each(|(part, (((red, green), blue), sums))| {
                for i in 0..red.len() {
                    let g = [red[i], green[i], blue[i]];
                    let rgb = [0, 1, 2].map(|k: usize| colour[k][part * PART + i]);
                    for c in 0..3 {
                        for k in 0..3 {
                            sums[4 * c + k] += (g[c] * rgb[k]) as f64;
                        }
                        sums[4 * c + 3] += g[c] as f64;
                    }
                    let back = |k: usize| {
                        exposure[k] * g[0] + (exposure[4 + k] * g[1] + exposure[8 + k] * g[2])
                    };
                    (red[i], green[i], blue[i]) = (back(0), back(1), back(2));
                }
            });
        let mut total = [0.0; 12];
        for sums in &self.sums {
            for (total, sum) in total.iter_mut().zip(sums) {
                *total += sum;
            }
        }
        total
    }
}

/// What a photo with alpha stands on when the rendered image is on `background`.
pub fn background(exposure: Option<&Exposure>, background: [f32; 3]) -> [f32; 3] {
    exposure.map_or(background, |exposure| of_colour(exposure, background))
}

/// Adam on one view's transform, corrected by how often that view was seen, and the pull of the
/// mean of all views towards the identity ([`PULL`]).
pub fn update(exposures: &mut Exposures, view: usize, gradient: &[f64; 12], rate: f32) {
    let views = exposures.len() as f64;
    let mut deviation = [0.0f64; 12];
    for parameters in &exposures.parameters {
        for k in 0..12 {
            deviation[k] += (parameters[k] - IDENTITY[k]) as f64;
        }
    }
    exposures.seen[view] += 1;
    let (parameters, first, second) = (
        &mut exposures.parameters[view],
        &mut exposures.first[view],
        &mut exposures.second[view],
    );
    let correction = Correction::new(exposures.seen[view], BETAS);
    let [beta1, beta2] = correction.betas;
    for k in 0..12 {
        let g = gradient[k] as f32;
        let m = beta1 * first[k] + (1.0 - beta1) * g;
        let v = beta2 * second[k] + (1.0 - beta2) * g * g;
        let rate = (rate as f64 * correction.first) as f32;
        let moved = rate * m / (v.sqrt() * correction.second + EPSILON);
        parameters[k] -= moved + PULL * (deviation[k] / views) as f32;
        (first[k], second[k]) = (m, v);
    }
}
