//! The conformance suite on the CPU: every instruction set that this machine has, one and two
//! threads.

use splatcore_core::Backend;
use splatcore_core::columns::{Column, ColumnPlan};
use splatcore_cpu::CpuBackend;
use splatcore_cpu::simd::Level;
use splatcore_reference::conformance::{self, determinism, scenes, step};
use std::sync::Arc;

fn passes(backend: &dyn Backend) {
    let results = conformance::all(backend);
    for case in &results {
        let verdict = case.outcome.as_ref().err().map_or("ok", |_| "failed");
        eprintln!("{:6.2} s  {}: {verdict}", case.seconds, case.name);
    }
    let failures: Vec<String> = results
        .into_iter()
        .filter_map(|case| {
            case.outcome
                .err()
                .map(|message| format!("{}:\n{message}", case.name))
        })
        .collect();
    assert!(
        failures.is_empty(),
        "{}\n{}",
        backend.describe(),
        failures.join("\n")
    );
}

/// The narrowest by one thread, the others by two; if there is one alone, it by both.
#[test]
fn every_instruction_set_conforms() {
    let levels = Level::available();
    let (narrowest, wider) = levels.split_last().unwrap();
    passes(&CpuBackend::with_simd(Some(1), *narrowest));
    let by_two = if wider.is_empty() { &levels[..] } else { wider };
    for &level in by_two {
        passes(&CpuBackend::with_simd(Some(2), level));
    }
}

#[test]
fn cases_test_every_group() {
    conformance::gradients::cases_reach_every_group().unwrap();
}

/// Image, gradients and three training steps: the same bits from any number of threads.
#[test]
fn the_number_of_threads_changes_nothing() {
    for level in Level::available() {
        let results: Vec<_> = [1, 2, 3]
            .map(|threads| {
                let backend = CpuBackend::with_simd(Some(threads), level);
                let scene = scenes::random_scene(81, 1500, 2);
                let views = Arc::new(scenes::views());
                let mut learner = backend.learner(&scene, views.clone()).unwrap();
                for n in 1..=3 {
                    let mut plan = step::plan(splatcore_core::Pipeline::AUTO, n, n as usize % 3);
                    plan.noise = Some(1e-2);
                    learner.step(&plan).unwrap();
                }
                let plan = step::plan(splatcore_core::Pipeline::VANILLA, 4, 0);
                learner.step(&plan).unwrap();
                let loss = learner.last_loss().unwrap();
                let rendered = learner.render(&views[2].camera, &plan.render).unwrap();
                let image: Vec<u32> = rendered
                    .image
                    .data
                    .as_flattened()
                    .iter()
                    .map(|v| v.to_bits())
                    .collect();
                (
                    determinism::state_bits(&learner.snapshot().unwrap()),
                    loss.to_bits(),
                    image,
                )
            })
            .into();
        assert!(
            results[0] == results[1] && results[0] == results[2],
            "{}",
            level.name()
        );
    }
}

/// The mean of a gradient and itself is that gradient: a step of one view given twice has the bits
/// of the step of the view, though its gradients go by way of memory.
#[test]
fn a_view_given_twice_is_the_view() {
    let (scene, views) = (scenes::random_scene(82, 1500, 2), Arc::new(scenes::views()));
    let after = |given: &[usize]| {
        let backend = CpuBackend::new(Some(2));
        let mut learner = backend.learner(&scene, views.clone()).unwrap();
        for n in 1..=3 {
            let mut plan = step::plan(splatcore_core::Pipeline::AUTO, n, 0);
            plan.views = given.to_vec();
            (plan.noise, plan.sparse_adam) = (Some(1e-2), n == 2);
            plan.opacity_regulariser = 0.3;
            plan.columns[Column::Mask] = Some(ColumnPlan {
                weight: 0.2,
                rate: 0.01,
            });
            learner.step(&plan).unwrap();
        }
        (learner.last_loss().unwrap(), learner.snapshot().unwrap())
    };
    let ((loss, mut once), (loss_of_two, twice)) = (after(&[1]), after(&[1, 1]));
    for (sum, seen) in once.gradient_sum.iter_mut().zip(&mut once.seen) {
        (*sum, *seen) = (2.0 * *sum, 2 * *seen);
    }
    assert_eq!(loss, loss_of_two);
    for (a, b) in once.gradient_sum.iter().zip(&twice.gradient_sum) {
        assert!((a - b).abs() <= 1e-6 * a, "{a} {b}");
    }
    once.gradient_sum.clone_from(&twice.gradient_sum);
    assert_eq!(
        determinism::state_bits(&once),
        determinism::state_bits(&twice)
    );
}
