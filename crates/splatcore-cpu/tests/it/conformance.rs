//! The conformance suite on the CPU: every instruction set that this machine has, one and two
//! threads.

use splatcore_core::Backend;
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

#[test]
fn every_instruction_set_conforms() {
    for level in Level::available() {
        passes(&CpuBackend::with_simd(Some(2), level));
    }
}

#[test]
fn one_thread_conforms() {
    passes(&CpuBackend::new(Some(1)));
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
