//! Steps of several views: their gradient is the mean of the views' own, whatever else the step
//! does.

use super::bits::state_bits;
use super::colour::same_colours;
use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::step::{
    LearnerAndViews, TwinStep, adam_was_applied, gradient_of, loss_tolerance, plan,
    scene_and_views, twin_step,
};
use crate::twin::{self, Group, Scene, colour};
use splatcore_core::backend::{Backend, BackendError, LearnerState, Statistic, StepPlan};
use splatcore_core::colour::{ColourModel, ColourPlan, ColourState};
use splatcore_core::columns::{Column, ColumnPlan, ColumnPlans};
use splatcore_core::{Gaussians, Pipeline, View};
use std::sync::Arc;

/// Not the order of the views, and one of them twice, as where two rounds meet.
const VIEWS: [usize; 4] = [2, 0, 1, 0];

/// The plan of a batch with these options.
fn batch(pipeline: Pipeline, step: u32, change: impl Fn(&mut StepPlan)) -> StepPlan {
    let mut plan = plan(pipeline, step, 0);
    plan.views = VIEWS.to_vec();
    change(&mut plan);
    plan
}

/// A learner whose moments are not zero.
fn learner(backend: &dyn Backend) -> Result<LearnerAndViews, String> {
    learner_of(backend, &scene_and_views(91))
}

fn learner_of(
    backend: &dyn Backend,
    (scene, views): &(Gaussians, Arc<Vec<View>>),
) -> Result<LearnerAndViews, String> {
    let mut learner = backend.learner(scene, views.clone()).map_err(said)?;
    let mut plan = plan(Pipeline::AUTO, 1, 1);
    // The ramp of degrees: what later steps do not use has no moments.
    plan.render.sh_degree = 1;
    learner.step(&plan).map_err(said)?;
    Ok((learner, views.clone()))
}

/// Gradient, loss, statistics, colour models, masks and the update of a step of several views.
pub fn a_batch_is_the_mean_of_its_views(backend: &dyn Backend) -> Outcome {
    let coloured = |plan: &mut StepPlan| {
        plan.colour = Some(ColourPlan::affine(0.01));
        plan.render.sh_degree = 1;
        (plan.opacity_regulariser, plan.scale_regulariser) = (0.5, 0.7);
    };
    let of_camera = |plan: &mut StepPlan| {
        plan.colour = Some(ColourPlan {
            model: ColourModel::Ppisp,
            photo_rate: 0.01,
            camera_rate: 0.02,
        });
    };
    let of_grid = |plan: &mut StepPlan| {
        plan.colour = Some(ColourPlan {
            model: ColourModel::Bilateral,
            ..ColourPlan::affine(0.01)
        });
    };
    let absolute = |plan: &mut StepPlan| {
        plan.statistics = Some(Statistic::Absolute);
        plan.betas = plan.betas.map(|beta| beta * beta);
        plan.bias_correction = false;
    };
    gather([
        batch_matches_the_twin(backend, batch(Pipeline::AUTO, 2, |_| {})),
        batch_matches_the_twin(backend, batch(Pipeline::VANILLA, 2, |_| {})),
        batch_matches_the_twin(backend, batch(Pipeline::AUTO, 3, coloured)),
        batch_matches_the_twin(backend, batch(Pipeline::AUTO, 3, of_camera)),
        batch_matches_the_twin(backend, batch(Pipeline::AUTO, 3, of_grid)),
        batch_matches_the_twin(backend, batch(Pipeline::AUTO, 4, absolute)),
    ])
}

/// Batches of a scene and views, without options.
pub(super) fn batches_match_the_twin(
    backend: &dyn Backend,
    scene_and_views: &(Gaussians, Arc<Vec<View>>),
) -> Outcome {
    gather([Pipeline::AUTO, Pipeline::VANILLA].map(|pipeline| {
        let learner = learner_of(backend, scene_and_views)?;
        learner_matches_the_twin(backend, batch(pipeline, 2, |_| {}), learner)
    }))
}

fn batch_matches_the_twin(backend: &dyn Backend, plan: StepPlan) -> Outcome {
    learner_matches_the_twin(backend, plan, learner(backend)?)
}

