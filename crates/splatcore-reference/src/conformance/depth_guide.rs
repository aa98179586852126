//! Steps that learn from depths too, against the twin: what comes on top of the image's loss and
//! gradients, of one view and of several, and by poses.

use super::bits::state_bits;
use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::step::{gradient_of, loss_tolerance, plan, scene_and_views, twin_step};
use crate::twin::{self, CutOffs, Group, Scene};
use splatcore_core::backend::{Backend, StepPlan};
use splatcore_core::depth::normals::NEIGHBOURS;
use splatcore_core::depth::{DepthLoss, DepthMap, DepthPlan, MIN_ALPHA, SKY};
use splatcore_core::random::Rng;
use splatcore_core::{Gaussians, Pipeline, View, pose_gradient};
use std::sync::Arc;

/// Right, hardly off, far off, and unknown.
pub(super) const ALL_KINDS: [f32; 5] = [1.0, 1.004, 0.7, 1.9, 0.0];
/// The pull of what is nearly right is in proportion to a difference of depths, which has fewer
/// digits than they have.
const FEWER_DIGITS: f64 = 3.0;
/// Far off and unknown.
const FAR_OFF: [f32; 5] = [1.4, 0.7, 1.9, 0.5, 0.0];

/// Further from [`MIN_ALPHA`] than a step or a rounding moves an alpha.
const NEAR: f64 = 0.03;

/// The plan of a step that learns more from depths than from colours.
pub(super) fn guided(pipeline: Pipeline, loss: DepthLoss, views: &[usize]) -> StepPlan {
    let (weight, unit, sky_weight) = (3.0, 2.5, 0.4);
    StepPlan {
        views: views.to_vec(),
        depth: Some(DepthPlan {
            loss,
            weight,
            unit,
            sky_weight,
            normal_weight: 0.0,
        }),
        ..plan(pipeline, 1, 0)
    }
}

/// A scene and views of which depths are known: of the first at each pixel, of the second at a
/// third of its size, of the third none. Known are inverse depths times one of these numbers; where
/// alpha is about [`MIN_ALPHA`] nothing is known. Every eighth column is said to show the sky.
pub(super) fn scene_and_depths(seed: u64, known_by: [f32; 5]) -> (Gaussians, Arc<Vec<View>>) {
    let (scene, views) = scene_and_views(seed);
    let mut views = views.to_vec();
    for (view, divisor) in views.iter_mut().zip([1, 3]) {
        let camera = &view.camera;
        let frame = twin::render_scene(
            &Scene::from(&scene),
            camera,
            &plan(Pipeline::AUTO, 1, 0).render,
            CutOffs::Reference,
        );
        let (width, height) = (
            camera.width.div_ceil(divisor),
            camera.height.div_ceil(divisor),
        );
        let mut map = DepthMap {
            width,
            height,
            inverse: vec![f32::NAN; (width * height) as usize],
            normals: Vec::new(),
        };
        let mut rng = Rng::new(seed, 3);
        for (i, (&sum, &left)) in (0u32..).zip(frame.inverse_depth.iter().zip(&frame.transmittance))
        {
            let place = [i % camera.width, i / camera.width];
            let index = map.index(place, [camera.width, camera.height]);
            let known = &mut map.inverse[index];
            let alpha = 1.0 - left;
            if (alpha - MIN_ALPHA).abs() < NEAR {
                *known = 0.0;
            } else if known.is_nan() && alpha > MIN_ALPHA {
                let right = (sum / alpha) as f32;
                *known = right * known_by[(5.0 * rng.uniform()) as usize % 5];
            }
        }
        for (i, known) in (0u32..).zip(&mut map.inverse) {
            *known = known.max(0.0);
            if i % width % 8 == 3 {
                *known = SKY;
            }
        }
        view.photo.depth = Some(Arc::new(map));
    }
    (scene, Arc::new(views))
}

