//! Learners without first moments, and with harmonics as halves.

use super::{backend, mcmc};
use crate::Moments;
use crate::tests::support::device::emulated as device;
use splatcore_core::backend::{Backend, Refine};
use splatcore_core::columns::{Column, ColumnPlan, ColumnPlans};
use splatcore_core::{Gaussians, Lens, Pipeline};
use splatcore_reference::conformance::determinism::state_bits;
use splatcore_reference::conformance::scenes::{random_scene, views};
use splatcore_reference::conformance::step::plan;
use std::sync::Arc;

/// Where the first decay is 0, first moments are the gradients, and it makes no difference whether
/// they are kept: of dense and sparse steps, of one photo and of several, with learned columns.
#[test]
fn first_moments_without_decay_need_not_be_kept() {
    let Some(device) = device() else { return };
    let states = |sparse, views_a_step: usize, degree| {
        let scene = random_scene(43, 200, degree);
        [Moments::Compact, Moments::Second].map(|moments| {
            let backend = backend(&device, moments);
            let mut learner = backend.learner(&scene, Arc::new(views())).unwrap();
            for step in 1..=6 {
                let mut plan = plan(Pipeline::AUTO, step, 0);
                plan.views = (0..views_a_step).map(|k| (step as usize + k) % 3).collect();
                (plan.betas[0], plan.sparse_adam) = (0.0, sparse);
                let number = ColumnPlan {
                    weight: 0.1,
                    rate: 0.5,
                };
                plan.columns = ColumnPlans::of(|column| (column == Column::Mask).then_some(number));
                learner.step(&plan).unwrap();
                if step == 3 {
                    learner
                        .refine(&Refine::ResetOpacity { ceiling: 0.2 })
                        .unwrap();
                }
                if step == 4 {
                    learner.refine(&mcmc(step)).unwrap();
                }
                if step == 5 {
                    let snapshot = learner.snapshot().unwrap();
                    learner.restore(&snapshot).unwrap();
                }
            }
            learner.snapshot().unwrap()
        })
    };
    for degree in [0, 1, 3] {
        for (sparse, views_a_step) in [(false, 1), (true, 1), (false, 2)] {
            let [mut kept, not_kept] = states(sparse, views_a_step, degree);
            let gone = &not_kept.first;
            assert_eq!(
                *gone,
                Gaussians::zeros(gone.len(), degree),
                "first moments are there"
            );
            assert!(kept.first != *gone, "nothing was learnt");
            kept.first = gone.clone();
            assert!(
                state_bits(&kept) == state_bits(&not_kept),
                "degree {degree}, sparse {sparse}, {views_a_step} photos a step"
            );
        }
    }
}

#[test]
fn a_first_moment_that_is_not_kept_cannot_decay() {
    let Some(device) = device() else { return };
    let mut learner = backend(&device, Moments::Second)
        .learner(&random_scene(2, 60, 1), Arc::new(views()))
        .unwrap();
    let error = learner.step(&plan(Pipeline::AUTO, 1, 0)).unwrap_err();
    assert!(
        error.to_string().contains("first moments decay by 0.9"),
        "{error}"
    );
}

/// From harmonics that are halves: the first step is that of floats, bit for bit, but for the
/// rounding of what it makes of them, which is right in the mean. Through lenses, with gradients of
/// the pose, of dense and sparse steps, of one photo and of several, at every degree in use.
#[test]
fn a_step_of_halves_is_that_of_floats_but_rounded() {
    let Some(device) = device() else { return };
    let mut scene = random_scene(47, 300, 3);
    for number in scene.sh.as_flattened_mut() {
        *number = half::f16::from_f32(*number).to_f32();
    }
    let mut views = views();
    views[1].camera.lens = Lens::Fisheye {
        k: [0.02, -0.01, 0.004, -0.001],
        p: [0.0; 2],
        s: [0.0; 2],
    };
    let views = Arc::new(views);
    let (mut sum, mut count) = (0.0, 0.0_f64);
    for (in_use, sparse, seen) in [
        (0, false, &[0][..]),
        (1, true, &[1]),
        (2, false, &[0, 1]),
        (3, false, &[1]),
        (3, true, &[2]),
    ] {
        let states = [Moments::Second, Moments::Small].map(|moments| {
            let mut learner = backend(&device, moments)
                .learner(&scene, views.clone())
                .unwrap();
            let mut plan = plan(Pipeline::AUTO, 1, 0);
            (plan.views, plan.betas[0], plan.sparse_adam) = (seen.to_vec(), 0.0, sparse);
            plan.render.sh_degree = in_use;
            (plan.rates.sh_base, plan.rates.sh_rest) = (2.5e-3, 1.25e-4);
            plan.pose_gradients = true;
            learner.step(&plan).unwrap();
            let poses = format!("{:?}", learner.pose_gradients().unwrap());
            (learner.snapshot().unwrap(), poses)
        });
        let [(floats, poses), (mut halves, poses_of_halves)] = states;
        assert_eq!(poses, poses_of_halves);
        let numbers = floats.gaussians.sh.as_flattened();
        for (&float, &half) in numbers.iter().zip(halves.gaussians.sh.as_flattened()) {
            let apart = (f64::from(float).abs().max(0.5f64.powi(14)).log2().floor() - 10.0).exp2();
            let off = (f64::from(half) - f64::from(float)) / apart;
            assert!(off.abs() < 1.0, "{float} became {half}");
            assert_eq!(half, half::f16::from_f32(half).to_f32());
            (sum, count) = (sum + off, count + f64::from(u8::from(off != 0.0)));
        }
        halves.gaussians.sh.clone_from(&floats.gaussians.sh);
        assert!(
            state_bits(&halves) == state_bits(&floats),
            "degree {in_use}"
        );
    }
    // A rounding by chance is off by 0.5 at most in the mean of squares.
    assert!(count > 10_000.0, "{count} are rounded");
    assert!(
        (sum / count).abs() < 4.0 * 0.5 / count.sqrt(),
        "{}",
        sum / count
    );
}

#[test]
fn restored_runs_of_halves_have_equal_bits() {
    let Some(device) = device() else { return };
    let scene = random_scene(43, 200, 3);
    let run = |again: bool| {
        let backend = backend(&device, Moments::Small);
        let mut learner = backend.learner(&scene, Arc::new(views())).unwrap();
        for step in 1..=8 {
            let mut plan = plan(Pipeline::AUTO, step, step as usize % 3);
            plan.betas[0] = 0.0;
            learner.step(&plan).unwrap();
            if step == 3 {
                learner.refine(&mcmc(step)).unwrap();
            }
            if again && step == 4 {
                let snapshot = learner.snapshot().unwrap();
                learner = backend.learner(&scene, Arc::new(views())).unwrap();
                learner.restore(&snapshot).unwrap();
            }
        }
        state_bits(&learner.snapshot().unwrap())
    };
    assert!(run(true) == run(false));
}
