//! Learned masks: their gradients and steps, what becomes of masked Gaussians, and what becomes of
//! masks when Gaussians change.

use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{odd_camera, random_scene, views};
use super::step::{gradient_of, plan, scene_and_views, twin_step};
use crate::twin::{self, Group, Scene, adam};
use splatcore_core::backend::{BETAS, Backend, LearnerState, Refine, RenderOptions, StepPlan};
use splatcore_core::columns::learned_masks::{MIN, is_on};
use splatcore_core::columns::{Column, ColumnPlan, OFF_OPACITY_LOGIT};
use splatcore_core::pipeline::Blend;
use splatcore_core::{Learner, Pipeline};
use std::sync::Arc;

/// Large enough to be seen beside the loss's gradients.
const PLAN: ColumnPlan = ColumnPlan {
    weight: 0.5,
    rate: 0.02,
};

fn logits(state: &LearnerState) -> &[f32] {
    state.columns.values(Column::Mask)
}

/// The state with masks of which some are far from the threshold, some just above it, and some
/// below, of Gaussians that have faded.
fn with_masks(mut state: LearnerState) -> LearnerState {
    let logits = [1.0, -1.0, MIN + 0.01, 2.0, MIN - 0.3];
    let count = state.gaussians.len();
    let logits = (0..count).map(|i| logits[i % 5]).collect();
    state.columns.set(Column::Mask, logits);
    for i in (4..count).step_by(5) {
        state.gaussians.opacity_logits[i] = OFF_OPACITY_LOGIT;
        state.first.opacity_logits[i] = 0.0;
        state.second.opacity_logits[i] = 0.0;
    }
    state
}

/// The gradient, the moments and the update of every mask, over several steps, with and without
/// filters, and with sparse Adam; what is masked fades, and the step is otherwise the same.
pub fn learned_masks_match_the_twin(backend: &dyn Backend) -> Outcome {
    gather(
        [
            (Pipeline::AUTO, false, false),
            (Pipeline::VANILLA, true, false),
            (Pipeline::AUTO, false, true),
        ]
        .map(|(pipeline, filtered, sparse)| {
            let (scene, views) = scene_and_views(57);
            let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
            let mut before = learner.snapshot().map_err(said)?;
            ensure(!before.columns.has(Column::Mask), || {
                "a fresh learner has masks".into()
            })?;
            before = with_masks(before);
            if filtered {
                let filters = (0..scene.len()).map(|i| -1.0 - (i % 3) as f32).collect();
                before.columns.set(Column::Filter, filters);
            }
            learner.restore(&before).map_err(said)?;
            for (step, view) in [(1, 0), (2, 1), (3, 2)] {
                let mut plan = plan(pipeline, step, view);
                plan.render.sh_degree = step.min(2) as u8 - 1;
                plan.render.antialias = filtered;
                plan.sparse_adam = sparse;
                plan.columns[Column::Mask] = Some(PLAN);
                // Images change as Gaussians fade; L1's gradient would change sign here and there.
                plan.ssim_weight = 1.0;
                learner.step(&plan).map_err(said)?;
                let after = learner.snapshot().map_err(said)?;
                let what = format!("step {step}, {pipeline}, sparse {sparse}");
                let twin = twin_step(&before, &views[view], &plan).gradient;
                let tolerance = backend.gradient_tolerance(pipeline);
                masks_learned(&what, &before, &after, &plan, &twin, tolerance)?;
                masked_fade(&what, &before, &after)?;
                if !sparse {
                    others_learned(&what, &before, &after, &twin, tolerance)?;
                }
                before = after;
            }
            let masked = logits(&before).iter().filter(|&&m| !is_on(m)).count();
            // A fifth was masked from the start.
            ensure(masked > 46 && masked < 100, || {
                format!("the scene tests little: {masked} are masked")
            })
        }),
    )
}

/// Gradient, moments and update of the masks in one step.
fn masks_learned(
    what: &str,
    before: &LearnerState,
    after: &LearnerState,
    plan: &StepPlan,
    twin: &Scene,
    tolerance: f64,
) -> Outcome {
    let wide = |values: &[f32]| -> Vec<f64> { values.iter().map(|&v| v as f64).collect() };
    let [old, new] = [before, after].map(|state| state.columns.arrays(Column::Mask));
    let scene = Scene::from(&before.gaussians);
    let weight = PLAN.weight as f64;
    let mut want = twin::learned_masks::gradients(&scene, twin, &wide(&old[0]), weight);
    let same = |i: usize| {
        let [a, b] = [old, new].map(|masks| [0, 1, 2].map(|k| masks[k][i].to_bits()));
        a == b
    };
    let mut got: Vec<f64> = wide(&new[1]);
    for (i, got) in got.iter_mut().enumerate() {
        *got = (*got - adam::BETA_1 * old[1][i] as f64) / (1.0 - adam::BETA_1);
        // Unseen.
        if plan.sparse_adam && same(i) && twin.opacity_logits[i] == 0.0 {
            (*got, want[i]) = (0.0, 0.0);
        }
    }
    compare::vectors(
        &format!("{what}, gradient of masks"),
        &want,
        &got,
        0.0,
        tolerance,
    )?;
    let left = (0..got.len()).filter(|&i| same(i)).count();
    ensure(plan.sparse_adam == (left > 3), || {
        format!("{what}: {left} masks were left alone")
    })?;
    for i in (0..got.len()).filter(|&i| !same(i)) {
        let (first, second) = (new[1][i] as f64, new[2][i] as f64);
        let moment = adam::BETA_2 * old[2][i] as f64 + (1.0 - adam::BETA_2) * got[i] * got[i];
        ensure((second - moment).abs() <= 1e-3 * moment, || {
            format!("{what}: the second moment of mask {i} is {second}, {moment} is right")
        })?;
        let rate = PLAN.rate as f64;
        let corrected = adam::step_of_correction(plan);
        let wanted = old[0][i] as f64 + adam::update(first, second, rate, corrected);
        ensure(
            (new[0][i] as f64 - wanted).abs() <= 1e-4 * rate + 1e-6,
            || {
                format!(
                    "{what}: mask {i} went from {} to {}; with its moments Adam makes {wanted}",
                    old[0][i], new[0][i]
                )
            },
        )?;
    }
    Ok(())
}

