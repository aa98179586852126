//! From a frame's sums to gradients and updated parameters, [`ROWS`] Gaussians at a time:
//! `project_backward`, the regularisers, `adam`, the statistics and the noise run one after another
//! while the rows are in the cache.

use crate::adam::{Correction, Group, adam};
use crate::camera::KernelCamera;
use crate::frame::{Frame, ROWS};
use crate::learned_masks::MaskRows;
use crate::project::Splat;
use crate::project_backward::{GradientRows, project_backward};
use crate::scene::Scene;
use crate::shared::Disjoint;
use crate::simd::Level;
use rayon::prelude::*;
use splatcore_core::backend::{LearnerState, RenderOptions, Statistic, StepPlan};
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::random::normal3;
use splatcore_core::{Camera, Gaussians, sh};
use std::ops::Range;

/// The arrays of Gaussians as flat slices that threads share by disjoint rows.
pub(crate) struct Rows<'a> {
    means: Disjoint<'a, f32>,
    log_scales: Disjoint<'a, f32>,
    rotations: Disjoint<'a, f32>,
    opacity_logits: Disjoint<'a, f32>,
    sh: Disjoint<'a, f32>,
    sh_stride: usize,
    len: usize,
}

/// Some rows of [`Rows`].
struct RowSlices<'a> {
    means: &'a mut [f32],
    log_scales: &'a mut [f32],
    rotations: &'a mut [f32],
    opacity_logits: &'a mut [f32],
    sh: &'a mut [f32],
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
    unsafe fn get(&self, first: usize, rows: usize) -> RowSlices<'_> {
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
    fn scene<'a>(&'a self, sh_stride: usize, sh_degree: u8, smoothing: &'a [f32]) -> Scene<'a> {
        Scene {
            smoothing,
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
fn slice_scene<'a>(scene: &Scene<'a>, first: usize, rows: usize) -> Scene<'a> {
    Scene {
        means: &scene.means[3 * first..3 * (first + rows)],
        log_scales: &scene.log_scales[3 * first..3 * (first + rows)],
        rotations: &scene.rotations[4 * first..4 * (first + rows)],
        opacity_logits: &scene.opacity_logits[first..first + rows],
        sh: &scene.sh[scene.sh_stride * first..scene.sh_stride * (first + rows)],
        smoothing: slice_filters(scene.smoothing, first, rows),
        ..*scene
    }
}

/// The same rows of the 3D filter, if there is one.
fn slice_filters(smoothing: &[f32], first: usize, rows: usize) -> &[f32] {
    match smoothing.is_empty() {
        true => smoothing,
        false => &smoothing[first..first + rows],
    }
}

/// The splats of a chunk and where their numbers of pairs are.
pub(crate) fn chunk_of(frame: &Frame, chunk: usize) -> (&[Splat], &[[u32; 2]]) {
    let range = chunk * ROWS..chunk * ROWS + frame.counts[chunk] as usize;
    (&frame.splats[range.clone()], &frame.lists.slots[range])
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
            let (splats, slots) = chunk_of(frame, chunk);
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
            project_backward(
                level,
                slice_scene(&scene, first, rows),
                camera,
                splats,
                slots,
                &frame.lists.pairs_of_splats,
                &frame.sums,
                &mut target,
            );
        },
    );
}

/// `project_backward`, regularisers, `adam`, statistics and noise for all Gaussians; regularisers
/// and `adam` for those with a splat alone if Adam is sparse.
pub(crate) fn update(
    level: Level,
    frame: &Frame,
    state: &mut LearnerState,
    camera: &Camera,
    plan: &StepPlan,
) {
    let stored = state.gaussians.sh_degree;
    let update = Update::new(level, frame, state, camera, plan);
    (0..frame.counts.len()).into_par_iter().for_each_init(
        || (Gaussians::zeros(ROWS, stored), vec![0.0f32; ROWS]),
        // SAFETY: one thread a chunk.
        |(gradients, ndc_norm), chunk| unsafe { update.chunk(chunk, gradients, ndc_norm) },
    );
}

/// What all chunks of a step share.
struct Update<'a> {
    level: Level,
    frame: &'a Frame,
    plan: &'a StepPlan,
    camera: KernelCamera,
    /// Gaussians in the scene.
    count: usize,
    /// Degree of the harmonics in use.
    degree: u8,
    correction: Correction,
    parameters: Rows<'a>,
    first: Rows<'a>,
    second: Rows<'a>,
    gradient_sum: Disjoint<'a, f32>,
    seen: Disjoint<'a, u32>,
    smoothing: &'a [f32],
    /// If this step learns any.
    masks: Option<MaskRows<'a>>,
}

