//! `sky`: the colour of the ray's direction behind what was blended, and the gradient of the sky's
//! numbers. What it is for: [`splatcore_core::sky`]. Twin: `splatcore_reference::twin::sky`.
//!
//! `blend_backward` takes all that lies behind a fragment from the rendered image, so that it needs
//! to know nothing of the sky.

use crate::frame::Frame;
use crate::harmonics::sh_basis;
use crate::simd::{Lanes, Level, dispatch};
use rayon::prelude::*;
use splatcore_core::Camera;
use splatcore_core::backend::{LearnerState, RenderOptions};
use splatcore_core::sky::{COEFFICIENTS, DEGREE, NUMBERS, Sky};
use std::sync::Arc;

/// Pixels that are taken together; parts are added up in their order, whichever thread made them.
const PART: usize = 4096;

/// Of a part of an image, a plane a channel: what is there of the ray's directions (camera axes)
/// and of the transmittance.
#[derive(Clone, Copy)]
struct Pixels<'a> {
    rays: &'a [[f32; 3]],
    transmittance: &'a [f32],
    /// World to camera.
    rotation: [[f32; 3]; 3],
}

/// The harmonics at up to a vector of pixels, and the transmittance, 0 beyond the last of them.
#[inline(always)]
fn basis<L: Lanes>(pixels: &Pixels<'_>, first: usize) -> ([L; 16], L) {
    let count = L::WIDTH.min(pixels.rays.len() - first);
    let (mut rays, mut left) = ([[0.0f32; 16]; 3], [0.0f32; 16]);
    for (i, ray) in pixels.rays[first..first + count].iter().enumerate() {
        (rays[0][i], rays[1][i], rays[2][i]) = (ray[0], ray[1], ray[2]);
    }
    left[..count].copy_from_slice(&pixels.transmittance[first..first + count]);
    let own = rays.each_ref().map(|plane| L::load(plane));
    let r = &pixels.rotation;
    let world = [0, 1, 2].map(|i: usize| {
        let rest = own[1].mul_add(L::splat(r[1][i]), own[2] * L::splat(r[2][i]));
        own[0].mul_add(L::splat(r[0][i]), rest)
    });
    (sh_basis(DEGREE, world), L::load(&left))
}

dispatch! {
    /// Adds the sky to planes of colour.
    fn put / put_kernel (sky: &Sky, pixels: &Pixels<'_>, colour: &mut [&mut [f32]; 3])
}

#[inline(always)]
fn put_kernel<L: Lanes>(sky: &Sky, pixels: &Pixels<'_>, colour: &mut [&mut [f32]; 3]) {
    for first in (0..pixels.rays.len()).step_by(L::WIDTH) {
        let (basis, left) = basis::<L>(pixels, first);
        let count = L::WIDTH.min(pixels.rays.len() - first);
        for (c, plane) in colour.iter_mut().enumerate() {
            let mut sum = L::splat(0.5);
            for k in 0..COEFFICIENTS {
                sum = basis[k].mul_add(L::splat(sky.coefficients[k][c]), sum);
            }
            let mut row = [0.0f32; 16];
            row[..count].copy_from_slice(&plane[first..first + count]);
            left.mul_add(sum, L::load(&row)).store(&mut row);
            plane[first..first + count].copy_from_slice(&row[..count]);
        }
    }
}

dispatch! {
    /// Sums over the pixels of the gradients of the sky's numbers.
    fn sums / sums_kernel (
        pixels: &Pixels<'_>, gradient: [&[f32]; 3], out: &mut [f64; NUMBERS]
    )
}

#[inline(always)]
fn sums_kernel<L: Lanes>(pixels: &Pixels<'_>, gradient: [&[f32]; 3], out: &mut [f64; NUMBERS]) {
    let mut sums = [[L::splat(0.0); COEFFICIENTS]; 3];
    for first in (0..pixels.rays.len()).step_by(L::WIDTH) {
        let (basis, left) = basis::<L>(pixels, first);
        let count = L::WIDTH.min(pixels.rays.len() - first);
        for (sums, plane) in sums.iter_mut().zip(gradient) {
            let mut row = [0.0f32; 16];
            row[..count].copy_from_slice(&plane[first..first + count]);
            let by = left * L::load(&row);
            for (sum, basis) in sums.iter_mut().zip(basis) {
                *sum = basis.mul_add(by, *sum);
            }
        }
    }
    for (c, sums) in sums.into_iter().enumerate() {
        for (k, sum) in sums.into_iter().enumerate() {
            let mut lanes = [0.0f32; 16];
            sum.store(&mut lanes);
            out[3 * k + c] = lanes.iter().map(|&lane| f64::from(lane)).sum();
        }
    }
}

/// These options with the sky that is known, if there is one.
pub(crate) fn under_sky(state: &LearnerState, render: &RenderOptions) -> RenderOptions {
    let known = Sky::of(&state.sky).map(Arc::new);
    RenderOptions {
        sky: known.or_else(|| render.sky.clone()),
        ..render.clone()
    }
}

fn rotation(camera: &Camera) -> [[f32; 3]; 3] {
    camera.rotation.map(|row| row.map(|v| v as f32))
}

impl Frame {
    /// Puts a sky behind the image. Call inside the thread pool.
    pub(crate) fn put_sky(&mut self, level: Level, camera: &Camera, sky: &Sky) {
        self.rays.follow(camera);
        let (rotation, [r, g, b]) = (rotation(camera), &mut self.colour);
        let parts = r.par_chunks_mut(PART).zip(g.par_chunks_mut(PART));
        parts
            .zip(b.par_chunks_mut(PART))
            .zip(self.rays.directions.par_chunks(PART))
            .zip(self.transmittance.par_chunks(PART))
            .for_each(|((((r, g), b), rays), transmittance)| {
                let pixels = Pixels {
                    rays,
                    transmittance,
                    rotation,
                };
                put(level, sky, &pixels, &mut [r, g, b]);
            });
    }

    /// The gradient of the numbers of the sky behind the image, given the image's. Call inside the
    /// thread pool.
    pub(crate) fn sky_gradient(
        &mut self,
        level: Level,
        camera: &Camera,
        gradient: [&[f32]; 3],
    ) -> Vec<f64> {
        self.rays.follow(camera);
        let rotation = rotation(camera);
        let parts: Vec<[f64; NUMBERS]> = (self.rays.directions.par_chunks(PART))
            .zip(self.transmittance.par_chunks(PART))
            .enumerate()
            .map(|(part, (rays, transmittance))| {
                let pixels = Pixels {
                    rays,
                    transmittance,
                    rotation,
                };
                let of_part = part * PART..part * PART + rays.len();
                let mut out = [0.0; NUMBERS];
                let planes = gradient.map(|plane| &plane[of_part.clone()]);
                sums(level, &pixels, planes, &mut out);
                out
            })
            .collect();
        let number = |k: usize| parts.iter().map(|part| part[k]).sum();
        (0..NUMBERS).map(number).collect()
    }
}
