//! Gradients of the cameras' poses in a step, and cameras that move while a learner learns.

use super::bits::state_bits;
use super::camera_gradients::{Kind, SceneAndViews};
use super::compare;
use super::lenses::{views_through_lenses, views_without_polynomials};
use super::outcome::{Outcome, ensure, gather, said};
use super::shutters::views_with_shutters;
use super::step::{plan, scene_and, scene_and_views, twin_step};
use splatcore_core::backend::{Backend, BackendError, Refine, StepPlan};
use splatcore_core::colour::ColourPlan;
use splatcore_core::columns::Column;
use splatcore_core::{Camera, Gaussians, Learner, Pipeline, PoseGradient, View, pose_gradient};
use std::sync::Arc;

const POSES: Kind<PoseGradient, 6> = Kind {
    of: "poses",
    ask: |plan, asked| plan.pose_gradients = asked,
    take: |learner| learner.pose_gradients(),
    numbers: six,
};

/// The plan of a step that gives the gradients of these views' poses.
fn posed(pipeline: Pipeline, step: u32, views: &[usize]) -> StepPlan {
    StepPlan {
        views: views.to_vec(),
        pose_gradients: true,
        ..plan(pipeline, step, 0)
    }
}

fn six(gradient: &PoseGradient) -> [f64; 6] {
    let ([a, b, c], [x, y, z]) = (gradient.rotation, gradient.translation);
    [a, b, c, x, y, z]
}

/// Of one view and of several, with filters, colour models, smaller photos and regularisers, which
/// have no part in it, by all kinds of sums, and through lenses.
pub fn pose_gradients_match_the_twin(backend: &dyn Backend) -> Outcome {
    let pinholes = &scene_and_views(61);
    let lenses = &scene_and(62, views_through_lenses());
    let others = &scene_and(60, views_without_polynomials());
    let rolling = &scene_and(59, views_with_shutters());
    let changed = |step, views: &[usize], change: &dyn Fn(&mut StepPlan)| {
        let mut plan = posed(Pipeline::AUTO, step, views);
        change(&mut plan);
        plan
    };
    let all = |plan: &mut StepPlan| {
        plan.colour = Some(ColourPlan::affine(0.01));
        plan.render.antialias = true;
        (plan.opacity_regulariser, plan.scale_regulariser) = (0.5, 0.7);
        plan.statistics = None;
    };
    gather([
        matches(backend, pinholes, changed(1, &[1], &|_| {}), false),
        matches(
            backend,
            pinholes,
            posed(Pipeline::VANILLA, 1, &[2, 0]),
            false,
        ),
        matches(backend, pinholes, changed(3, &[2, 0, 2], &all), true),
        matches(backend, lenses, changed(4, &[0], &|_| {}), false),
        matches(backend, lenses, changed(5, &[1, 2, 0], &all), true),
        matches(backend, others, changed(6, &[1, 2, 0], &all), true),
        matches(backend, rolling, changed(7, &[1, 2, 0], &all), true),
    ])
}

fn matches(
    backend: &dyn Backend,
    start: &SceneAndViews,
    plan: StepPlan,
    smoothed: bool,
) -> Outcome {
    let (scene, views) = start;
    let (state, found) = POSES.of_step(backend, start, &plan, smoothed)?;
    let tolerance = 10.0 * backend.gradient_tolerance(plan.render.pipeline);
    gather(found.iter().map(|(view, gradient)| {
        let alone = StepPlan {
            views: vec![*view],
            opacity_regulariser: 0.0,
            scale_regulariser: 0.0,
            ..plan.clone()
        };
        let (seen, degree) = (&views[*view], plan.render.sh_degree);
        let twin = Gaussians::from(&twin_step(&state, seen, &alone).gradient);
        let want = six(&pose_gradient(scene, &twin, &seen.camera, degree));
        let got = six(gradient);
        let what = format!("step {}, view {view}", plan.step);
        for (part, range) in [("rotation", 0..3), ("translation", 3..6)] {
            let what = format!("{what}, {part} of the pose");
            let (want, got) = (&want[range.clone()], &got[range]);
            compare::vectors(&what, want, got, 0.0, tolerance)?;
        }
        Ok(())
    }))
}

/// A step that also gives gradients of poses is the same step, and gives the same bits every time,
/// once.
pub fn pose_gradients_leave_the_step_alone(backend: &dyn Backend) -> Outcome {
    POSES.leaves_the_step_alone(backend, 63, |step, views| {
        posed(Pipeline::AUTO, step, views)
    })
}

/// As the cameras of a capture that was taken a little beside.
fn moved(camera: &Camera) -> Camera {
    let (sin, cos) = 0.02f64.sin_cos();
    let [x, y, z] = camera.rotation;
    let turn = |a: [f64; 3], b: [f64; 3], s: f64| std::array::from_fn(|k| cos * a[k] + s * b[k]);
    Camera {
        rotation: [turn(x, z, sin), y, turn(z, x, -sin)],
        translation: camera.translation.map(|t| t + 0.03),
        fx: 1.02 * camera.fx,
        cy: camera.cy + 0.7,
        lens: camera
            .lens
            .adjusted(&std::array::from_fn(|i| if i < 4 { 0.01 } else { 0.0 })),
        ..camera.clone()
    }
}

/// Whatever a learner does after its cameras were moved it does as one that never had others.
pub fn moved_cameras_are_the_cameras(backend: &dyn Backend) -> Outcome {
    let (scene, views) = scene_and(64, views_through_lenses());
    let elsewhere: Vec<View> = views
        .iter()
        .map(|view| View {
            camera: moved(&view.camera),
            ..view.clone()
        })
        .collect();
    let cameras: Vec<Camera> = elsewhere.iter().map(|view| view.camera.clone()).collect();
    let go_on = |learner: &mut dyn Learner| -> Result<_, BackendError> {
        let mut plan = posed(Pipeline::AUTO, 2, &[0, 1]);
        learner.refine(&Refine::ComputeColumn(Column::Filter))?;
        learner.refine(&Refine::LimitScales {
            share: 0.05,
            floor: 0.0,
        })?;
        plan.scale = 2;
        learner.step(&plan)?;
        let render = plan.render.clone();
        learner.refine(&Refine::PruneFloaters {
            render,
            depth_share: 0.9,
        })?;
        (plan.step, plan.views) = (3, vec![2]);
        learner.step(&plan)?;
        Ok((state_bits(&learner.snapshot()?), learner.pose_gradients()?))
    };
    let mut want = backend.learner(&scene, Arc::new(elsewhere)).map_err(said)?;
    let mut got = backend.learner(&scene, views.clone()).map_err(said)?;
    // What was made for the old cameras is not kept.
    got.refine(&Refine::ComputeColumn(Column::Filter))
        .map_err(said)?;
    got.move_cameras(&cameras).map_err(said)?;
    let (want, got_now) = (
        go_on(&mut *want).map_err(said)?,
        go_on(&mut *got).map_err(said)?,
    );
    ensure(want == got_now, || {
        "moved cameras are not those that were moved to".into()
    })?;
    let mut wider = cameras.clone();
    wider[1].width += 1;
    for wrong in [&wider[..], &cameras[1..]] {
        let answer = got.move_cameras(wrong);
        ensure(matches!(answer, Err(BackendError::Input(_))), || {
            format!("other cameras gave {answer:?}")
        })?;
    }
    Ok(())
}