impl<'a> Update<'a> {
    fn new(
        level: Level,
        frame: &'a Frame,
        state: &'a mut LearnerState,
        camera: &Camera,
        plan: &'a StepPlan,
    ) -> Self {
        Self {
            level,
            frame,
            plan,
            camera: KernelCamera::new(camera, &plan.render),
            count: state.gaussians.len(),
            degree: plan.render.sh_degree.min(state.gaussians.sh_degree),
            correction: match plan.bias_correction {
                true => Correction::new(plan.step),
                false => Correction::NONE,
            },
            parameters: Rows::new(&mut state.gaussians),
            first: Rows::new(&mut state.first),
            second: Rows::new(&mut state.second),
            gradient_sum: Disjoint::new(&mut state.gradient_sum),
            seen: Disjoint::new(&mut state.seen),
            smoothing: &state.smoothing,
            masks: plan.masks.map(|plan| MaskRows::new(&mut state.masks, plan)),
        }
    }

    /// Updates the Gaussians of one chunk. `gradients` and `ndc_norm` are scratch of [`ROWS`] rows.
    ///
    /// # Safety
    /// No two threads may update the same chunk.
    unsafe fn chunk(&self, chunk: usize, gradients: &mut Gaussians, ndc_norm: &mut [f32]) {
        let first = chunk * ROWS;
        let rows = ROWS.min(self.count - first);
        // SAFETY: the caller's promise.
        let p = unsafe { self.parameters.get(first, rows) };
        zero(gradients, self.sh_used());
        ndc_norm.fill(0.0);
        let (splats, slots) = chunk_of(self.frame, chunk);
        let stride = self.parameters.sh_stride;
        let mut target = GradientRows {
            first,
            means: &mut gradients.means.as_flattened_mut()[..3 * rows],
            log_scales: &mut gradients.log_scales.as_flattened_mut()[..3 * rows],
            rotations: &mut gradients.rotations.as_flattened_mut()[..4 * rows],
            opacity_logits: &mut gradients.opacity_logits[..rows],
            sh: &mut gradients.sh.as_flattened_mut()[..stride * rows],
            ndc_norm: &mut ndc_norm[..rows],
            statistic: self.plan.statistics.unwrap_or_default(),
        };
        project_backward(
            self.level,
            p.scene(
                stride,
                self.degree,
                slice_filters(self.smoothing, first, rows),
            ),
            &self.camera,
            splats,
            slots,
            &self.frame.lists.pairs_of_splats,
            &self.frame.sums,
            &mut target,
        );
        let of_masks = self.masks.as_ref().map(|masks| {
            // SAFETY: the caller's promise.
            unsafe { masks.gradients((first, rows), self.count, p.opacity_logits, gradients) }
        });
        regularise(self.plan, self.count, &p, gradients);
        let taken = taken_rows(self.plan, first, rows, splats, slots);
        // SAFETY: the caller's promise; `optimise` takes `p`, so what follows may get
        // its rows.
        unsafe {
            if self.plan.statistics.is_some() {
                self.add_statistics(first, ndc_norm, rows);
            }
            self.optimise(&taken, first, rows, p, gradients);
            if let (Some(masks), Some(gradients)) = (&self.masks, of_masks) {
                masks.learn(
                    (self.level, self.correction),
                    &taken,
                    first,
                    &gradients[..rows],
                );
                self.fade_masked(masks, &taken, first, rows);
            }
            if let Some(noise) = self.plan.noise {
                self.add_noise(first, rows, noise);
            }
        }
    }

    /// Floats of a row of harmonics in use.
    fn sh_used(&self) -> usize {
        3 * sh::coefficients(self.degree)
    }

    /// # Safety
    /// No other thread may use these rows of the statistics.
    unsafe fn add_statistics(&self, first: usize, ndc_norm: &[f32], rows: usize) {
        // SAFETY: the caller's promise.
        let (sum, times) = unsafe {
            (
                self.gradient_sum.get(first, rows),
                self.seen.get(first, rows),
            )
        };
        for i in 0..rows {
            sum[i] += ndc_norm[i] * self.frame.in_view[first + i] as f32;
            times[i] += self.frame.in_view[first + i] as u32;
        }
    }

