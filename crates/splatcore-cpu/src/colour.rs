//! `colour`: the photo's colour model between `blend` and `loss`, and the update of its numbers.
//!
//! The loss sees what the model makes of the image; back come the gradient by the image, and sums
//! over pixels of that by each factor of the model. The rendered image stays as it was:
//! `blend_backward` reads it. What it is for: [`splatcore_core::colour`]. Twin:
//! `splatcore_reference::twin::colour`.

use crate::adam::{Correction, EPSILON};
use rayon::prelude::*;
use splatcore_core::Camera;
use splatcore_core::backend::BETAS;
use splatcore_core::colour::{ColourPlan, ColourState, ColourTable, Gauge, Look, Pixels};

/// Pixels that are summed together, at least; parts are added up in their order, whichever thread
/// made them.
const PART: usize = 4096;
/// Numbers of a row whose mean over the rows a thread takes.
const NUMBERS: usize = 2048;

/// Buffers reused from step to step.
#[derive(Default)]
pub struct Coloured {
    /// What the loss sees, a plane a channel.
    pub image: [Vec<f32>; 3],
    sums: Vec<Vec<f64>>,
}

impl Coloured {
    /// Fills `image` from the rendered planes.
    pub fn apply(&mut self, look: &Look, camera: &Camera, colour: &[Vec<f32>; 3]) {
        for (plane, rendered) in self.image.iter_mut().zip(colour) {
            plane.resize(rendered.len(), 0.0);
        }
        let [r, g, b] = &mut self.image;
        let parts = r.par_chunks_mut(PART).zip(g.par_chunks_mut(PART));
        let parts = parts.zip(b.par_chunks_mut(PART)).enumerate();
        parts.for_each(|(part, ((r, g), b))| {
            let rendered = part_of(colour, part * PART, r.len());
            let at = pixels(camera, part * PART);
            look.entry().apply(look.factors(), at, rendered, [r, g, b]);
        });
    }

    /// Turns the gradient of `image` into that of the rendered planes, in place, and returns those
    /// of the photo's and of the camera's numbers.
    pub fn backward(
        &mut self,
        look: &Look,
        camera: &Camera,
        colour: &[Vec<f32>; 3],
        gradient: &mut [Vec<f32>; 3],
    ) -> [Vec<f64>; 2] {
        let entry = look.entry();
        // No more sums than pixels.
        let part_size = PART.max(entry.factor_count);
        let count = colour[0].len().div_ceil(part_size);
        let zeros = vec![0.0; entry.factor_count];
        self.sums.clear();
        self.sums.resize(count, zeros.clone());
        let [r, g, b] = gradient;
        let parts = r.par_chunks_mut(part_size).zip(g.par_chunks_mut(part_size));
        let parts = parts.zip(b.par_chunks_mut(part_size)).zip(&mut self.sums);
        parts.enumerate().for_each(|(part, (((r, g), b), sums))| {
            let rendered = part_of(colour, part * part_size, r.len());
            let at = pixels(camera, part * part_size);
            entry.backward(look.factors(), at, rendered, [r, g, b], sums);
        });
        let total = self.sums.iter().fold(zeros, |mut total, sums| {
            total.iter_mut().zip(sums).for_each(|(t, sum)| *t += sum);
            total
        });
        let numbers = look.numbers();
        let [photo, camera] =
            numbers.map(|row| -> Vec<f64> { row.iter().map(|&v| v.into()).collect() });
        entry.chain([&photo, &camera], &total)
    }
}

fn part_of(planes: &[Vec<f32>; 3], first: usize, count: usize) -> [&[f32]; 3] {
    planes.each_ref().map(|plane| &plane[first..first + count])
}

fn pixels(camera: &Camera, first: usize) -> Pixels {
    Pixels {
        width: camera.width as usize,
        height: camera.height as usize,
        first,
    }
}

/// What a photo with alpha stands on when the rendered image is on `background`.
pub fn background(look: Option<&Look>, background: [f32; 3]) -> [f32; 3] {
    look.map_or(background, |look| {
        look.entry().of_colour(look.factors(), background)
    })
}

/// Adam's step on the numbers of each view and of its camera, in the order of the views, given
/// their gradients; each with the gauge of the model ([`Gauge`]). `cameras` says which took each
/// view.
pub fn update(
    colours: &mut ColourState,
    cameras: &[usize],
    plan: &ColourPlan,
    gradients: &[(usize, [Vec<f64>; 2])],
) {
    let entry = plan.model.entry();
    if colours.model != Some(plan.model) {
        let count = cameras.iter().max().map_or(0, |last| last + 1);
        *colours = ColourState::fresh(plan.model, cameras.len(), count);
    }
    for (view, [of_photo, of_camera]) in gradients {
        let (view, camera) = (*view, cameras[*view]);
        let (photos, shared) = (&mut colours.photos, &mut colours.cameras);
        match entry.gauge {
            Gauge::Pull(share) => {
                let off = mean_off(photos, entry.photo);
                let back = off.into_iter().map(|off| share * off as f32).collect();
                adam(photos, view, of_photo, plan.photo_rate, back);
            }
            Gauge::ZeroMean => {
                adam(photos, view, of_photo, plan.photo_rate, Vec::new());
                let off = mean_off(photos, entry.photo);
                let rows = photos.parameters.par_chunks_exact_mut(entry.photo.len());
                rows.for_each(|row| {
                    row.iter_mut()
                        .zip(&off)
                        .for_each(|(n, off)| *n -= *off as f32)
                });
            }
        }
        if !of_camera.is_empty() {
            adam(shared, camera, of_camera, plan.camera_rate, Vec::new());
        }
    }
}

/// What the mean over the rows differs from the start, number by number, summed in the order of the
/// rows.
fn mean_off(table: &ColourTable, start: &[f32]) -> Vec<f64> {
    let mut off = vec![0.0; table.width];
    let parts = off.par_chunks_mut(NUMBERS).zip(start.par_chunks(NUMBERS));
    parts.enumerate().for_each(|(part, (off, start))| {
        for row in table.parameters.chunks_exact(table.width) {
            for ((off, start), number) in off.iter_mut().zip(start).zip(&row[part * NUMBERS..]) {
                *off += (number - start) as f64;
            }
        }
        let rows = table.rows() as f64;
        off.iter_mut().for_each(|off| *off /= rows);
    });
    off
}

/// Adam on a row, corrected by how often it was seen; each number also goes `back` by so much.
pub(crate) fn adam(
    table: &mut ColourTable,
    row: usize,
    gradient: &[f64],
    rate: f32,
    back: Vec<f32>,
) {
    table.seen[row] += 1;
    let correction = Correction::new(table.seen[row], BETAS);
    let [beta1, beta2] = correction.betas;
    let rate = (rate as f64 * correction.first) as f32;
    for (k, at) in table.places(row).enumerate() {
        let (g, first, second) = (gradient[k] as f32, table.first[at], table.second[at]);
        let m = beta1 * first + (1.0 - beta1) * g;
        let v = beta2 * second + (1.0 - beta2) * g * g;
        let moved = rate * m / (v.sqrt() * correction.second + EPSILON);
        table.parameters[at] -= moved + back.get(k).copied().unwrap_or(0.0);
        (table.first[at], table.second[at]) = (m, v);
    }
}