fn learner_matches_the_twin(
    backend: &dyn Backend,
    plan: StepPlan,
    (mut learner, views): LearnerAndViews,
) -> Outcome {
    let pipeline = plan.render.pipeline;
    let tolerance = backend.gradient_tolerance(pipeline);
    let before = learner.snapshot().map_err(said)?;
    learner.step(&plan).map_err(said)?;
    let after = learner.snapshot().map_err(said)?;
    let what = format!("batch in step {}, {pipeline}", plan.step);
    let single = |&view: &usize| {
        let alone = StepPlan {
            views: vec![view],
            ..plan.clone()
        };
        twin_step(&before, &views[view], &alone)
    };
    let twins: Vec<TwinStep> = VIEWS.iter().map(single).collect();

    let got = gradient_of(&before, &after, plan.betas[0]);
    let mean = mean_of(&twins);
    for group in Group::ALL {
        let (want, got) = (mean.group(group), got.group(group));
        let what = format!("{what}, gradient of {group:?}");
        compare::vectors(&what, &want, &got, 0.0, tolerance)?;
    }
    let wanted = twins.iter().map(|twin| twin.loss).sum::<f64>() / twins.len() as f64;
    let loss = learner.last_loss().map_err(said)?;
    let allowed = loss_tolerance(backend, pipeline) * wanted;
    ensure((loss - wanted).abs() <= allowed, || {
        format!("{what}: loss {loss}, the mean of the twin's is {wanted}")
    })?;
    adam_was_applied(&what, &before, &after, &plan)?;
    statistics_were_added(&what, (&before, &after), &twins, &plan, tolerance)?;
    colours_moved_in_order(&what, (&before, &after), &twins, &plan, tolerance)
}

fn mean_of(twins: &[TwinStep]) -> Scene {
    let mut mean = twins[0].gradient.clone();
    for group in Group::ALL {
        let all: Vec<Vec<f64>> = twins.iter().map(|t| t.gradient.group(group)).collect();
        for (k, slot) in mean.group_mut(group).into_iter().enumerate() {
            *slot = all.iter().map(|row| row[k]).sum::<f64>() / all.len() as f64;
        }
    }
    mean
}

/// Each view adds its own norms, of its own loss, and counts once.
fn statistics_were_added(
    what: &str,
    (before, after): (&LearnerState, &LearnerState),
    twins: &[TwinStep],
    plan: &StepPlan,
    tolerance: f64,
) -> Outcome {
    let (mut want, mut got) = (Vec::new(), Vec::new());
    for i in 0..after.seen.len() {
        // Roundings decide.
        if twins.iter().any(|twin| twin.in_view[i].is_none()) {
            continue;
        }
        let seen = twins.iter().filter(|twin| twin.in_view[i] == Some(true));
        let times = after.seen[i] - before.seen[i];
        ensure(times as usize == seen.clone().count(), || {
            format!("{what}: Gaussian {i} was counted {times} times")
        })?;
        let norm = |twin: &TwinStep| match plan.statistics {
            Some(Statistic::Absolute) => twin.absolute_norms[i],
            _ => twin.ndc_norms[i],
        };
        want.push(before.gradient_sum[i] as f64 + seen.map(norm).sum::<f64>());
        got.push(after.gradient_sum[i] as f64);
    }
    compare::vectors(&format!("{what}, statistics"), &want, &got, 0.0, tolerance)
}

/// Each view's colour model takes its steps one after the other.
fn colours_moved_in_order(
    what: &str,
    (before, after): (&LearnerState, &LearnerState),
    twins: &[TwinStep],
    plan: &StepPlan,
    tolerance: f64,
) -> Outcome {
    let Some(plan) = &plan.colour else {
        return ensure(after.colours == before.colours, || {
            format!("{what}: colours changed though none are learned")
        });
    };
    let found = &after.colours;
    let mut want = match before.colours.is_empty() {
        true => ColourState::fresh(plan.model, found.photos.rows(), found.cameras.rows()),
        false => before.colours.clone(),
    };
    for (&view, twin) in VIEWS.iter().zip(twins) {
        want = colour::step(&want, (view, view), &twin.colour, plan);
    }
    same_colours(what, &want, found, tolerance)
}