    /// Adam for the rows of a chunk that are `taken`.
    ///
    /// # Safety
    /// No other thread may use these rows of the moments.
    unsafe fn optimise(
        &self,
        taken: &[Range<usize>],
        first: usize,
        rows: usize,
        p: RowSlices<'_>,
        g: &Gaussians,
    ) {
        // SAFETY: the caller's promise.
        let (m, v) = unsafe { (self.first.get(first, rows), self.second.get(first, rows)) };
        let rates = &self.plan.rates;
        let sh_keep = 1.0 - rates.sh_rest as f64 * self.plan.sh_regulariser as f64;
        let means = &g.means.as_flattened()[..3 * rows];
        let log_scales = &g.log_scales.as_flattened()[..3 * rows];
        let rotations = &g.rotations.as_flattened()[..4 * rows];
        let logits = &g.opacity_logits[..rows];
        let groups = [
            Group::plain(p.means, m.means, v.means, means, 3, rates.means),
            Group::plain(
                p.log_scales,
                m.log_scales,
                v.log_scales,
                log_scales,
                3,
                rates.log_scales,
            ),
            Group::plain(
                p.rotations,
                m.rotations,
                v.rotations,
                rotations,
                4,
                rates.rotations,
            ),
            Group::plain(
                p.opacity_logits,
                m.opacity_logits,
                v.opacity_logits,
                logits,
                1,
                rates.opacity_logits,
            ),
            Group {
                parameters: p.sh,
                first: m.sh,
                second: v.sh,
                gradients: &g.sh.as_flattened()[..self.parameters.sh_stride * rows],
                stride: self.parameters.sh_stride,
                used: self.sh_used(),
                base_rate: rates.sh_base,
                rate: rates.sh_rest,
                keep: sh_keep as f32,
            },
        ];
        for mut group in groups {
            for rows in taken {
                adam(self.level, &mut group.rows(rows), self.correction);
            }
        }
    }

    /// # Safety
    /// No one else may use these rows of parameters, moments and masks.
    unsafe fn fade_masked(
        &self,
        masks: &MaskRows<'_>,
        taken: &[Range<usize>],
        first: usize,
        rows: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            masks.fade(
                taken,
                first,
                self.parameters.opacity_logits.get(first, rows),
                [&self.first, &self.second].map(|m| m.opacity_logits.get(first, rows)),
            );
        }
    }

    /// # Safety
    /// No one else may use these rows of the parameters.
    unsafe fn add_noise(&self, first: usize, rows: usize, noise: f32) {
        let (seed, step) = (self.plan.seed, self.plan.step as u64);
        // SAFETY: the caller's promise.
        let mut p = unsafe { self.parameters.get(first, rows) };
        for i in 0..rows {
            explore(&mut p, i, noise, normal3(seed, step, (first + i) as u64));
        }
    }
}

/// The rows of a chunk that the optimiser takes: all, or for sparse Adam those that have a splat,
/// as runs of neighbours.
fn taken_rows(
    plan: &StepPlan,
    first: usize,
    rows: usize,
    splats: &[Splat],
    slots: &[[u32; 2]],
) -> Vec<Range<usize>> {
    if !plan.sparse_adam {
        return std::iter::once(0..rows).collect();
    }
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (splat, _) in splats
        .iter()
        .zip(slots)
        .filter(|(_, [_, pairs])| *pairs > 0)
    {
        let row = splat.gaussian as usize - first;
        match runs.last_mut() {
            Some(run) if run.end == row => run.end += 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

fn zero(gradients: &mut Gaussians, sh_used: usize) {
    gradients.means.fill([0.0; 3]);
    gradients.log_scales.fill([0.0; 3]);
    gradients.rotations.fill([0.0; 4]);
    gradients.opacity_logits.fill(0.0);
    let stride = gradients.coefficients();
    for row in gradients.sh.chunks_exact_mut(stride) {
        row[..sh_used / 3].fill([0.0; 3]);
    }
}

/// Adds the gradients of MCMC's regularisers: weight times the mean opacity and the mean scale.
fn regularise(plan: &StepPlan, count: usize, p: &RowSlices<'_>, gradients: &mut Gaussians) {
    if plan.opacity_regulariser != 0.0 {
        let weight = plan.opacity_regulariser / count as f32;
        for (gradient, &logit) in gradients
            .opacity_logits
            .iter_mut()
            .zip(p.opacity_logits.iter())
        {
            let opacity = sigmoid(logit);
            *gradient += weight * opacity * (1.0 - opacity);
        }
    }
    if plan.scale_regulariser != 0.0 {
        let weight = plan.scale_regulariser / (3 * count) as f32;
        for (gradient, log_scale) in gradients
            .log_scales
            .as_flattened_mut()
            .iter_mut()
            .zip(p.log_scales.iter())
        {
            *gradient += weight * log_scale.exp();
        }
    }
}

/// Moves a mean by Sigma * normal, the more the more transparent (Kheradmand et al. 2024, eq. 7).
fn explore(p: &mut RowSlices<'_>, i: usize, noise: f32, normal: [f32; 3]) {
    let opacity = sigmoid(p.opacity_logits[i]);
    let gate = noise / (1.0 + (100.0 * (opacity - 0.005)).exp());
    let quaternion = std::array::from_fn(|k| p.rotations[4 * i + k] as f64);
    let Some(rotation) = rotation_from_quaternion(quaternion) else {
        return;
    };
    // Sigma n = R diag(s²) Rᵀ n
    for k in 0..3 {
        let variance = (2.0 * p.log_scales[3 * i + k]).exp();
        let along: f64 = (0..3).map(|j| rotation[j][k] * normal[j] as f64).sum();
        let length = gate * variance * along as f32;
        for j in 0..3 {
            p.means[3 * i + j] += length * rotation[j][k] as f32;
        }
    }
}
