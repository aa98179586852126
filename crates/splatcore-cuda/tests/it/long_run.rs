//! A long run on the device takes no more memory, events or host memory than a short one: whatever
//! a step, a refinement, a look at the counters, an image or a snapshot takes, it gives back.
//! Emulated; one test a process, since the heap is counted. `SPLATCORE_LONG_RUN=STEPS` makes it
//! longer.
#![allow(clippy::unwrap_used)] // helpers of tests

use crate::watched::{Watched, camera, view};
use splatcore_core::backend::{Backend, Refine};
use splatcore_core::{Learner, Pipeline, View};
use splatcore_reference::conformance::scenes::random_scene;
use splatcore_reference::conformance::step;
use splatcore_test_support::heap;
use std::sync::Arc;

#[global_allocator]
static HEAP: heap::Counted = heap::Counted;

/// As many as the emulator takes in some ten seconds.
const STEPS: u32 = 240;
/// Steps between two refinements.
const REFINE_EVERY: u32 = 5;
/// Steps between two looks at the memory.
const LEVEL_EVERY: u32 = 60;
const MAX_GAUSSIANS: usize = 60;
/// Of the heap, which holds the emulator too: a plan that is kept each step is more.
const SLACK: usize = 4 << 10;

/// What is held at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Level {
    device: usize,
    events: usize,
    heap: usize,
}

/// Bytes of the device, and events.
fn held(watched: &Watched) -> (usize, usize) {
    let watch = watched.watch();
    (watch.bytes, watch.events)
}

fn refine(adc: bool, step: u32) -> Refine {
    match adc {
        _ if step.is_multiple_of(25) => Refine::ResetOpacity { ceiling: 0.3 },
        true => Refine::Adc {
            gradient_threshold: 1e-4,
            split_scale: 0.1,
            min_opacity: 0.02,
            max_scale: None,
            max_gaussians: MAX_GAUSSIANS,
            budget: None,
            region: None,
            seed: 5,
            step,
        },
        false => Refine::Mcmc {
            min_opacity: 0.05,
            growth: 0.1,
            max_gaussians: MAX_GAUSSIANS,
            region: None,
            seed: 4,
            step,
        },
    }
}

/// A step and what goes with it in a run; every kind of call comes between two levels.
fn take(learner: &mut dyn Learner, adc: bool, number: u32) {
    let plan = step::plan(Pipeline::AUTO, number, number as usize % 3);
    match number % 9 {
        4 => learner.profiled_step(&plan).unwrap(),
        _ => learner.step(&plan).unwrap(),
    }
    if number.is_multiple_of(REFINE_EVERY) {
        learner.refine(&refine(adc, number)).unwrap();
    }
    if number.is_multiple_of(LEVEL_EVERY / 2) {
        assert!(learner.last_loss().unwrap().is_finite());
        learner.take_profile().unwrap();
        learner.timed_step(&plan).unwrap();
        learner.render(&camera(21, 30), &plan.render).unwrap();
        let snapshot = learner.snapshot().unwrap();
        learner.restore(&snapshot).unwrap();
    }
}

#[test]
fn a_long_run_takes_no_more_than_a_short_one() {
    let steps = std::env::var("SPLATCORE_LONG_RUN").map_or(STEPS, |text| text.parse().unwrap());
    let Some(watched) = Watched::new() else {
        return;
    };
    for (name, adc, resident) in [("adc", true, true), ("mcmc", false, false)] {
        // With photos on the device, and with photos that come through the ring.
        watched.watch().said_free = (!resident).then_some(0);
        let before = held(&watched);
        let sizes = [[20, 16], [17, 24], [33, 9]];
        let views: Vec<View> = sizes.map(|[w, h]| view(camera(w, h), w == 17)).to_vec();
        let backend = watched.backend();
        let mut learner = backend
            .learner(&random_scene(3, 40, 1), Arc::new(views))
            .unwrap();
        let start = learner.snapshot().unwrap();
        let mut most = 0;
        let mut levels = Vec::with_capacity(steps as usize);
        for number in 1..=steps {
            take(learner.as_mut(), adc, number);
            most = most.max(learner.count());
            if number.is_multiple_of(LEVEL_EVERY) {
                // The same Gaussians each time, so that what is held is the same to the byte.
                learner.restore(&start).unwrap();
                let (device, events) = held(&watched);
                levels.push(Level {
                    device,
                    events,
                    heap: heap::in_use(),
                });
            }
        }
        let (settled, last) = (levels[levels.len() / 2], levels[levels.len() - 1]);
        eprintln!("{name}, up to {most} Gaussians: {settled:?} -> {last:?}");
        assert!(most > 50, "{name}: the set did not grow");
        assert_eq!(
            (last.device, last.events),
            (settled.device, settled.events),
            "{name}"
        );
        assert!(last.heap < settled.heap + SLACK, "{name}: {levels:?}");
        drop((learner, backend));
        assert_eq!(held(&watched), before, "{name}: not given back");
    }
}
