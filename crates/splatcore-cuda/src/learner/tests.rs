//! Too little room for the pairs in mid-run changes nothing but time.

mod divided;
mod late_refinements;
mod no_memory;
mod offload;
mod photos;
mod ranks;
mod sent;

use super::synchronise::POLL_EVERY;
use super::*;
use crate::CudaBackend;
use crate::device::Device;
use crate::device::queue::Queue;
use crate::tests::support::device::emulated as device;
use splatcore_core::backend::{FrameCounts, Renderer, Scored, Timed};
use splatcore_core::colour::{ColourModel, ColourPlan};
use splatcore_core::{Image, Pipeline};
use splatcore_reference::conformance::determinism::state_bits;
use splatcore_reference::conformance::scenes::{odd_camera, random_scene, views};
use splatcore_reference::conformance::step;

/// Fewer pairs than any view here has.
const TOO_FEW: usize = 40;

fn learner(device: &Arc<dyn crate::device::Device>) -> CudaLearner {
    learner_with(device, Moments::Full)
}

fn learner_with(device: &Arc<dyn crate::device::Device>, moments: Moments) -> CudaLearner {
    let kernels = Arc::new(Kernels::new(device.clone()));
    let passes = Passes::new(Queue::new(device.clone()), kernels, true).unwrap();
    let state = LearnerState::fresh(random_scene(51, 120, 1));
    CudaLearner::new(&state, Arc::new(views()), passes, moments, false, None).unwrap()
}

/// Growing so fast that a step's pairs are many more than the step's before.
fn plan(step: u32) -> StepPlan {
    let mut plan = step::plan(Pipeline::AUTO, step, step as usize % 3);
    plan.rates.log_scales = 0.25;
    plan.noise = Some(1e-3);
    plan
}

fn refine(step: u32) -> Refine {
    Refine::Adc {
        gradient_threshold: 1e-4,
        split_scale: 0.1,
        min_opacity: 0.02,
        max_scale: None,
        max_gaussians: 160,
        budget: None,
        region: None,
        seed: 5,
        step,
    }
}

type Result = (Vec<u32>, u64, RefineReport, Vec<u32>, u64);

/// 21 steps with a refinement after the tenth; `before_step` may take room away.
fn train(learner: &mut CudaLearner, mut before_step: impl FnMut(u32, &mut CudaLearner)) -> Result {
    let mut report = RefineReport::default();
    for step in 1..=21 {
        before_step(step, learner);
        learner.step(&plan(step)).unwrap();
        if step == 10 {
            report = learner.refine(&refine(step)).unwrap();
        }
    }
    let loss = learner.last_loss().unwrap().to_bits();
    let state = learner.snapshot().unwrap();
    let rendered = learner
        .render(&odd_camera(50, 40, 0.4), &plan(1).render)
        .unwrap();
    let image = rendered
        .image
        .data
        .as_flattened()
        .iter()
        .map(|v| v.to_bits());
    let seen = state.seen.iter().map(|&seen| seen as u64).sum();
    (state_bits(&state), loss, report, image.collect(), seen)
}

#[test]
fn overflows_change_nothing() {
    let Some(device) = device() else { return };
    let want = train(&mut learner(&device), |_, _| ());
    assert!(
        want.2.cloned + want.2.split > 0 && want.4 > 500,
        "{:?}",
        want.2
    );
    // At the first step, right before the refinement, right after it, at the last; then everywhere.
    let places: [&[u32]; 6] = [&[1], &[10], &[11], &[21], &[2, 5, 9, 10, 13, 20], &[]];
    for at in places {
        let got = train(&mut learner(&device), |step, learner| {
            if at.is_empty() || at.contains(&step) {
                learner.passes.shrink_pairs(TOO_FEW);
            }
        });
        assert!(
            got == want,
            "overflowed at {at:?}: {:?} and {:?}",
            got.2,
            want.2
        );
    }
}

/// A step that is taken again rounds its moments by the same chance.
#[test]
fn halts_change_nothing_with_compact_moments() {
    let Some(device) = device() else { return };
    let want = train(&mut learner_with(&device, Moments::Compact), |_, _| ());
    let full = train(&mut learner(&device), |_, _| ());
    assert!(want != full, "moments were not compact");
    let got = train(
        &mut learner_with(&device, Moments::Compact),
        |step, learner| {
            if [2, 5, 9, 10, 13, 20].contains(&step) {
                learner.passes.shrink_pairs(TOO_FEW);
            }
        },
    );
    assert!(got == want);
}

