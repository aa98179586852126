//! Gradients of the cameras' intrinsics in a step.

use super::bits::state_bits;
use super::compare;
use super::lenses::{lenses, views_through_lenses};
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::views;
use super::step::{plan, scene_and, scene_and_views, twin_step};
use splatcore_core::backend::{Backend, Refine, StepPlan};
use splatcore_core::colour::ColourPlan;
use splatcore_core::{Gaussians, IntrinsicsGradient, Pipeline, View};
use std::sync::Arc;

type SceneAndViews = (Gaussians, Arc<Vec<View>>);

/// The plan of a step that gives the gradients of these views' intrinsics.
fn asking(pipeline: Pipeline, step: u32, views: &[usize]) -> StepPlan {
    StepPlan {
        views: views.to_vec(),
        intrinsics_gradients: true,
        ..plan(pipeline, step, 0)
    }
}

/// Of one view and of several, with filters, exposures and regularisers, which have no part in it,
/// by all kinds of sums, and through each lens.
pub fn intrinsics_gradients_match_the_twin(backend: &dyn Backend) -> Outcome {
    let pinholes = &scene_and_views(65);
    let some = &scene_and(66, views_through_lenses());
    let mut others = views();
    (others[0].camera.lens, others[1].camera.lens) = (lenses()[0].1, lenses()[2].1);
    let others = &scene_and(67, others);
    let changed = |step, views: &[usize], change: &dyn Fn(&mut StepPlan)| {
        let mut plan = asking(Pipeline::AUTO, step, views);
        change(&mut plan);
        plan
    };
    let all = |plan: &mut StepPlan| {
        plan.colour = Some(ColourPlan::affine(0.01));
        plan.render.antialias = true;
        (plan.opacity_regulariser, plan.scale_regulariser) = (0.5, 0.7);
        plan.statistics = None;
        // Beside those of the poses.
        plan.pose_gradients = true;
    };
    let vanilla = asking(Pipeline::VANILLA, 1, &[2, 0]);
    gather([
        matches(backend, pinholes, changed(1, &[1], &|_| {}), false),
        matches(backend, pinholes, vanilla, false),
        matches(backend, pinholes, changed(3, &[2, 0, 2], &all), true),
        matches(backend, some, changed(4, &[0], &|_| {}), false),
        matches(backend, some, changed(5, &[1, 2, 0], &all), true),
        matches(backend, others, changed(6, &[0, 1], &|_| {}), false),
        matches(backend, others, changed(7, &[1, 0], &all), true),
    ])
}

fn matches(
    backend: &dyn Backend,
    (scene, views): &SceneAndViews,
    plan: StepPlan,
    smoothed: bool,
) -> Outcome {
    let mut learner = backend.learner(scene, views.clone()).map_err(said)?;
    if smoothed {
        learner.refine(&Refine::SmoothingFilter).map_err(said)?;
    }
    let state = learner.snapshot().map_err(said)?;
    learner.step(&plan).map_err(said)?;
    let found = learner.intrinsics_gradients().map_err(said)?;
    let order: Vec<usize> = found.iter().map(|(view, _)| *view).collect();
    ensure(order == plan.views, || {
        format!("gradients of the views {order:?} for {:?}", plan.views)
    })?;
    let tolerance = 10.0 * backend.gradient_tolerance(plan.render.pipeline);
    gather(found.iter().map(|(view, gradient)| {
        let alone = StepPlan {
            views: vec![*view],
            ..plan.clone()
        };
        let want = twin_step(&state, &views[*view], &alone)
            .intrinsics
            .numbers();
        let got = gradient.numbers();
        let parts = [
            ("focal lengths", 0..2),
            ("principal point", 2..4),
            ("radial terms", 4..8),
            ("tangential terms", 8..10),
        ];
        for (part, range) in parts {
            let what = format!("step {}, view {view}, {part}", plan.step);
            compare::vectors(&what, &want[range.clone()], &got[range], 0.0, tolerance)?;
        }
        Ok(())
    }))
}

/// A step that also gives gradients of intrinsics is the same step, and gives the same bits every
/// time, once.
pub fn intrinsics_gradients_leave_the_step_alone(backend: &dyn Backend) -> Outcome {
    let start = &scene_and_views(68);
    let run = |asked: bool| -> Result<_, String> {
        let mut learner = backend.learner(&start.0, start.1.clone()).map_err(said)?;
        for step in 1..=4u32 {
            let views: &[usize] = if step == 3 { &[1, 0] } else { &[2] };
            let mut plan = asking(Pipeline::AUTO, step, views);
            plan.intrinsics_gradients = asked && step > 1;
            learner.step(&plan).map_err(said)?;
        }
        let state = state_bits(&learner.snapshot().map_err(said)?);
        let found = learner.intrinsics_gradients().map_err(said)?;
        let again = learner.intrinsics_gradients().map_err(said)?;
        ensure(again.is_empty(), || "gradients were given twice".into())?;
        let bits = |(view, gradient): &(usize, IntrinsicsGradient)| {
            (*view, gradient.numbers().map(f64::to_bits))
        };
        Ok((state, found.iter().map(bits).collect::<Vec<_>>()))
    };
    let (without, with, again) = (run(false)?, run(true)?, run(true)?);
    ensure(without.1.is_empty(), || {
        "gradients of intrinsics that nobody asked for".into()
    })?;
    ensure(without.0 == with.0, || {
        "gradients of intrinsics change the step".into()
    })?;
    let order: Vec<usize> = with.1.iter().map(|(view, _)| *view).collect();
    ensure(order == [2, 1, 0, 2], || format!("the order is {order:?}"))?;
    ensure(with == again, || "two runs differ".into())
}
