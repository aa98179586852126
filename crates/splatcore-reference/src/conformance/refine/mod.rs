//! Densification: nothing is lost, what is new is what it should be. The order of Gaussians
//! afterwards is the backend's own affair: harmonics tell who came from whom.

mod adc;
mod filters;
mod floaters;
mod masks;
mod mcmc;
mod region;
mod scales;

pub use adc::{adc_clones_and_splits, adc_draws_by_the_budget, adc_prunes_and_respects_the_limit};
pub use filters::{filters_stay_with_their_gaussians, opacity_reset_caps_filtered_opacities};
pub use floaters::{floaters_go, floaters_go_in, floaters_go_through};
pub use masks::masks_stay_with_their_gaussians;
pub use mcmc::{mcmc_grows, mcmc_relocates};
pub use region::growth_stays_in_the_region;
pub use scales::scales_keep_to_their_limit;

use super::outcome::{Outcome, ensure, said};
use super::scenes::random_scene;
use crate::twin::project::sigmoid;
use splatcore_core::backend::{Backend, LearnerState, Refine, RefineReport};
use splatcore_core::{Gaussians, Learner};
use std::collections::HashMap;
use std::sync::Arc;

/// A state in mid-training: every moment and statistic is different and not zero.
fn state(seed: u64, count: usize) -> LearnerState {
    let gaussians = random_scene(seed, count, 1);
    let moments = |scale: f32| {
        let mut m = random_scene(seed + 1, count, 1);
        for v in
            m.sh.iter_mut()
                .flatten()
                .chain(m.means.iter_mut().flatten())
        {
            *v = scale * v.abs() + 1e-3;
        }
        m
    };
    LearnerState {
        first: moments(0.1),
        second: moments(0.01),
        // Never seen means no sum.
        gradient_sum: (0..count)
            .map(|i| (i % 10 * (i % 4).min(1)) as f32 * 1e-3)
            .collect(),
        seen: (0..count).map(|i| (i % 4) as u32).collect(),
        colours: Default::default(),
        sky: Default::default(),
        columns: Default::default(),
        gaussians,
    }
}

/// Rounds that between them clone, split, prune, relocate and grow.
fn both_strategies(min_opacity_of_adc: f32) -> [Refine; 2] {
    let (seed, step, max_gaussians) = (3, 700, 400);
    let adc = Refine::Adc {
        gradient_threshold: 2e-3,
        split_scale: 0.16,
        min_opacity: min_opacity_of_adc,
        max_scale: None,
        max_gaussians,
        budget: None,
        region: None,
        seed,
        step,
    };
    let mcmc = Refine::Mcmc {
        min_opacity: 0.1,
        growth: 0.2,
        max_gaussians,
        region: None,
        seed,
        step,
    };
    [adc, mcmc]
}

/// That a round of [`both_strategies`] did so.
fn ensure_much_changed(report: &RefineReport) -> Outcome {
    let changed = (report.cloned > 5 && report.split > 5 && report.pruned > 5)
        || (report.relocated > 5 && report.added > 5);
    ensure(changed, || format!("tests too little: {report:?}"))
}

fn learner(backend: &dyn Backend, state: &LearnerState) -> Result<Box<dyn Learner>, String> {
    let mut learner = backend
        .learner(&state.gaussians, Arc::new(Vec::new()))
        .map_err(said)?;
    learner.restore(state).map_err(said)?;
    Ok(learner)
}

/// Refines, and checks what holds for every refinement: shapes, the report's count, and that doing
/// it again from the same state gives the same.
fn refined(
    backend: &dyn Backend,
    before: &LearnerState,
    refine: &Refine,
) -> Result<(RefineReport, LearnerState), String> {
    let run = || -> Result<_, String> {
        let mut learner = learner(backend, before)?;
        let report = learner.refine(refine).map_err(said)?;
        let after = learner.snapshot().map_err(said)?;
        ensure(
            report.count == learner.count() && report.count == after.gaussians.len(),
            || {
                format!(
                    "the report says {} Gaussians, there are {}",
                    report.count,
                    after.gaussians.len()
                )
            },
        )?;
        Ok((report, after))
    };
    let (report, after) = run()?;
    ensure(run()? == (report, after.clone()), || {
        "the same refinement of the same state gives another result".into()
    })?;
    let n = after.gaussians.len();
    let shapes = [&after.gaussians, &after.first, &after.second];
    ensure(
        shapes.iter().all(|g| g.len() == n && g.sh.len() == 4 * n)
            && after.gradient_sum.len() == n
            && after.seen.len() == n,
        || "shapes of parameters, moments and statistics differ".into(),
    )?;
    ensure((0..n).all(|i| after.gaussians.is_sound(i)), || {
        "a refinement made numbers that are not finite".into()
    })?;
    Ok((report, after))
}

