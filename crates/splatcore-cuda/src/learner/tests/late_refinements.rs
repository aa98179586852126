//! Refinements that nobody waits for end in the state of those that someone waits for, whatever
//! overflows on the way.

use super::*;

fn mcmc(step: u32) -> Refine {
    Refine::Mcmc {
        min_opacity: 0.3,
        growth: 0.1,
        max_gaussians: 1000,
        region: None,
        seed: 7,
        step,
    }
}

/// Some grow and some go.
fn adc(step: u32) -> Refine {
    Refine::Adc {
        gradient_threshold: 1e-4,
        split_scale: 0.3,
        min_opacity: 0.28,
        max_scale: None,
        max_gaussians: 300,
        budget: None,
        region: None,
        seed: 5,
        step,
    }
}

/// What follows each of the steps.
fn refinements(step: u32) -> Vec<Refine> {
    match step {
        4 | 5 | 19 => vec![mcmc(step)],
        8 => vec![adc(step)],
        11 => vec![adc(step), Refine::ResetOpacity { ceiling: 0.3 }],
        12 => vec![adc(step), mcmc(step)],
        _ => Vec::new(),
    }
}

type Late = (Vec<u32>, u64, Vec<RefineReport>);

/// 22 steps and eight refinements, later or at once.
fn train_late(
    learner: &mut CudaLearner,
    later: bool,
    mut before_step: impl FnMut(u32, &mut CudaLearner),
) -> Late {
    let mut reports = Vec::new();
    for step in 1..=22 {
        before_step(step, learner);
        let mut plan = plan(step);
        // Their shares depend on the count.
        (plan.opacity_regulariser, plan.scale_regulariser) = (0.01, 0.01);
        learner.step(&plan).unwrap();
        for refine in refinements(step) {
            match later {
                true => assert_eq!(learner.queue_refine(&refine).unwrap(), None, "step {step}"),
                false => reports.push(learner.refine(&refine).unwrap()),
            }
        }
    }
    let loss = learner.last_loss().unwrap().to_bits();
    reports.extend(learner.take_reports());
    let state = learner.snapshot().unwrap();
    assert_eq!(learner.count(), state.gaussians.len());
    (state_bits(&state), loss, reports)
}

#[test]
fn later_is_as_at_once() {
    let Some(device) = device() else { return };
    let want = train_late(&mut learner(&device), false, |_, _| ());
    let grown: usize = want.2.iter().map(|r| r.cloned + r.split + r.added).sum();
    let moved: usize = want.2.iter().map(|r| r.relocated).sum();
    let pruned: usize = want.2.iter().map(|r| r.pruned).sum();
    assert!(
        want.2.len() == 8 && grown > 50 && moved > 0 && pruned > 0,
        "{:?}",
        want.2
    );
    let places: [&[u32]; 7] = [
        &[],
        &[1],
        &[4, 5],
        &[8, 9],
        &[11, 12, 13],
        &[22],
        &[3, 7, 10, 18, 20],
    ];
    for at in places {
        let got = train_late(&mut learner(&device), true, |step, learner| {
            if at.contains(&step) {
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

/// A round of adc that grows by more than the host expected overflows, and is done when there
/// is room.
#[test]
fn rounds_may_outgrow_their_room() {
    let Some(device) = device() else { return };
    let state = LearnerState::fresh(random_scene(52, 1500, 0));
    let run = |rows: Option<u64>, later: bool| {
        let kernels = Arc::new(Kernels::new(device.clone()));
        let passes = Passes::new(Queue::new(device.clone()), kernels, true).unwrap();
        let mut learner = CudaLearner::new(
            &state,
            Arc::new(views()),
            passes,
            Moments::Full,
            false,
            None,
        )
        .unwrap();
        let all = Refine::Adc {
            gradient_threshold: 0.0,
            split_scale: 0.0,
            min_opacity: 0.01,
            max_scale: None,
            max_gaussians: usize::MAX,
            budget: None,
            region: None,
            seed: 5,
            step: 3,
        };
        let mut reports = Vec::new();
        for step in 1..=5 {
            learner
                .step(&step::plan(Pipeline::AUTO, step, step as usize % 3))
                .unwrap();
            if step == 3 {
                if let Some(rows) = rows {
                    learner.densify.expect_growth(rows, 1500);
                }
                match later {
                    true => assert_eq!(learner.queue_refine(&all).unwrap(), None),
                    false => reports.push(learner.refine(&all).unwrap()),
                }
            }
        }
        let rounds = learner.synchronise().unwrap();
        reports.extend(learner.take_reports());
        (rounds, reports, state_bits(&learner.snapshot().unwrap()))
    };
    let (_, reports, bits) = run(None, false);
    assert_eq!(reports[0].split, 1500);
    // A guess that is far too small, and one that is enough.
    for (rows, rounds) in [(1500, 1), (2000, 1), (3000, 0)] {
        let got = run(Some(rows), true);
        assert_eq!(got.0, rounds, "room for {rows}");
        assert!(
            got.1 == reports && got.2 == bits,
            "room for {rows}: {:?}",
            got.1
        );
    }
}

/// Between two looks the host knows the most that there may be; those who ask for the count are
/// told what was seen.
#[test]
fn the_count_is_what_was_seen() {
    let Some(device) = device() else { return };
    let mut learner = learner(&device);
    learner.step(&plan(1)).unwrap();
    let prune_all = |step| Refine::Adc {
        gradient_threshold: f32::INFINITY,
        split_scale: 0.1,
        min_opacity: 2.0,
        max_scale: None,
        max_gaussians: 1000,
        budget: None,
        region: None,
        seed: 5,
        step,
    };
    assert_eq!(learner.queue_refine(&prune_all(1)).unwrap(), None);
    assert_eq!((learner.count(), learner.take_reports().len()), (120, 0));
    for step in 2..=3 * POLL_EVERY as u32 {
        learner.step(&plan(step)).unwrap();
    }
    let reports = learner.take_reports();
    assert_eq!(
        (reports.len(), reports[0].count, reports[0].pruned),
        (1, 0, 120)
    );
    assert_eq!((learner.count(), learner.state.count), (0, 0));
    assert!(learner.last_loss().unwrap().is_finite());
    let nothing = RefineReport::default();
    assert_eq!(
        learner.queue_refine(&prune_all(100)).unwrap(),
        Some(nothing)
    );
    assert_eq!(learner.snapshot().unwrap().gaussians.len(), 0);
}
