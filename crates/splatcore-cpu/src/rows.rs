//! The rows of Gaussians that threads share, [`ROWS`] at a time, and `project_backward` over all of
//! them.

use crate::camera::KernelCamera;
use crate::depth_backward::{depth_by_mean, depth_gradient};
use crate::frame::{Frame, ROWS};
use crate::project::Splat;
use crate::project_backward::{GradientRows, project_backward};
use crate::scene::Scene;
use crate::shared::Disjoint;
use crate::simd::Level;
use rayon::prelude::*;
use splatcore_core::backend::{RenderOptions, Statistic};
use splatcore_core::columns::Values;
use splatcore_core::{Camera, Gaussians};

/// The arrays of Gaussians as flat slices that threads share by disjoint rows.
pub(crate) struct Rows<'a> {
    means: Disjoint<'a, f32>,
    log_scales: Disjoint<'a, f32>,
    rotations: Disjoint<'a, f32>,
    pub opacity_logits: Disjoint<'a, f32>,
    sh: Disjoint<'a, f32>,
    pub sh_stride: usize,
    pub len: usize,
}

/// Some rows of [`Rows`].
pub(crate) struct RowSlices<'a> {
    pub means: &'a mut [f32],
    pub log_scales: &'a mut [f32],
    pub rotations: &'a mut [f32],
    pub opacity_logits: &'a mut [f32],
    pub sh: &'a mut [f32],
}

impl<'a> Rows<'a> {
    pub fn new(gaussians: &'a mut Gaussians) -> Self {
        let (len, sh_stride) = (gaussians.len(), 3 * gaussians.coefficients());
        Self {
            means: Disjoint::new(gaussians.means.as_flattened_mut()),
            log_scales: Disjoint::new(gaussians.log_scales.as_flattened_mut()),
            rotations: Disjoint::new(gaussians.rotations.as_flattened_mut()),
            opacity_logits: Disjoint::new(&mut gaussians.opacity_logits),
            sh: Disjoint::new(gaussians.sh.as_flattened_mut()),
            sh_stride,
            len,
        }
    }

    /// # Safety
    /// No two live results may overlap.
    pub unsafe fn get(&self, first: usize, rows: usize) -> RowSlices<'_> {
        // SAFETY: the caller's promise.
        unsafe {
            RowSlices {
                means: self.means.get(3 * first, 3 * rows),
                log_scales: self.log_scales.get(3 * first, 3 * rows),
                rotations: self.rotations.get(4 * first, 4 * rows),
                opacity_logits: self.opacity_logits.get(first, rows),
                sh: self.sh.get(self.sh_stride * first, self.sh_stride * rows),
            }
        }
    }
}

impl RowSlices<'_> {
    pub fn scene<'a>(&'a self, sh_stride: usize, sh_degree: u8, columns: Values<'a>) -> Scene<'a> {
        Scene {
            columns,
            means: self.means,
            log_scales: self.log_scales,
            rotations: self.rotations,
            opacity_logits: self.opacity_logits,
            sh: self.sh,
            sh_stride,
            sh_degree,
        }
    }
}

/// The rows `first..first + rows` of a scene.
pub(crate) fn slice_scene<'a>(scene: &Scene<'a>, first: usize, rows: usize) -> Scene<'a> {
    Scene {
        means: &scene.means[3 * first..3 * (first + rows)],
        log_scales: &scene.log_scales[3 * first..3 * (first + rows)],
        rotations: &scene.rotations[4 * first..4 * (first + rows)],
        opacity_logits: &scene.opacity_logits[first..first + rows],
        sh: &scene.sh[scene.sh_stride * first..scene.sh_stride * (first + rows)],
        columns: scene.columns.rows(first, rows),
        ..*scene
    }
}

/// The splats of a chunk and where their numbers of pairs are.
pub(crate) fn chunk_of(frame: &Frame, chunk: usize) -> (&[Splat], &[[u32; 2]]) {
    let range = chunk * ROWS..chunk * ROWS + frame.counts[chunk] as usize;
    (&frame.splats[range.clone()], &frame.lists.slots[range])
}

/// Writes the gradients of the Gaussians of a chunk that have a splat; `scene` holds the chunk's
/// rows only.
pub(crate) fn chunk_backward(
    level: Level,
    frame: &Frame,
    chunk: usize,
    scene: Scene<'_>,
    camera: &KernelCamera,
    out: &mut GradientRows<'_>,
) {
    let (splats, slots) = chunk_of(frame, chunk);
    let pairs = &frame.lists.pairs_of_splats;
    project_backward(level, scene, camera, splats, slots, pairs, &frame.sums, out);
    if frame.depth_sums.is_empty() {
        return;
    }
    for (splat, &[first, count]) in splats.iter().zip(slots) {
        let pairs = &pairs[first as usize..(first + count) as usize];
        let along = depth_gradient(&frame.depth_sums, pairs, splat);
        let at = 3 * (splat.gaussian as usize - out.first);
        let by_mean = depth_by_mean(camera, [0, 1, 2].map(|k| scene.means[at + k]));
        for (gradient, axis) in out.means[at..at + 3].iter_mut().zip(by_mean) {
            *gradient += along * axis;
        }
    }
}

/// Writes the gradients of every Gaussian that has a splat; leaves the other rows alone.
pub(crate) fn rows_backward(
    level: Level,
    frame: &Frame,
    scene: Scene<'_>,
    camera: &Camera,
    options: &RenderOptions,
    out: &mut Rows<'_>,
) {
    let camera = &KernelCamera::new(camera, options);
    (0..frame.counts.len()).into_par_iter().for_each_init(
        || vec![0.0; ROWS],
        |ndc_norm, chunk| {
            let first = chunk * ROWS;
            let rows = ROWS.min(out.len - first);
            // SAFETY: one thread a chunk.
            let target = unsafe { out.get(first, rows) };
            let mut target = GradientRows {
                first,
                means: target.means,
                log_scales: target.log_scales,
                rotations: target.rotations,
                opacity_logits: target.opacity_logits,
                sh: target.sh,
                ndc_norm: &mut ndc_norm[..rows],
                statistic: Statistic::Mean,
            };
            let scene = slice_scene(&scene, first, rows);
            chunk_backward(level, frame, chunk, scene, camera, &mut target);
        },
    );
}