/// Rows of `after` by the harmonics of the row of `before` that they come from.
fn families(before: &Gaussians, after: &Gaussians) -> Result<Vec<Vec<usize>>, String> {
    let key = |g: &Gaussians, i: usize| -> Vec<u32> {
        g.sh_of(i)
            .as_flattened()
            .iter()
            .map(|v| v.to_bits())
            .collect()
    };
    let parents: HashMap<Vec<u32>, usize> =
        (0..before.len()).map(|i| (key(before, i), i)).collect();
    let mut families = vec![Vec::new(); before.len()];
    for i in 0..after.len() {
        let parent = parents
            .get(&key(after, i))
            .ok_or_else(|| format!("Gaussian {i} has nobody's harmonics"))?;
        families[*parent].push(i);
    }
    Ok(families)
}

/// Row `i` of `a` and row `j` of `b` are the same bits.
fn same_row(a: &Gaussians, i: usize, b: &Gaussians, j: usize) -> bool {
    a.means[i] == b.means[j]
        && a.log_scales[i] == b.log_scales[j]
        && a.rotations[i] == b.rotations[j]
        && a.opacity_logits[i] == b.opacity_logits[j]
        && a.sh_of(i) == b.sh_of(j)
}

fn moments_are_zero(state: &LearnerState, i: usize) -> bool {
    let zero = Gaussians::zeros(1, state.gaussians.sh_degree);
    same_row(&state.first, i, &zero, 0) && same_row(&state.second, i, &zero, 0)
}

/// The whole row with its moments survived.
fn survived(before: &LearnerState, i: usize, after: &LearnerState, j: usize) -> bool {
    same_row(&before.gaussians, i, &after.gaussians, j)
        && same_row(&before.first, i, &after.first, j)
        && same_row(&before.second, i, &after.second, j)
}

fn statistics_are_clear(state: &LearnerState) -> Outcome {
    ensure(
        state.seen.iter().all(|&v| v == 0) && state.gradient_sum.iter().all(|&v| v == 0.0),
        || "statistics were not cleared".into(),
    )
}

/// Opacities are capped, the rest of the parameters stays, the opacity's moments are cleared.
pub fn opacity_reset_caps(backend: &dyn Backend) -> Outcome {
    let before = state(63, 100);
    let (report, after) = refined(backend, &before, &Refine::ResetOpacity { ceiling: 0.01 })?;
    ensure(report.count == 100, || format!("{report:?}"))?;
    for i in 0..100 {
        let (old, new) = (
            before.gaussians.opacity_logits[i],
            after.gaussians.opacity_logits[i],
        );
        let opacity = sigmoid(old as f64).min(0.01);
        ensure(
            (sigmoid(new as f64) - opacity).abs() < 1e-6 && (opacity == 0.01 || new == old),
            || format!("the opacity logit of Gaussian {i} went from {old} to {new}"),
        )?;
        ensure(
            after.first.opacity_logits[i] == 0.0 && after.second.opacity_logits[i] == 0.0,
            || format!("the opacity of Gaussian {i} keeps its moments"),
        )?;
    }
    let mut rest = after.clone();
    rest.gaussians.opacity_logits = before.gaussians.opacity_logits.clone();
    rest.first.opacity_logits = before.first.opacity_logits.clone();
    rest.second.opacity_logits = before.second.opacity_logits.clone();
    ensure(
        rest.gaussians == before.gaussians
            && rest.first == before.first
            && rest.second == before.second,
        || "an opacity reset changed something else".into(),
    )
}

/// Opacities fall by the factor, none below the floor, and none rises; all moments are cleared, the
/// rest stays.
pub fn opacity_fades(backend: &dyn Backend) -> Outcome {
    let before = state(65, 100);
    let (factor, floor) = (0.5, 0.3);
    let fade = Refine::FadeOpacity { factor, floor };
    let (report, after) = refined(backend, &before, &fade)?;
    ensure(report.count == 100, || format!("{report:?}"))?;
    let mut kinds = [0; 3];
    for i in 0..100 {
        let (old, new) = (
            sigmoid(before.gaussians.opacity_logits[i] as f64),
            sigmoid(after.gaussians.opacity_logits[i] as f64),
        );
        let floor = f64::from(floor);
        let (kind, want) = match old {
            _ if old < floor => (0, old),
            _ if 0.5 * old < floor => (1, floor),
            _ => (2, 0.5 * old),
        };
        kinds[kind] += 1;
        ensure((new - want).abs() < 1e-5, || {
            format!("the opacity of Gaussian {i} went from {old} to {new}, {want} is right")
        })?;
        ensure(moments_are_zero(&after, i), || {
            format!("Gaussian {i} keeps moments")
        })?;
    }
    ensure(kinds.iter().all(|&kind| kind > 5), || {
        format!("the scene tests nothing: {kinds:?}")
    })?;
    let mut rest = after.gaussians.clone();
    rest.opacity_logits = before.gaussians.opacity_logits.clone();
    ensure(
        rest == before.gaussians
            && (&after.gradient_sum, &after.seen) == (&before.gradient_sum, &before.seen),
        || "fading changed something else".into(),
    )
}
