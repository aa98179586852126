//! Gradients of the cameras' intrinsics in a step.

use super::camera_gradients::{Kind, SceneAndViews};
use super::compare;
use super::lenses::{lenses, views_through_lenses, views_without_polynomials};
use super::outcome::{Outcome, gather};
use super::scenes::views;
use super::shutters::views_with_shutters;
use super::step::{plan, scene_and, scene_and_views, twin_step};
use splatcore_core::backend::{Backend, StepPlan};
use splatcore_core::colour::ColourPlan;
use splatcore_core::{IntrinsicsGradient, Pipeline};

const INTRINSICS: Kind<IntrinsicsGradient, { IntrinsicsGradient::NUMBERS }> = Kind {
    of: "intrinsics",
    ask: |plan, asked| plan.intrinsics_gradients = asked,
    take: |learner| learner.intrinsics_gradients(),
    numbers: IntrinsicsGradient::numbers,
};

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
    for (view, lens) in others.iter_mut().zip([0, 2, 6]) {
        view.camera.lens = lenses()[lens].1;
    }
    let others = &scene_and(67, others);
    let rolling = &scene_and(58, views_with_shutters());
    let no_polynomials = &scene_and(69, views_without_polynomials());
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
        matches(backend, others, changed(6, &[0, 1, 2], &|_| {}), false),
        matches(backend, others, changed(10, &[2], &|_| {}), false),
        matches(backend, others, changed(7, &[2, 1, 0], &all), true),
        matches(backend, no_polynomials, changed(8, &[1, 2, 0], &all), true),
        matches(backend, rolling, changed(9, &[1, 2, 0], &all), true),
    ])
}

fn matches(
    backend: &dyn Backend,
    start: &SceneAndViews,
    plan: StepPlan,
    smoothed: bool,
) -> Outcome {
    let views = &start.1;
    let (state, found) = INTRINSICS.of_step(backend, start, &plan, smoothed)?;
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
            ("radial terms", 4..10),
            ("odd terms", 10..16),
            ("divisor", 16..19),
            ("tangential terms", 19..21),
            ("growth", 21..23),
            ("prism", 23..27),
            ("skew", 27..29),
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
    INTRINSICS.leaves_the_step_alone(backend, 68, |step, views| {
        asking(Pipeline::AUTO, step, views)
    })
}