/// The frames that did not run tell how many pairs they want of Gaussians that have not grown yet,
/// so the steps that are taken again may overflow again.
#[test]
fn several_halts_in_one_window() {
    let Some(device) = device() else { return };
    for name in [
        "exact+splatcore+splatcore",
        "exact+scalar+gaussian-parallel",
    ] {
        let mut reference = learner(&device);
        let mut halting = learner(&device);
        for step in 1..POLL_EVERY as u32 {
            if step == 2 {
                halting.passes.shrink_pairs(TOO_FEW);
            }
            let mut plan = plan(step);
            plan.render.pipeline = name.parse().unwrap();
            for learner in [&mut reference, &mut halting] {
                learner.step(&plan).unwrap();
            }
        }
        assert_eq!(reference.synchronise().unwrap(), 0);
        let rounds = halting.synchronise().unwrap();
        assert!(rounds >= 2, "{name}: only {rounds}");
        assert_eq!(
            halting.last_loss().unwrap().to_bits(),
            reference.last_loss().unwrap().to_bits(),
            "{name}"
        );
        let same =
            state_bits(&halting.snapshot().unwrap()) == state_bits(&reference.snapshot().unwrap());
        assert!(same, "{name}");
    }
}

/// A learner after 21 steps of `batch` views each, with too little room in those of `halting`.
fn halted(
    device: &Arc<dyn Device>,
    halting: &[u32],
    batch: u32,
    change: fn(&mut StepPlan),
) -> CudaLearner {
    let mut learner = learner(device);
    for step in 1..=21 {
        if halting.contains(&step) {
            learner.passes.shrink_pairs(TOO_FEW);
        }
        let mut plan = plan(step);
        change(&mut plan);
        plan.views = (step..step + batch).map(|k| k as usize % 3).collect();
        learner.step(&plan).unwrap();
    }
    learner
}

/// Colour models are learned once a step, overflowed or not.
#[test]
fn halts_change_nothing_with_colour_models() {
    let Some(device) = device() else { return };
    let affine = |plan: &mut StepPlan| plan.colour = Some(ColourPlan::affine(0.01));
    // A grid's kernels are others.
    let bilateral = |plan: &mut StepPlan| {
        plan.colour = Some(ColourPlan {
            model: ColourModel::Bilateral,
            ..ColourPlan::affine(0.01)
        });
    };
    let run = |halting: &[u32], batch: u32| {
        let mut learner = match batch {
            1 => halted(&device, halting, batch, affine),
            _ => halted(&device, halting, batch, bilateral),
        };
        let state = learner.snapshot().unwrap();
        let loss = learner.last_loss().unwrap().to_bits();
        (state_bits(&state), state.colours.photos.seen, loss)
    };
    // Of two views any of both may be the one that finds too little room.
    for batch in [1, 2] {
        let want = run(&[], batch);
        assert_eq!(want.1, [7 * batch; 3]);
        assert!(run(&[1, 2, 5, 10, 13, 20], batch) == want, "{batch}");
    }
}

/// Each step's gradients of cameras are of the step that was taken in the end, and there once.
#[test]
fn halts_change_nothing_with_gradients_of_cameras() {
    let Some(device) = device() else { return };
    let run = |halting: &[u32], batch: u32| {
        let mut learner = halted(&device, halting, batch, |plan| {
            (plan.pose_gradients, plan.intrinsics_gradients) = (true, true);
        });
        let poses = learner.pose_gradients().unwrap();
        let intrinsics = learner.intrinsics_gradients().unwrap();
        assert_eq!([poses.len(), intrinsics.len()], [(21 * batch) as usize; 2]);
        assert!(poses.iter().all(|(_, pose)| *pose != Default::default()));
        assert!(intrinsics.iter().all(|(_, of)| *of != Default::default()));
        (poses, intrinsics)
    };
    for batch in [1, 2] {
        let want = run(&[], batch);
        assert!(run(&[1, 2, 5, 10, 13, 20], batch) == want, "{batch}");
    }
}

/// An overflowed step's times are of the step that was taken in the end.
#[test]
fn timed_steps_halt_too() {
    let Some(device) = device() else { return };
    let mut reference = learner(&device);
    let mut halting = learner(&device);
    for step in 1..=4 {
        reference.step(&plan(step)).unwrap();
        halting.passes.shrink_pairs(TOO_FEW);
        let times = halting.timed_step(&plan(step)).unwrap();
        assert!(times.iter().any(|&(stage, _)| stage == "adam"), "{times:?}");
    }
    assert!(state_bits(&halting.snapshot().unwrap()) == state_bits(&reference.snapshot().unwrap()));
}

