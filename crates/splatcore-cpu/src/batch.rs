//! `accumulate`: the gradients of a step's frames, added up in the order of the frames.

use crate::camera::KernelCamera;
use crate::frame::{Frame, ROWS};
use crate::project_backward::GradientRows;
use crate::rows::{Rows, chunk_backward, chunk_of, slice_scene};
use crate::scene::Scene;
use crate::shared::Disjoint;
use crate::simd::Level;
use rayon::prelude::*;
use splatcore_core::Gaussians;
use splatcore_core::backend::Statistic;
use std::ops::Range;

/// Sums over the frames of a step so far; empty buffers cost nothing.
#[derive(Default)]
pub(crate) struct Batch {
    /// Of the frames' gradients.
    gradients: Gaussians,
    /// Of the norms that densification looks at, in the frames that have the Gaussian in view,
    /// `[n]`.
    ndc_norm: Vec<f32>,
    /// Frames that have the Gaussian in view, `[n]`.
    pub in_view: Vec<u32>,
    /// Whether it has a fragment in any, `[n]`.
    drawn: Vec<bool>,
    /// Frames.
    frames: usize,
}

/// The arrays of a [`Batch`] as threads share them.
struct Shared<'a> {
    gradients: Rows<'a>,
    ndc_norm: Disjoint<'a, f32>,
    in_view: Disjoint<'a, u32>,
    drawn: Disjoint<'a, bool>,
}

impl Batch {
    /// Starts a step of `n` Gaussians of this stored degree.
    pub fn start(&mut self, n: usize, sh_degree: u8) {
        if self.gradients.len() != n || self.gradients.sh_degree != sh_degree {
            self.gradients = Gaussians::zeros(n, sh_degree);
            self.ndc_norm = vec![0.0; n];
            self.in_view = vec![0; n];
            self.drawn = vec![false; n];
        }
        self.frames = 0;
    }

    /// Adds the gradients of the last frame.
    pub fn add(
        &mut self,
        level: Level,
        frame: &Frame,
        scene: Scene<'_>,
        camera: &KernelCamera,
        statistic: Statistic,
    ) {
        let (stored, fresh) = (self.gradients.sh_degree, self.frames == 0);
        self.frames += 1;
        let shared = &Shared {
            gradients: Rows::new(&mut self.gradients),
            ndc_norm: Disjoint::new(&mut self.ndc_norm),
            in_view: Disjoint::new(&mut self.in_view),
            drawn: Disjoint::new(&mut self.drawn),
        };
        (0..frame.counts.len()).into_par_iter().for_each_init(
            || (Gaussians::zeros(ROWS, stored), vec![0.0f32; ROWS]),
            |(scratch, norms), chunk| {
                let first = chunk * ROWS;
                let rows = ROWS.min(shared.gradients.len - first);
                let mut target = GradientRows::of(first, rows, scratch, norms, statistic);
                let scene = slice_scene(&scene, first, rows);
                chunk_backward(level, frame, chunk, scene, camera, &mut target);
                // SAFETY: one thread a chunk.
                unsafe { shared.add(frame, chunk, rows, scratch, norms, fresh) }
            },
        );
    }

    /// Writes the mean gradients of `rows` Gaussians from `first` on to the first rows of
    /// `gradients`, of their harmonics the first `sh_used` floats, and the sums of their norms.
    pub fn mean(
        &self,
        first: usize,
        rows: usize,
        sh_used: usize,
        gradients: &mut Gaussians,
        ndc_norm: &mut [f32],
    ) {
        let share = 1.0 / self.frames as f32;
        let all = &self.gradients;
        for i in 0..rows {
            gradients.means[i] = all.means[first + i].map(|g| share * g);
            gradients.log_scales[i] = all.log_scales[first + i].map(|g| share * g);
            gradients.rotations[i] = all.rotations[first + i].map(|g| share * g);
            gradients.opacity_logits[i] = share * all.opacity_logits[first + i];
        }
        let stride = all.coefficients();
        let from = all.sh[stride * first..].chunks_exact(stride);
        for (to, from) in gradients.sh.chunks_exact_mut(stride).take(rows).zip(from) {
            for (to, from) in to.iter_mut().zip(from).take(sh_used / 3) {
                *to = from.map(|g| share * g);
            }
        }
        ndc_norm[..rows].copy_from_slice(&self.ndc_norm[first..first + rows]);
    }

    /// The rows with a fragment among `rows` from `first` on, as runs of neighbours.
    pub fn runs(&self, first: usize, rows: usize) -> Vec<Range<usize>> {
        let drawn = &self.drawn[first..first + rows];
        let runs = drawn.chunk_by(|a, b| a == b).scan(0, |start, run| {
            let range = *start..*start + run.len();
            *start = range.end;
            Some((run[0], range))
        });
        runs.filter_map(|(drawn, range)| drawn.then_some(range))
            .collect()
    }
}

impl Shared<'_> {
    /// Adds what a frame has for the rows of a chunk; to nothing if it is the step's first.
    ///
    /// # Safety
    /// No two threads may add to the same chunk.
    unsafe fn add(
        &self,
        frame: &Frame,
        chunk: usize,
        rows: usize,
        of_frame: &Gaussians,
        norms: &[f32],
        fresh: bool,
    ) {
        let (first, stride) = (chunk * ROWS, self.gradients.sh_stride);
        // SAFETY: the caller's promise.
        let (sums, ndc_norm, in_view, drawn) = unsafe {
            (
                self.gradients.get(first, rows),
                self.ndc_norm.get(first, rows),
                self.in_view.get(first, rows),
                self.drawn.get(first, rows),
            )
        };
        if fresh {
            for array in [
                &mut *sums.means,
                &mut *sums.log_scales,
                &mut *sums.rotations,
                &mut *sums.opacity_logits,
                &mut *sums.sh,
                &mut *ndc_norm,
            ] {
                array.fill(0.0);
            }
            in_view.fill(0);
            drawn.fill(false);
        }
        for (seen, &frame) in in_view.iter_mut().zip(&frame.in_view[first..first + rows]) {
            *seen += u32::from(frame);
        }
        let (splats, slots) = chunk_of(frame, chunk);
        for (splat, &[_, pairs]) in splats.iter().zip(slots) {
            let i = splat.gaussian as usize - first;
            add(&mut sums.means[3 * i..3 * i + 3], &of_frame.means[i]);
            add(
                &mut sums.log_scales[3 * i..3 * i + 3],
                &of_frame.log_scales[i],
            );
            add(
                &mut sums.rotations[4 * i..4 * i + 4],
                &of_frame.rotations[i],
            );
            sums.opacity_logits[i] += of_frame.opacity_logits[i];
            let row = stride * i..stride * (i + 1);
            add(&mut sums.sh[row.clone()], &of_frame.sh.as_flattened()[row]);
            ndc_norm[i] += norms[i] * frame.in_view[first + i] as f32;
            drawn[i] |= pairs > 0;
        }
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}