/// As [`scene_and_depths`], with normals in place of depths: those that face the camera, some
/// unknown, and all unknown where a neighbour's alpha is about [`MIN_ALPHA`].
fn scene_and_normals(seed: u64) -> (Gaussians, Arc<Vec<View>>) {
    let (scene, views) = scene_and_depths(seed, ALL_KINDS);
    let mut views = views.to_vec();
    for view in &mut views {
        let Some(known) = view.photo.depth.as_deref() else {
            continue;
        };
        let (camera, mut map) = (&view.camera, known.clone());
        let size = [camera.width, camera.height];
        let frame = twin::render_scene(
            &Scene::from(&scene),
            camera,
            &plan(Pipeline::AUTO, 1, 0).render,
            CutOffs::Reference,
        );
        let mut rng = Rng::new(seed, 4);
        map.inverse.fill(0.0);
        map.normals = (map.inverse.iter())
            .map(|_| {
                let [x, y] = [0; 2].map(|_| 1.2 * rng.uniform() - 0.6);
                let z = -(1.0 - x * x - y * y).sqrt();
                if rng.uniform() < 0.2 {
                    [0.0; 3]
                } else {
                    [x, y, z]
                }
            })
            .collect();
        for (i, left) in (0u32..).zip(&frame.transmittance) {
            if (1.0 - left - MIN_ALPHA).abs() > NEAR {
                continue;
            }
            let [x, y] = [i % size[0], i / size[0]].map(|v| v as i32);
            for [dx, dy] in NEIGHBOURS {
                let at = [(x + dx) as u32, (y + dy) as u32];
                if at[0] < size[0] && at[1] < size[1] {
                    let index = map.index(at, size);
                    map.normals[index] = [0.0; 3];
                }
            }
        }
        view.photo.depth = Some(Arc::new(map));
    }
    (scene, Arc::new(views))
}

/// Gradient and loss of steps that learn from normals, of single views and of a batch.
pub fn steps_with_normals_match_the_twin(backend: &dyn Backend) -> Outcome {
    let start = scene_and_normals(98);
    let step = |pipeline, views: &[usize], normal_weight| {
        let mut plan = guided(pipeline, DepthLoss::Inverse, views);
        plan.depth = plan.depth.map(|depth| DepthPlan {
            normal_weight,
            ..depth
        });
        plan
    };
    gather([Pipeline::AUTO, Pipeline::VANILLA].map(|pipeline| {
        gather([&[0][..], &[1], &[1, 2, 0]].map(|views| {
            let plan = step(pipeline, views, 0.7);
            matches(backend, &start, &plan).map_err(|e| format!("normals, {views:?}: {e}"))
        }))
    }))?;
    let bits = |weight| -> Result<_, String> {
        let mut learner = backend.learner(&start.0, start.1.clone()).map_err(said)?;
        let plan = step(Pipeline::AUTO, &[0], weight);
        learner.step(&plan).map_err(said)?;
        Ok(state_bits(&learner.snapshot().map_err(said)?))
    };
    ensure(bits(0.7)? == bits(0.7)?, || {
        "a step with normals gives other bits the second time".into()
    })?;
    ensure(bits(0.7)? != bits(0.0)?, || "normals change nothing".into())
}

/// Gradient and loss of single views and of a batch, by each loss and both kinds of sums.
pub fn guided_steps_match_the_twin(backend: &dyn Backend) -> Outcome {
    let start = scene_and_depths(95, ALL_KINDS);
    gather(DepthLoss::ALL.into_iter().flat_map(|loss| {
        [Pipeline::AUTO, Pipeline::VANILLA].map(|pipeline| {
            gather([&[0][..], &[1], &[1, 2, 0]].map(|views| {
                let plan = guided(pipeline, loss, views);
                matches(backend, &start, &plan).map_err(|e| format!("{loss}, {views:?}: {e}"))
            }))
        })
    }))
}