/// Learned masks have the gradient of the views' mean, too.
pub fn masks_learn_in_batches(backend: &dyn Backend) -> Outcome {
    let (mut learner, views) = learner(backend)?;
    let mask = ColumnPlan {
        weight: 0.2,
        rate: 0.01,
    };
    let plan = batch(Pipeline::AUTO, 2, |plan| {
        plan.columns[Column::Mask] = Some(mask)
    });
    let before = learner.snapshot().map_err(said)?;
    learner.step(&plan).map_err(said)?;
    let after = learner.snapshot().map_err(said)?;
    let twins: Vec<TwinStep> = VIEWS
        .iter()
        .map(|&view| {
            let alone = StepPlan {
                views: vec![view],
                columns: ColumnPlans::default(),
                ..plan.clone()
            };
            twin_step(&before, &views[view], &alone)
        })
        .collect();
    let masks = after.columns.arrays(Column::Mask);
    let n = masks[0].len();
    let start = vec![f64::from(splatcore_core::columns::learned_masks::START); n];
    let scene = Scene::from(&before.gaussians);
    let weight = mask.weight.into();
    let want = twin::learned_masks::gradients(&scene, &mean_of(&twins), &start, weight);
    let [beta, _] = plan.betas;
    let got: Vec<f64> = masks[1]
        .iter()
        .map(|&m| f64::from(m) / (1.0 - beta))
        .collect();
    let tolerance = backend.gradient_tolerance(Pipeline::AUTO);
    compare::vectors("gradient of masks in a batch", &want, &got, 0.0, tolerance)
}

/// Sparse Adam takes the Gaussians that any of the views shows, and no other.
pub fn sparse_batches_take_what_any_view_shows(backend: &dyn Backend) -> Outcome {
    let (mut learner, _) = learner(backend)?;
    let before = learner.snapshot().map_err(said)?;
    let mut moved_by = |views: &[usize]| -> Result<Vec<bool>, String> {
        let mut plan = plan(Pipeline::AUTO, 2, 0);
        (plan.views, plan.sparse_adam) = (views.to_vec(), true);
        learner.restore(&before).map_err(said)?;
        learner.step(&plan).map_err(said)?;
        let after = learner.snapshot().map_err(said)?;
        let rows = before.first.means.iter().zip(&after.first.means);
        let also = before
            .gaussians
            .rotations
            .iter()
            .zip(&after.gaussians.rotations);
        Ok(rows
            .zip(also)
            .map(|((a, b), (c, d))| a != b || c != d)
            .collect())
    };
    let (first, second) = (moved_by(&[0])?, moved_by(&[2])?);
    let both = moved_by(&[0, 2])?;
    let union: Vec<bool> = first.iter().zip(&second).map(|(&a, &b)| a || b).collect();
    ensure(first != second && union.contains(&false), || {
        "the scene tests nothing: the views show the same Gaussians, or all".into()
    })?;
    ensure(both == union, || {
        let wrong = both.iter().zip(&union).position(|(a, b)| a != b);
        format!("Gaussian {wrong:?} was taken by the batch or by the views, not by both")
    })
}

/// A batch repeats bit for bit, goes on from a snapshot, and a learner that took batches takes
/// single steps as one that did not.
pub fn batches_go_on_bit_for_bit(backend: &dyn Backend) -> Outcome {
    let (mut learner, views) = learner(backend)?;
    let plans = [
        batch(Pipeline::AUTO, 2, |plan| {
            plan.colour = Some(ColourPlan::affine(0.01));
        }),
        plan(Pipeline::AUTO, 3, 1),
        batch(Pipeline::AUTO, 4, |plan| plan.views.truncate(2)),
    ];
    let mut states = vec![learner.snapshot().map_err(said)?];
    for plan in &plans {
        learner.step(plan).map_err(said)?;
        states.push(learner.snapshot().map_err(said)?);
    }
    for (k, plan) in plans.iter().enumerate() {
        let from = &states[k];
        let mut other = backend
            .learner(&from.gaussians, views.clone())
            .map_err(said)?;
        other.restore(from).map_err(said)?;
        other.step(plan).map_err(said)?;
        let again = other.snapshot().map_err(said)?;
        ensure(state_bits(&again) == state_bits(&states[k + 1]), || {
            format!("step {} from a snapshot has other bits", plan.step)
        })?;
    }
    Ok(())
}

/// A step without views, and of a view that is not there, are errors that leave everything as it
/// was.
pub fn wrong_batches_are_errors(backend: &dyn Backend) -> Outcome {
    let (mut learner, _) = learner(backend)?;
    let before = learner.snapshot().map_err(said)?;
    for (views, wanted) in [(vec![], "without a view"), (vec![0, 99], "no view 99")] {
        let mut plan = plan(Pipeline::AUTO, 2, 0);
        plan.views = views;
        let error = match learner.step(&plan) {
            Err(error @ BackendError::Input(_)) => error.to_string(),
            other => return Err(format!("a step of views {:?} gave {other:?}", plan.views)),
        };
        ensure(error.contains(wanted), || error.clone())?;
    }
    let after = learner.snapshot().map_err(said)?;
    ensure(state_bits(&before) == state_bits(&after), || {
        "a step that was refused changed the learner".into()
    })
}
