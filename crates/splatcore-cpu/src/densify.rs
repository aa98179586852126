//! `densify`: changes of the set of Gaussians. One thread: it runs once in a hundred steps and
//! touches each Gaussian once. Twin: `splatcore_reference::twin::densify`.

use splatcore_core::backend::{LearnerState, Refine, RefineReport, budget_room};
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::gaussians::{logit, sigmoid};
use splatcore_core::random::{Rng, draw_key, normal3};
use splatcore_core::{Gaussians, Region};

/// INRIA's split replaces a Gaussian by this many.
const SPLIT_INTO: usize = 2;
/// Their scales are divided by 0.8 times their number.
const SPLIT_SHRINK: f32 = 0.8 * SPLIT_INTO as f32;
/// Most copies of one Gaussian that MCMC's scale formula is evaluated for, as in its authors' code.
const MAX_COPIES: usize = 51;

/// Applies one refinement.
pub fn densify(state: &mut LearnerState, refine: &Refine) -> RefineReport {
    let mut report = match *refine {
        Refine::Adc { .. } => adc(state, refine),
        Refine::PruneByColumn(column) => {
            let values = state.columns.all_values();
            let all = 0..state.gaussians.len();
            let keep: Vec<bool> = all.map(|i| values.draws(column, i)).collect();
            RefineReport {
                pruned: remove(state, &keep),
                ..RefineReport::default()
            }
        }
        // The learner's, which has the cameras.
        Refine::ComputeColumn(_) | Refine::PruneFloaters { .. } | Refine::LimitScales { .. } => {
            RefineReport::default()
        }
        Refine::ResetOpacity { ceiling } => {
            reset_opacity(state, ceiling);
            RefineReport::default()
        }
        Refine::FadeOpacity { factor, floor } => {
            fade_opacity(state, factor, floor);
            RefineReport::default()
        }
        Refine::Mcmc {
            min_opacity,
            growth,
            max_gaussians,
            region,
            seed,
            step,
        } => {
            let mut rng = Rng::new(seed, (step as u64) << 1 | 1);
            let drawn = Drawn {
                region,
                min_opacity,
            };
            let relocated = relocate(state, drawn, &mut rng);
            let added = add(state, drawn, (growth, max_gaussians), &mut rng);
            clear_statistics(state);
            RefineReport {
                relocated,
                added,
                ..RefineReport::default()
            }
        }
    };
    report.count = state.gaussians.len();
    report
}

/// Adaptive density control: growth, then pruning.
fn adc(state: &mut LearnerState, refine: &Refine) -> RefineReport {
    let &Refine::Adc {
        gradient_threshold,
        split_scale,
        min_opacity,
        max_scale,
        max_gaussians,
        budget,
        region,
        seed,
        step,
    } = refine
    else {
        return RefineReport::default();
    };
    let may = |i: usize| is_inside(&state.gaussians, region, i);
    let chosen = match budget {
        None => largest_gradients(state, gradient_threshold, may, max_gaussians),
        Some(share) => {
            let room = budget_room(share, state.gaussians.len(), max_gaussians);
            drawn_by_gradient(state, may, room, (seed, step))
        }
    };
    let mut report = clone_and_split(state, chosen, split_scale, (seed, step));
    report.pruned = prune(state, min_opacity, max_scale);
    report
}

/// Whether Gaussian `i` is in the region, if there is one.
fn is_inside(gaussians: &Gaussians, region: Option<Region>, i: usize) -> bool {
    region.is_none_or(|region| region.contains(gaussians.means[i]))
}

fn largest_scale(gaussians: &Gaussians, i: usize) -> f32 {
    gaussians.log_scales[i]
        .iter()
        .copied()
        .fold(f32::NEG_INFINITY, f32::max)
        .exp()
}

fn clear_statistics(state: &mut LearnerState) {
    let n = state.gaussians.len();
    state.gradient_sum.clear();
    state.gradient_sum.resize(n, 0.0);
    state.seen.clear();
    state.seen.resize(n, 0);
}

/// Appends a copy of Gaussian `i` with empty moments.
fn append_copy(state: &mut LearnerState, i: usize) {
    let copy = state.gaussians.clone_row(i);
    state.gaussians.push_from(&copy, 0);
    let zero = Gaussians::zeros(1, state.gaussians.sh_degree);
    state.first.push_from(&zero, 0);
    state.second.push_from(&zero, 0);
    state.columns.push_copy(i);
}

/// Those at the threshold, in order; where the limit bites those with the largest gradients.
fn largest_gradients(
    state: &LearnerState,
    threshold: f32,
    may: impl Fn(usize) -> bool,
    limit: usize,
) -> Vec<usize> {
    let n = state.gaussians.len();
    let gradient = |i: usize| state.gradient_sum[i] / state.seen[i].max(1) as f32;
    let chosen = (0..n).filter(|&i| gradient(i) >= threshold && may(i));
    largest(chosen.collect(), gradient, limit.saturating_sub(n))
}

