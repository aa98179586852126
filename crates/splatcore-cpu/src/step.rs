//! From a step's gradients to updated parameters, [`ROWS`] Gaussians at a time. Of a step of one
//! frame `project_backward`, the regularisers, `adam`, the statistics and the noise run one after
//! another while the rows are in the cache; of several frames `project_backward` came before
//! (`batch.rs`).

use crate::adam::{Correction, Group, adam};
use crate::batch::Batch;
use crate::camera::KernelCamera;
use crate::columns::LearnedColumn;
use crate::frame::{Frame, ROWS};
use crate::project::Splat;
use crate::project_backward::GradientRows;
use crate::rows::{RowSlices, Rows, chunk_backward, chunk_of};
use crate::shared::Disjoint;
use crate::simd::Level;
use rayon::prelude::*;
use splatcore_core::backend::{LearnerState, StepPlan};
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::columns::{OFF_OPACITY_LOGIT, Values};
use splatcore_core::gaussians::sigmoid;
use splatcore_core::random::normal3;
use splatcore_core::{Gaussians, sh};
use std::ops::Range;

/// Where the gradients of a step come from.
pub(crate) enum Source<'a> {
    /// The sums of its one frame.
    Frame(&'a Frame, &'a KernelCamera),
    /// What its frames added up.
    Batch(&'a Batch),
}

/// Regularisers, `adam`, statistics and noise for all Gaussians; regularisers and `adam` for those
/// with a splat alone if Adam is sparse.
pub(crate) fn update(level: Level, source: Source<'_>, state: &mut LearnerState, plan: &StepPlan) {
    let stored = state.gaussians.sh_degree;
    let update = Update::new(level, source, state, plan);
    (0..update.count.div_ceil(ROWS))
        .into_par_iter()
        .for_each_init(
            || (Gaussians::zeros(ROWS, stored), vec![0.0f32; ROWS]),
            // SAFETY: one thread a chunk.
            |(gradients, ndc_norm), chunk| unsafe { update.chunk(chunk, gradients, ndc_norm) },
        );
}

/// What all chunks of a step share.
struct Update<'a> {
    level: Level,
    source: Source<'a>,
    plan: &'a StepPlan,
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
    /// Those that this step does not learn.
    columns: Values<'a>,
    learned: Vec<LearnedColumn<'a>>,
}

impl<'a> Update<'a> {
    fn new(
        level: Level,
        source: Source<'a>,
        state: &'a mut LearnerState,
        plan: &'a StepPlan,
    ) -> Self {
        let (mut columns, mut learned) = (Values::default(), Vec::new());
        for (column, arrays) in state.columns.all_mut().iter_mut() {
            match (plan.columns[column], &mut arrays[..]) {
                (Some(plan), [values, first, second]) => {
                    learned.extend(LearnedColumn::new(column, [values, first, second], plan));
                }
                (_, [values, ..]) => columns[column] = values,
                (_, []) => {}
            }
        }
        Self {
            level,
            source,
            plan,
            count: state.gaussians.len(),
            degree: plan.render.sh_degree.min(state.gaussians.sh_degree),
            correction: Correction::of(plan),
            parameters: Rows::new(&mut state.gaussians),
            first: Rows::new(&mut state.first),
            second: Rows::new(&mut state.second),
            gradient_sum: Disjoint::new(&mut state.gradient_sum),
            seen: Disjoint::new(&mut state.seen),
            columns,
            learned,
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
        let taken = match &self.source {
            Source::Frame(frame, camera) => {
                self.project_backward(frame, camera, chunk, &p, gradients, ndc_norm)
            }
            Source::Batch(batch) => {
                batch.mean(first, rows, self.sh_used(), gradients, ndc_norm);
                match self.plan.sparse_adam {
                    true => batch.runs(first, rows),
                    false => std::iter::once(0..rows).collect(),
                }
            }
        };
        let of_column = |column: &LearnedColumn<'_>| {
            // SAFETY: the caller's promise.
            unsafe { column.gradients(first, self.count, p.opacity_logits, gradients) }
        };
        let of_columns: Vec<_> = self.learned.iter().map(of_column).collect();
        regularise(self.plan, self.count, &p, gradients);
        // SAFETY: the caller's promise; `optimise` takes `p`, so what follows may get
        // its rows.
        unsafe {
            if self.plan.statistics.is_some() {
                self.add_statistics(first, ndc_norm, rows);
            }
            self.optimise(&taken, first, rows, p, gradients);
            for (column, gradients) in self.learned.iter().zip(of_columns) {
                column.learn((self.level, self.correction), &taken, first, &gradients);
                self.hide(column, &taken, first, rows);
            }
            if let Some(noise) = self.plan.noise {
                self.add_noise(first, rows, noise);
            }
        }
    }

    /// Gradients of a chunk from the sums of its splats, and the rows that the optimiser takes.
    fn project_backward(
        &self,
        frame: &Frame,
        camera: &KernelCamera,
        chunk: usize,
        p: &RowSlices<'_>,
        gradients: &mut Gaussians,
        ndc_norm: &mut [f32],
    ) -> Vec<Range<usize>> {
        let (first, rows) = (chunk * ROWS, p.opacity_logits.len());
        zero(gradients, self.sh_used());
        ndc_norm.fill(0.0);
        let stride = self.parameters.sh_stride;
        let statistic = self.plan.statistics.unwrap_or_default();
        let mut target = GradientRows::of(first, rows, gradients, ndc_norm, statistic);
        let scene = p.scene(stride, self.degree, self.columns.rows(first, rows));
        chunk_backward(self.level, frame, chunk, scene, camera, &mut target);
        let (splats, slots) = chunk_of(frame, chunk);
        taken_rows(self.plan, first, rows, splats, slots)
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
            let (norm, seen) = match &self.source {
                Source::Frame(frame, _) => {
                    let seen = frame.in_view[first + i];
                    (ndc_norm[i] * seen as f32, u32::from(seen))
                }
                Source::Batch(batch) => (ndc_norm[i], batch.in_view[first + i]),
            };
            sum[i] += norm;
            times[i] += seen;
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
            },
        ];
        for mut group in groups {
            for rows in taken {
                adam(self.level, &mut group.rows(rows), self.correction);
            }
        }
    }

    /// Nothing draws those of the `taken` rows from now on that a column says are drawn no more,
    /// and nothing brings them back.
    ///
    /// # Safety
    /// No one else may use these rows of parameters, moments and the column.
    unsafe fn hide(
        &self,
        column: &LearnedColumn<'_>,
        taken: &[Range<usize>],
        first: usize,
        rows: usize,
    ) {
        // SAFETY: the caller's promise.
        let [logits, of_first, of_second] = unsafe {
            let arrays = [&self.parameters, &self.first, &self.second];
            arrays.map(|array| array.opacity_logits.get(first, rows))
        };
        for i in taken.iter().cloned().flatten() {
            // SAFETY: the caller's promise.
            if !unsafe { column.draws(first + i) } {
                logits[i] = OFF_OPACITY_LOGIT;
                (of_first[i], of_second[i]) = (0.0, 0.0);
            }
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
