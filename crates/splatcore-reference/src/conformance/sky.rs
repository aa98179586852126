//! The sky: images and gradients with one behind the scene, and steps that learn it, against the
//! twin.

use super::bits::state_bits;
use super::compare;
use super::outcome::{Outcome, ensure, gather, said};
use super::scenes::{odd_camera, plain_camera, random_scene};
use super::shutters::rolling;
use super::step::{gradient_of, loss_tolerance, plan, scene_and_views, twin_step};
use crate::twin::{self, CutOffs, Group, sky};
use splatcore_core::backend::{Backend, Cotangents, LearnerState, RenderOptions, StepPlan};
use splatcore_core::colour::ColourTable;
use splatcore_core::random::Rng;
use splatcore_core::shutter::Readout;
use splatcore_core::sky::{Sky, SkyPlan, fresh};
use splatcore_core::{Camera, Image, Learner, Lens, Pipeline};
use std::sync::Arc;

/// Numbers in mid-training, moments and count too.
fn table(seed: u64) -> ColourTable {
    let (mut rng, mut table) = (Rng::new(seed, 17), fresh());
    let mut spread = |numbers: &mut [f32], size: f32| {
        numbers.iter_mut().for_each(|n| *n += size * rng.normal());
    };
    spread(&mut table.parameters, 0.2);
    spread(&mut table.first, 1e-3);
    spread(&mut table.second, 1e-3);
    table.second.iter_mut().for_each(|v| *v *= *v);
    table.seen = vec![7];
    table
}

fn options(seed: u64, pipeline: Pipeline) -> RenderOptions {
    RenderOptions {
        pipeline,
        background: [0.1, 0.0, 0.05],
        sky: Sky::of(&table(seed)).map(Arc::new),
        ..RenderOptions::default()
    }
}

/// A pinhole that is turned, cameras through lenses, and one that turns while it takes its photo.
fn cameras() -> [Camera; 4] {
    let fisheye = Lens::Fisheye {
        k: [0.02, -0.01, 0.0, 0.0],
        p: [0.0; 2],
        s: [0.0; 2],
    };
    let camera = plain_camera(52, 40);
    [
        odd_camera(52, 40, 0.4),
        rolling(odd_camera(40, 44, 1.3), Readout::TopToBottom),
        Camera {
            lens: fisheye,
            ..camera.clone()
        },
        Camera {
            fx: 0.6 * camera.fx,
            ..odd_camera(61, 33, 0.9)
        },
    ]
}

/// Rendered images, in floats and in bytes, and gradients of Gaussians by them.
pub fn a_sky_is_behind_images(backend: &dyn Backend) -> Outcome {
    let scene = random_scene(71, 60, 1);
    let mut renderer = backend.renderer(&scene).map_err(said)?;
    gather(cameras().into_iter().enumerate().map(|(i, camera)| {
        let options = options(72, Pipeline::MEASURED);
        let got = renderer.render(&camera, &options).map_err(said)?;
        let want = twin::render(&scene, &camera, &options);
        let wide = |image: &Image| -> Vec<f64> {
            let values = image.data.as_flattened().iter();
            values.map(|&v| v.into()).collect()
        };
        let what = format!("camera {i}");
        compare::vectors(
            &what,
            want.image.as_flattened(),
            &wide(&got.image),
            0.0,
            1e-4,
        )?;
        let bytes = renderer.render_bytes(&camera, &options).map_err(said)?;
        let close = got.image.to_bytes().into_iter().zip(bytes);
        ensure(close.into_iter().all(|(a, b)| a.abs_diff(b) <= 1), || {
            format!("{what}: bytes without the sky")
        })?;
        let plain = RenderOptions {
            sky: None,
            ..options.clone()
        };
        let plain = renderer.render(&camera, &plain).map_err(said)?;
        ensure(plain.image != got.image, || {
            format!("{what}: the sky shows nowhere")
        })?;
        let mut rng = Rng::new(73, 1);
        let mut random = || -> [f32; 3] { [(); 3].map(|()| rng.normal()) };
        let mut weights = Image::filled(camera.width, camera.height, [0.0; 3]);
        weights.data.iter_mut().for_each(|rgb| *rgb = random());
        let rows: Vec<[f64; 3]> = weights.data.iter().map(|rgb| rgb.map(f64::from)).collect();
        let cotangents = Cotangents::from(weights);
        let training = RenderOptions {
            pipeline: Pipeline::AUTO,
            ..options
        };
        let got = renderer.gradients(&camera, &training, &cotangents);
        let got = twin::Scene::from(&got.map_err(said)?);
        let wide = twin::Scene::from(&scene);
        let want = twin::gradients_scene(&wide, &camera, &training, CutOffs::Reference, &rows);
        gather(Group::ALL.map(|group| {
            let (want, got) = (want.scene.group(group), got.group(group));
            let tolerance = 3.0 * backend.gradient_tolerance(Pipeline::AUTO);
            let what = format!("{what}, gradient of {group:?}");
            compare::vectors(&what, &want, &got, 0.0, tolerance)
        }))
    }))
}

fn learning(pipeline: Pipeline, step: u32, views: &[usize]) -> StepPlan {
    let mut plan = plan(pipeline, step, 0);
    plan.views = views.to_vec();
    plan.sky = Some(SkyPlan {
        rate: 0.02 / step as f32,
    });
    plan
}