/// A draw of `room` without replacement in proportion to the sum of gradients, in order.
fn drawn_by_gradient(
    state: &LearnerState,
    may: impl Fn(usize) -> bool,
    room: usize,
    (seed, step): (u64, u32),
) -> Vec<usize> {
    let key = |i: usize| draw_key(seed, step.into(), i as u64, state.gradient_sum[i]);
    let chosen = (0..state.gaussians.len()).filter(|&i| key(i) > 0.0 && may(i));
    largest(chosen.collect(), key, room)
}

/// The `room` largest of the chosen, ties by index, in order.
fn largest(mut chosen: Vec<usize>, value: impl Fn(usize) -> f32, room: usize) -> Vec<usize> {
    if chosen.len() > room {
        chosen.sort_by(|&a, &b| value(b).total_cmp(&value(a)).then(a.cmp(&b)));
        chosen.truncate(room);
        chosen.sort_unstable();
    }
    chosen
}

/// Clone and split (Kerbl et al. 2023, section 5.2).
fn clone_and_split(
    state: &mut LearnerState,
    chosen: Vec<usize>,
    split_scale: f32,
    (seed, step): (u64, u32),
) -> RefineReport {
    let (split, cloned): (Vec<usize>, Vec<usize>) = chosen
        .into_iter()
        .partition(|&i| largest_scale(&state.gaussians, i) > split_scale);
    for &i in &cloned {
        append_copy(state, i);
    }
    for &i in &split {
        for child in 0..SPLIT_INTO {
            append_copy(state, i);
            let g = &mut state.gaussians;
            let to = g.len() - 1;
            let normal = normal3(seed, step as u64, (SPLIT_INTO * i + child) as u64);
            let rotation =
                rotation_from_quaternion(g.rotations[i].map(|v| v as f64)).unwrap_or_default();
            let offset =
                std::array::from_fn::<f64, 3, _>(|k| (normal[k] * g.log_scales[i][k].exp()) as f64);
            for row in 0..3 {
                let moved: f64 = (0..3).map(|k| rotation[row][k] * offset[k]).sum();
                g.means[to][row] += moved as f32;
                g.log_scales[to][row] -= SPLIT_SHRINK.ln();
            }
        }
    }
    let mut is_split = vec![false; state.gaussians.len()];
    for &i in &split {
        is_split[i] = true;
    }
    retain(state, |i| !is_split[i]);
    clear_statistics(state);
    RefineReport {
        cloned: cloned.len(),
        split: split.len(),
        ..RefineReport::default()
    }
}

fn retain(state: &mut LearnerState, keep: impl Fn(usize) -> bool) {
    state.gaussians.retain(&keep);
    state.first.retain(&keep);
    state.second.retain(&keep);
    state.columns.retain(&keep);
}

/// Removes Gaussians and returns how many; statistics stay with those that are left.
pub(crate) fn remove(state: &mut LearnerState, keep: &[bool]) -> usize {
    retain_values(&mut state.gradient_sum, keep);
    retain_values(&mut state.seen, keep);
    retain(state, |i| keep[i]);
    keep.len() - state.gaussians.len()
}

/// Of a statistic.
fn retain_values<T>(values: &mut Vec<T>, keep: &[bool]) {
    let mut kept = keep.iter();
    values.retain(|_| kept.next().is_some_and(|&keep| keep));
}

fn prune(state: &mut LearnerState, min_opacity: f32, max_scale: Option<f32>) -> usize {
    let before = state.gaussians.len();
    let keep: Vec<bool> = (0..before)
        .map(|i| {
            sigmoid(state.gaussians.opacity_logits[i]) >= min_opacity
                && max_scale.is_none_or(|limit| largest_scale(&state.gaussians, i) <= limit)
        })
        .collect();
    retain(state, |i| keep[i]);
    clear_statistics(state);
    before - state.gaussians.len()
}

fn reset_opacity(state: &mut LearnerState, ceiling: f32) {
    let gaussians = &mut state.gaussians;
    let columns = state.columns.all_values();
    for (i, value) in gaussians.opacity_logits.iter_mut().enumerate() {
        *value = value.min(columns.ceiling_logit(ceiling, gaussians.log_scales[i], i));
    }
    state.first.opacity_logits.fill(0.0);
    state.second.opacity_logits.fill(0.0);
}

fn fade_opacity(state: &mut LearnerState, factor: f32, floor: f32) {
    for value in &mut state.gaussians.opacity_logits {
        let faded = (sigmoid(*value) * factor).max(floor);
        *value = value.min(logit(faded));
    }
    let (n, degree) = (state.gaussians.len(), state.gaussians.sh_degree);
    state.first = Gaussians::zeros(n, degree);
    state.second = Gaussians::zeros(n, degree);
    state.columns.clear_all_moments();
}