/// Masked Gaussians have faded, the others have not.
fn masked_fade(what: &str, before: &LearnerState, after: &LearnerState) -> Outcome {
    for (i, &mask) in logits(after).iter().enumerate() {
        let logit = after.gaussians.opacity_logits[i];
        let moments = [&after.first, &after.second].map(|m| m.opacity_logits[i]);
        let right = match is_on(mask) {
            true => (logit - before.gaussians.opacity_logits[i]).abs() < 0.1,
            false => logit == OFF_OPACITY_LOGIT && moments == [0.0; 2],
        };
        ensure(right, || {
            format!("{what}: Gaussian {i} with mask logit {mask} has opacity logit {logit}")
        })?;
    }
    Ok(())
}

/// All other gradients are as without masks, but for opacities that faded.
fn others_learned(
    what: &str,
    before: &LearnerState,
    after: &LearnerState,
    twin: &Scene,
    tolerance: f64,
) -> Outcome {
    let mut got = gradient_of(before, after, BETAS[0]);
    for (i, _) in (logits(after).iter().enumerate()).filter(|(_, mask)| !is_on(**mask)) {
        got.opacity_logits[i] = twin.opacity_logits[i];
    }
    for group in Group::ALL {
        let name = format!("{what}, gradient of {group:?}");
        let (want, got) = (twin.group(group), got.group(group));
        compare::vectors(&name, &want, &got, 0.0, tolerance)?;
    }
    Ok(())
}

/// Masks start with the first step that learns them; what they mask is not in the image, and goes
/// when asked for, with the statistics of the others as they were.
pub fn masked_gaussians_go(backend: &dyn Backend) -> Outcome {
    let scene = random_scene(58, 150, 1);
    let mut learner = backend.learner(&scene, Arc::new(views())).map_err(said)?;
    let report = learner
        .refine(&Refine::PruneByColumn(Column::Mask))
        .map_err(said)?;
    ensure(report.pruned == 0 && report.count == 150, || {
        format!("without masks: {report:?}")
    })?;
    let mut plan = plan(Pipeline::AUTO, 1, 0);
    plan.columns[Column::Mask] = Some(PLAN);
    learner.step(&plan).map_err(said)?;
    let mut before = learner.snapshot().map_err(said)?;
    let moved = |&logit: &f32| (logit - 1.0).abs() <= 1.001 * PLAN.rate && logit != 1.0;
    ensure(
        logits(&before).len() == 150 && logits(&before).iter().all(moved),
        || "masks do not start at 1".into(),
    )?;
    // A step whose plan learns none leaves them as they are.
    (plan.step, plan.columns[Column::Mask]) = (2, None);
    learner.step(&plan).map_err(said)?;
    let left = learner.snapshot().map_err(said)?;
    ensure(left.columns == before.columns, || {
        "masks changed in a step that learns none".into()
    })?;

    before = with_masks(left);
    learner.restore(&before).map_err(said)?;
    (plan.step, plan.columns[Column::Mask]) = (3, Some(PLAN));
    learner.step(&plan).map_err(said)?;
    before = learner.snapshot().map_err(said)?;
    looks_like_the_rest(learner.as_mut(), &before)?;
    let report = learner
        .refine(&Refine::PruneByColumn(Column::Mask))
        .map_err(said)?;
    let after = learner.snapshot().map_err(said)?;
    let kept: Vec<usize> = (0..150).filter(|&i| is_on(logits(&before)[i])).collect();
    ensure(
        report.count == kept.len() && report.pruned == 150 - kept.len() && kept.len() < 121,
        || format!("{report:?}; {} are not masked", kept.len()),
    )?;
    let mut want = before.clone();
    let keep = |i: usize| is_on(logits(&before)[i]);
    for gaussians in [&mut want.gaussians, &mut want.first, &mut want.second] {
        gaussians.retain(keep);
    }
    want.columns.retain(keep);
    want.gradient_sum = kept.iter().map(|&i| before.gradient_sum[i]).collect();
    want.seen = kept.iter().map(|&i| before.seen[i]).collect();
    ensure(after == want, || {
        "what is left is not what was there without the masked".into()
    })
}

/// The learner's image is that of the Gaussians that are not masked.
fn looks_like_the_rest(learner: &mut dyn Learner, state: &LearnerState) -> Outcome {
    let mut rest = state.gaussians.clone();
    rest.retain(|i| is_on(logits(state)[i]));
    let options = RenderOptions {
        pipeline: Pipeline {
            blend: Blend::Scalar,
            ..Pipeline::AUTO
        },
        ..RenderOptions::default()
    };
    let camera = odd_camera(70, 50, 0.3);
    let rendered = learner.render(&camera, &options).map_err(said)?;
    let twin = twin::render(&rest, &camera, &options);
    compare::frames("without the masked", &twin, &rendered, 2e-5)
}