fn matches(
    backend: &dyn Backend,
    (scene, views): &(Gaussians, Arc<Vec<View>>),
    plan: &StepPlan,
) -> Outcome {
    let mut learner = backend.learner(scene, views.clone()).map_err(said)?;
    let before = learner.snapshot().map_err(said)?;
    learner.step(plan).map_err(said)?;
    let got = gradient_of(&before, &learner.snapshot().map_err(said)?, plan.betas[0]);
    let twins: Vec<_> = plan
        .views
        .iter()
        .map(|&view| twin_step(&before, &views[view], plan))
        .collect();
    let share = 1.0 / twins.len() as f64;
    let pipeline = plan.render.pipeline;
    for group in Group::ALL {
        let mut want = vec![0.0; got.group(group).len()];
        for twin in &twins {
            let of_view = twin.gradient.group(group);
            want.iter_mut()
                .zip(of_view)
                .for_each(|(sum, g)| *sum += share * g);
        }
        compare::vectors(
            &format!("{pipeline}, gradient of {group:?}"),
            &want,
            &got.group(group),
            0.0,
            FEWER_DIGITS * backend.gradient_tolerance(pipeline),
        )?;
    }
    let loss = learner.last_loss().map_err(said)?;
    let want = share * twins.iter().map(|twin| twin.loss).sum::<f64>();
    let tolerance = FEWER_DIGITS * loss_tolerance(backend, pipeline);
    ensure((loss - want).abs() <= tolerance * want, || {
        format!("{pipeline}: loss {loss}, the twin has {want}")
    })
}

/// Poses get the depths' gradients too.
pub fn guided_poses_match_the_twin(backend: &dyn Backend) -> Outcome {
    let (scene, views) = scene_and_depths(96, FAR_OFF);
    let plan = StepPlan {
        pose_gradients: true,
        ..guided(Pipeline::AUTO, DepthLoss::Inverse, &[0, 1])
    };
    let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
    let before = learner.snapshot().map_err(said)?;
    learner.step(&plan).map_err(said)?;
    let found = learner.pose_gradients().map_err(said)?;
    ensure(found.len() == 2, || "a pose without a gradient".into())?;
    for (view, gradient) in found {
        let seen = &views[view];
        let twin = Gaussians::from(&twin_step(&before, seen, &plan).gradient);
        let want = pose_gradient(&scene, &twin, &seen.camera, plan.render.sh_degree);
        let tolerance = 10.0 * backend.gradient_tolerance(plan.render.pipeline);
        for (part, want, got) in [
            ("rotation", want.rotation, gradient.rotation),
            ("translation", want.translation, gradient.translation),
        ] {
            let what = format!("view {view}, {part} of the pose");
            compare::vectors(&what, &want, &got, 0.0, tolerance)?;
        }
    }
    Ok(())
}

/// A view of which no depth is known is learned from as by a plan that asks for none, and a guided
/// step gives the same bits every time.
pub fn unknown_depths_change_nothing(backend: &dyn Backend) -> Outcome {
    let (scene, views) = scene_and_depths(97, ALL_KINDS);
    let run = |guided_by: Option<DepthLoss>, of: &[usize]| -> Result<_, String> {
        let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
        for step in 1..=3 {
            let mut plan = guided(Pipeline::AUTO, guided_by.unwrap_or_default(), of);
            plan.step = step;
            plan.depth = plan.depth.filter(|_| guided_by.is_some());
            learner.step(&plan).map_err(said)?;
        }
        Ok(state_bits(&learner.snapshot().map_err(said)?))
    };
    let asked = Some(DepthLoss::Inverse);
    for of in [&[2][..], &[2, 2]] {
        ensure(run(asked, of)? == run(None, of)?, || {
            format!("views {of:?} without depths are learned from otherwise")
        })?;
    }
    let once = run(asked, &[0])?;
    ensure(once == run(asked, &[0])?, || {
        "a step with depths gives other bits the second time".into()
    })?;
    ensure(once != run(None, &[0])?, || "depths change nothing".into())
}