/// `count` draws with replacement among `candidates`, proportional to opacity.
fn draw(gaussians: &Gaussians, candidates: &[usize], count: usize, rng: &mut Rng) -> Vec<usize> {
    let mut sum = 0.0f64;
    let cumulative: Vec<f64> = candidates
        .iter()
        .map(|&i| {
            sum += sigmoid(gaussians.opacity_logits[i]) as f64;
            sum
        })
        .collect();
    (0..count)
        .map(|_| {
            let at = (rng.next_u32() as f64 + rng.next_u32() as f64 / 4_294_967_296.0)
                / 4_294_967_296.0
                * sum;
            candidates[cumulative
                .partition_point(|&c| c <= at)
                .min(candidates.len() - 1)]
        })
        .collect()
}

/// Opacity and scale factor that `copies` Gaussians at one place need to look most like one of
/// opacity `opacity` (Kheradmand et al. 2024, eq. 9).
pub fn share(opacity: f64, copies: usize) -> (f64, f64) {
    let copies = copies.clamp(1, MAX_COPIES);
    let shared = 1.0 - (1.0 - opacity).powf(1.0 / copies as f64);
    let mut sum = 0.0;
    for i in 1..=copies {
        let mut binomial = 1.0;
        for k in 0..i {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum += binomial * sign / ((k + 1) as f64).sqrt() * shared.powi(k as i32 + 1);
            binomial *= (i - 1 - k) as f64 / (k + 1) as f64;
        }
    }
    (shared, opacity / sum)
}

/// Gives every source in `drawn` the opacity and scale it shares with its copies, and clears its
/// moments.
fn share_among(state: &mut LearnerState, drawn: &[usize], min_opacity: f32) {
    let mut sorted = drawn.to_vec();
    sorted.sort_unstable();
    let degree = state.gaussians.sh_degree;
    let zero = Gaussians::zeros(1, degree);
    for run in sorted.chunk_by(|a, b| a == b) {
        let i = run[0];
        let opacity = sigmoid(state.gaussians.opacity_logits[i]) as f64;
        let (shared, factor) = share(opacity, run.len() + 1);
        // The ceiling of the authors' code: one f32 rounding step below 1.
        let shared = (shared as f32).clamp(min_opacity, 1.0 - f32::EPSILON);
        state.gaussians.opacity_logits[i] = logit(shared);
        for s in &mut state.gaussians.log_scales[i] {
            *s += factor.ln() as f32;
        }
        state.first.copy_row(i, &zero, 0);
        state.second.copy_row(i, &zero, 0);
        state.columns.clear_moments(i);
    }
}

/// Whom MCMC draws.
#[derive(Clone, Copy)]
struct Drawn {
    region: Option<Region>,
    /// Dead at or below; the least that a share of an opacity is.
    min_opacity: f32,
}

impl Drawn {
    /// Those of the Gaussians that are in the region.
    fn among(self, gaussians: &Gaussians, of: impl Iterator<Item = usize>) -> Vec<usize> {
        of.filter(|&i| is_inside(gaussians, self.region, i))
            .collect()
    }
}

fn relocate(state: &mut LearnerState, drawn: Drawn, rng: &mut Rng) -> usize {
    let gaussians = &state.gaussians;
    let (alive, dead): (Vec<usize>, Vec<usize>) = (0..gaussians.len())
        .partition(|&i| sigmoid(gaussians.opacity_logits[i]) > drawn.min_opacity);
    let candidates = drawn.among(gaussians, alive.into_iter());
    if candidates.is_empty() || dead.is_empty() {
        return 0;
    }
    let sources = draw(gaussians, &candidates, dead.len(), rng);
    share_among(state, &sources, drawn.min_opacity);
    let zero = Gaussians::zeros(1, state.gaussians.sh_degree);
    for (&to, &from) in dead.iter().zip(&sources) {
        let copy = state.gaussians.clone_row(from);
        state.gaussians.copy_row(to, &copy, 0);
        state.first.copy_row(to, &zero, 0);
        state.second.copy_row(to, &zero, 0);
        state.columns.overwrite(to, from);
    }
    dead.len()
}

fn add(
    state: &mut LearnerState,
    drawn: Drawn,
    (growth, limit): (f32, usize),
    rng: &mut Rng,
) -> usize {
    let n = state.gaussians.len();
    let target = ((n as f64 * (1.0 + growth as f64)) as usize).min(limit);
    let count = target.saturating_sub(n);
    let candidates = drawn.among(&state.gaussians, 0..n);
    if count == 0 || candidates.is_empty() {
        return 0;
    }
    let sources = draw(&state.gaussians, &candidates, count, rng);
    share_among(state, &sources, drawn.min_opacity);
    for &i in &sources {
        append_copy(state, i);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two copies at one place blend to the original opacity, and the factor is 1 for a single one.
    #[test]
    fn shared_opacity_composes_to_the_original() {
        for opacity in [0.05, 0.4, 0.9] {
            for copies in [1, 2, 5] {
                let (shared, factor) = share(opacity, copies);
                assert!((1.0 - (1.0 - shared).powi(copies as i32) - opacity).abs() < 1e-12);
                if copies == 1 {
                    assert!((factor - 1.0).abs() < 1e-12);
                } else {
                    assert!(
                        factor < 1.0,
                        "several copies must each be smaller: {factor}"
                    );
                }
            }
        }
    }
}