/// Loss, gradients of the scene and of all numbers, their update, of one view and of several.
pub fn a_sky_learns_like_the_twins(backend: &dyn Backend) -> Outcome {
    gather([Pipeline::AUTO, Pipeline::VANILLA].map(|pipeline| {
        let (scene, views) = scene_and_views(74);
        let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
        let mut before = LearnerState::fresh(scene);
        before.sky = fresh();
        for (step, of) in [(1, &[0][..]), (2, &[1]), (3, &[2, 0])] {
            let plan = learning(pipeline, step, of);
            learner.step(&plan).map_err(said)?;
            let after = learner.snapshot().map_err(said)?;
            let what = format!("{pipeline}, step {step}");
            let twins: Vec<_> = of
                .iter()
                .map(|&view| twin_step(&before, &views[view], &plan))
                .collect();
            let share = 1.0 / twins.len() as f64;
            let loss = learner.last_loss().map_err(said)?;
            let want = share * twins.iter().map(|twin| twin.loss).sum::<f64>();
            let allowed = loss_tolerance(backend, pipeline) * want;
            ensure((loss - want).abs() <= allowed, || {
                format!("{what}: loss {loss}, the twin has {want}")
            })?;
            let mean = |of_twin: &dyn Fn(usize) -> Vec<f64>| {
                let mut mean = of_twin(0);
                for twin in 1..twins.len() {
                    let more = of_twin(twin);
                    mean.iter_mut().zip(more).for_each(|(sum, g)| *sum += g);
                }
                mean.iter_mut().for_each(|sum| *sum *= share);
                mean
            };
            let tolerance = backend.gradient_tolerance(pipeline);
            let got = gradient_of(&before, &after, plan.betas[0]);
            for group in Group::ALL {
                let want = mean(&|twin| twins[twin].gradient.group(group));
                let what = format!("{what}, gradient of {group:?}");
                compare::vectors(&what, &want, &got.group(group), 0.0, tolerance)?;
            }
            let gradient = mean(&|twin| twins[twin].sky.clone());
            let plan = plan.sky.ok_or("a plan without a sky")?;
            let want = sky::step(&before.sky, &gradient, &plan);
            same(&what, &want, &after.sky)?;
            let known = learner.sky().map_err(said)?;
            ensure(known == Sky::of(&after.sky), || {
                "`sky` and the snapshot disagree".into()
            })?;
            before = after;
        }
        Ok(())
    }))
}

fn same(what: &str, want: &ColourTable, got: &ColourTable) -> Outcome {
    ensure(want.seen == got.seen, || {
        format!("{what}: counted {:?} times", got.seen)
    })?;
    let wide = |numbers: &[f32]| -> Vec<f64> { numbers.iter().map(|&n| n.into()).collect() };
    gather(
        [
            ("numbers", &want.parameters, &got.parameters),
            ("first moments", &want.first, &got.first),
            ("second moments", &want.second, &got.second),
        ]
        .map(|(part, want, got)| {
            let what = format!("{what}, {part} of the sky");
            compare::vectors(&what, &wide(want), &wide(got), 0.0, 1e-3)
        }),
    )
}

/// Snapshot, go on; restore into another learner, go on: the same bits. A plan without a sky leaves
/// the numbers alone and is as if there were none; one of other numbers is refused.
pub fn a_sky_goes_on_bit_for_bit(backend: &dyn Backend) -> Outcome {
    let (scene, views) = scene_and_views(75);
    let go_on = |learner: &mut dyn Learner, from: u32| -> Result<Vec<u32>, String> {
        for step in from..from + 4 {
            let plan = learning(Pipeline::AUTO, step, &[step as usize % 3]);
            learner.step(&plan).map_err(said)?;
        }
        Ok(state_bits(&learner.snapshot().map_err(said)?))
    };
    let mut first = backend.learner(&scene, views.clone()).map_err(said)?;
    go_on(first.as_mut(), 1)?;
    let snapshot = first.snapshot().map_err(said)?;
    let straight_on = go_on(first.as_mut(), 5)?;
    let other = random_scene(76, 40, 1);
    let mut second = backend.learner(&other, views.clone()).map_err(said)?;
    second.restore(&snapshot).map_err(said)?;
    ensure(go_on(second.as_mut(), 5)? == straight_on, || {
        "training goes on differently after a restore".into()
    })?;
    let run = |sky: ColourTable| -> Result<LearnerState, String> {
        let mut learner = backend.learner(&scene, views.clone()).map_err(said)?;
        let mut state = LearnerState::fresh(scene.clone());
        state.sky = sky;
        learner.restore(&state).map_err(said)?;
        let plan = plan(Pipeline::AUTO, 1, 1);
        learner.step(&plan).map_err(said)?;
        learner.snapshot().map_err(said)
    };
    let (plain, held) = (run(ColourTable::default())?, run(table(77))?);
    ensure(plain.sky.rows() == 0 && held.sky == table(77), || {
        "steps that learn no sky have changed one".into()
    })?;
    ensure(plain.gaussians == held.gaussians, || {
        "a sky changes a step that does not learn it".into()
    })?;
    let mut wrong = snapshot;
    wrong.sky = ColourTable::fresh(1, &[0.0; 3]);
    ensure(second.restore(&wrong).is_err(), || {
        "a sky of three numbers is accepted".into()
    })
}