/// A scene without Gaussians, or wholly behind the cameras, can do everything.
#[test]
fn nothing_in_view() {
    let Some(device) = device() else { return };
    let backend = CudaBackend::on(device, true);
    use splatcore_core::Backend;
    let mut behind = random_scene(3, 50, 2);
    for mean in &mut behind.means {
        mean[1] -= 1000.0;
    }
    for scene in [Gaussians::zeros(0, 0), Gaussians::zeros(0, 3), behind] {
        let count = scene.len();
        let mut learner = backend.learner(&scene, Arc::new(views())).unwrap();
        for step in 1..=18 {
            learner
                .step(&step::plan(Pipeline::AUTO, step, step as usize % 3))
                .unwrap();
        }
        let loss = learner.last_loss().unwrap();
        assert!(loss > 0.01 && loss.is_finite(), "{loss}");
        let camera = odd_camera(20, 17, 0.0);
        let options = plan(1).render;
        let rendered = learner.render(&camera, &options).unwrap();
        assert!(
            rendered
                .image
                .data
                .iter()
                .all(|&pixel| pixel == options.background)
        );
        assert!(rendered.transmittance.iter().all(|&t| t == 1.0));
        let gradient = Image::filled(20, 17, [1.0; 3]);
        assert_eq!(
            learner
                .gradients(&camera, &options, &gradient.clone().into())
                .unwrap(),
            Gaussians::zeros(count, scene.sh_degree)
        );
        let counts = learner.counts(&camera, &options).unwrap();
        assert_eq!(counts, FrameCounts::default());
        learner
            .stage_times(&camera, &options, Timed::TrainingStages)
            .unwrap();
        learner.timed_step(&plan(19)).unwrap();
        let snapshot = learner.snapshot().unwrap();
        assert!(snapshot.seen.iter().all(|&seen| seen == 0));
        let mcmc = Refine::Mcmc {
            min_opacity: 0.005,
            growth: 0.05,
            max_gaussians: 1000,
            region: None,
            seed: 1,
            step: 18,
        };
        for refine in [refine(18), mcmc, Refine::ResetOpacity { ceiling: 0.01 }] {
            learner.refine(&refine).unwrap();
        }
        learner.restore(&snapshot).unwrap();
        assert!(state_bits(&learner.snapshot().unwrap()) == state_bits(&snapshot));
        learner.step(&plan(20)).unwrap();
        learner.finish().unwrap();
    }
}

/// Profiled steps are steps like others, overflowed or not, and what was noted is of those that
/// ran.
#[test]
fn profiling_changes_nothing() {
    let Some(device) = device() else { return };
    let mut reference = learner(&device);
    let mut profiled = learner(&device);
    let mut halting = learner(&device);
    for step in 1..=21 {
        reference.step(&plan(step)).unwrap();
        for learner in [&mut profiled, &mut halting] {
            match step % 5 {
                3 => learner.profiled_step(&plan(step)).unwrap(),
                _ => learner.step(&plan(step)).unwrap(),
            }
        }
        if step == 10 {
            for learner in [&mut reference, &mut profiled, &mut halting] {
                learner.refine(&refine(step)).unwrap();
            }
        }
        if step == 11 {
            halting.passes.shrink_pairs(TOO_FEW);
        }
    }
    let want = state_bits(&reference.snapshot().unwrap());
    assert!(state_bits(&profiled.snapshot().unwrap()) == want);
    assert!(state_bits(&halting.snapshot().unwrap()) == want);

    let found = profiled.take_profile().unwrap();
    let stages: Vec<&str> = found.stages.iter().map(|(name, _)| *name).collect();
    for stage in ["project", "sort", "blend", "loss", "blend_backward", "adam"] {
        assert!(stages.contains(&stage), "{stages:?}");
    }
    assert!(
        found.stages.iter().all(|&(_, seconds)| seconds > 0.0),
        "{found:?}"
    );
    // Steps 3, 8, 13 and 18.
    assert!(found.steps == 4 && found.refine > 0.0, "{found:?}");
    assert_eq!(profiled.take_profile().unwrap(), Profile::default());
    // The device stood still at 13 or before it was seen at 18: both are taken again, without
    // marks.
    let found = halting.take_profile().unwrap();
    assert!(
        (2..4).contains(&found.steps) && found.refine > 0.0,
        "{found:?}"
    );
    assert_eq!(reference.take_profile().unwrap().steps, 0);
}
