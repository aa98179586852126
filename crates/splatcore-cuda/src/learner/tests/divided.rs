//! Ranks that divide the state change no bit.

use super::offload::scene;
use super::ranks::{Course, PLAIN, STEPS, Trained, by};
use super::*;
use crate::device::Limited;
use crate::peers::loopback::Loopback;
use crate::tests::support::device::device;
use splatcore_core::columns::Column;

fn learner(course: Course, limit: Option<u64>, peers: Arc<Loopback>) -> Option<CudaLearner> {
    let device: Arc<dyn Device> = match limit {
        Some(limit) => Arc::new(Limited::new(device()?, limit)),
        None => device()?,
    };
    let learner = course.learner_on(&device, scene(), true, Some(peers));
    Some(learner.unwrap())
}

fn is_divided(learner: &CudaLearner) -> bool {
    learner.state.division.is_some()
}

/// What a rank has in the end, whether the state is divided, and bytes in the host's memory.
type Left = (Trained, bool, u64);

/// A course by so many ranks, with so many bytes of memory each.
fn trained(course: Course, ranks: usize, limit: Option<u64>) -> Option<Vec<Left>> {
    by(ranks, move |_, peers| {
        let mut learner = learner(course, limit, peers)?;
        let trained = course.train_from(&mut learner, *STEPS.start());
        let host = learner.host_memory().unwrap().bytes;
        Some((trained, is_divided(&learner), host))
    })
}

/// With each of the limits all ranks divide the state; with the last one a part of what a rank has
/// of it lies in the host's memory too.
fn changes_no_bit(course: Course, cases: &[(usize, u64)]) {
    let Some(alone) = trained(course, 1, None) else {
        return;
    };
    let mut in_host = 0;
    for &(ranks, limit) in cases {
        let left = trained(course, ranks, Some(limit)).unwrap();
        in_host = left.iter().map(|(_, _, host)| host).sum();
        eprintln!("{ranks} ranks, {limit} bytes each: {in_host} in the host's memory");
        for (rank, (trained, is_divided, _)) in left.iter().enumerate() {
            assert!(is_divided, "rank {rank} of {ranks}");
            assert!(
                *trained == alone[0].0,
                "rank {rank} of {ranks} with {limit}"
            );
        }
    }
    assert!(in_host > 0);
}

#[test]
fn dense_steps_and_adc() {
    let cases = [
        (2, 1_700_000),
        (3, 1_600_000),
        (7, 1_600_000),
        (2, 1_000_000),
    ];
    changes_no_bit(PLAIN, &cases);
}

#[test]
fn sparse_steps_of_several_photos_and_mcmc() {
    let course = Course {
        batch: 3,
        mcmc: true,
        sparse: true,
        masks: true,
        strips: true,
        moments: Moments::Compact,
        ..PLAIN
    };
    changes_no_bit(course, &[(4, 1_500_000), (2, 1_500_000)]);
}

#[test]
fn steps_without_first_moments() {
    for (moments, cases) in [
        (Moments::Second, [(3, 1_000_000), (2, 1_000_000)]),
        (Moments::Small, [(3, 900_000), (2, 900_000)]),
    ] {
        let course = Course { moments, ..PLAIN };
        changes_no_bit(course, &cases);
    }
}

#[test]
fn steps_that_move_cameras_with_a_lens() {
    let course = Course {
        cameras: true,
        lens: true,
        late: true,
        ..PLAIN
    };
    changes_no_bit(course, &[(3, 2_222_592), (2, 2_022_592)]);
}

/// Every other change of the set, on a state that is divided.
fn refinements(plan: &StepPlan) -> Vec<Refine> {
    vec![
        // Removes all but the most opaque, so that the rest fits.
        Refine::Adc {
            gradient_threshold: f32::INFINITY,
            split_scale: 1.0,
            min_opacity: 0.75,
            max_scale: None,
            max_gaussians: 10_000,
            budget: None,
            region: None,
            seed: 3,
            step: 4,
        },
        Refine::ResetOpacity { ceiling: 0.3 },
        Refine::LimitScales {
            share: 0.2,
            floor: 0.0,
        },
        Refine::PruneFloaters {
            render: plan.render.clone(),
            depth_share: 1.5,
        },
        Refine::ComputeColumn(Column::Filter),
        Refine::FadeOpacity {
            factor: 0.9,
            floor: 0.01,
        },
    ]
}

#[test]
fn other_refinements_and_what_goes_on_from_them() {
    let course = PLAIN;
    let train = move |ranks: usize, limit: Option<u64>| {
        by(ranks, move |_, peers| {
            let mut learner = learner(course, limit, peers)?;
            let (mut counts, was_divided) = (Vec::new(), is_divided(&learner));
            for (step, refine) in (1..).zip(refinements(&course.plan(3))) {
                learner.step(&course.plan(step)).unwrap();
                counts.push(learner.refine(&refine).unwrap().count);
            }
            let still = is_divided(&learner);
            let kept = learner.snapshot().unwrap();
            // So few fit.
            learner.restore(&kept).unwrap();
            learner.step(&course.plan(6)).unwrap();
            let state = state_bits(&learner.snapshot().unwrap());
            let divided = [was_divided, still, is_divided(&learner)];
            Some((state, counts, divided))
        })
    };
    let Some(alone) = train(1, None) else { return };
    let counts = &alone[0].1;
    assert!(counts[0] < 2000 && counts[3] < counts[2], "{counts:?}");
    for ranks in [2, 3] {
        for (rank, left) in train(ranks, Some(1_600_000)).unwrap().iter().enumerate() {
            assert_eq!(left.2, [true, true, false], "rank {rank} of {ranks}");
            assert_eq!(left.1, alone[0].1);
            assert!(left.0 == alone[0].0, "rank {rank} of {ranks}");
        }
    }
}

/// Between steps rank 0 looks and saves, and the others only give it their part.
#[test]
fn rank_0_looks_and_saves_alone() {
    let course = Course {
        moments: Moments::Compact,
        ..PLAIN
    };
    let train = move |ranks: usize, limit: Option<u64>| {
        by(ranks, move |rank, peers| {
            let mut learner = learner(course, limit, peers)?;
            // What a viewer shows before the first step.
            let first = (rank == 0).then(|| learner.scene().unwrap().sh);
            (1..=3).for_each(|step| learner.step(&course.plan(step)).unwrap());
            learner.finish().unwrap();
            let mut seen = None;
            if rank == 0 {
                let camera = odd_camera(50, 40, 0.4);
                let rendered = learner.render(&camera, &course.plan(6).render).unwrap();
                let state = state_bits(&learner.snapshot().unwrap());
                seen = Some((
                    first,
                    rendered.image.data,
                    state,
                    learner.scene().unwrap().sh,
                ));
            } else {
                learner.give_snapshot().unwrap();
            }
            learner.step(&course.plan(4)).unwrap();
            let last = state_bits(&learner.snapshot().unwrap());
            Some((seen, last, is_divided(&learner)))
        })
    };
    let Some(mut alone) = train(1, None) else {
        return;
    };
    let want = alone.remove(0);
    let left = train(3, Some(1_000_000)).unwrap();
    assert!(left[0].0 == want.0);
    assert!(
        left.iter()
            .all(|(_, last, is_divided)| *last == want.1 && *is_divided)
    );
}

/// A set that grows is divided when it no longer fits, by one rank that is short.
#[test]
fn a_refinement_divides_what_would_not_fit() {
    let course = PLAIN;
    let train = move |ranks: usize| {
        by(ranks, move |rank, peers| {
            let limit = (ranks > 1 && rank == 1).then_some(2_400_000);
            let mut learner = learner(course, limit, peers)?;
            let mut refine = course.refine(3);
            if let Refine::Adc { max_gaussians, .. } = &mut refine {
                *max_gaussians = 4000;
            }
            learner.step(&course.plan(1)).unwrap();
            learner.synchronise().unwrap();
            let before = is_divided(&learner);
            learner.refine(&refine).unwrap();
            let after = is_divided(&learner);
            learner.step(&course.plan(4)).unwrap();
            Some((state_bits(&learner.snapshot().unwrap()), before, after))
        })
    };
    let Some(alone) = train(1) else { return };
    for (trained, before, after) in train(2).unwrap() {
        assert_eq!([before, after], [false, true]);
        assert!(trained == alone[0].0);
    }
}

/// With any memory, and with less on one rank, every one of several refinements ends as on one
/// rank, or all find too little memory.
#[test]
fn refinements_with_any_memory() {
    for mcmc in [false, true] {
        let course = Course {
            mcmc,
            moments: Moments::Compact,
            ..PLAIN
        };
        let train = move |ranks: usize, limits: [u64; 2]| {
            by(ranks, move |rank, peers| {
                let limit = (ranks > 1).then(|| limits[rank]);
                let mut learner = learner(course, limit, peers)?;
                for step in 1..=8 {
                    learner.step(&course.plan(step)).unwrap();
                    if step % 2 == 0 {
                        let mut refine = course.refine(step);
                        match &mut refine {
                            Refine::Mcmc {
                                growth,
                                max_gaussians,
                                ..
                            } => (*growth, *max_gaussians) = (0.2, 4000),
                            Refine::Adc { max_gaussians, .. } => *max_gaussians = 4000,
                            _ => {}
                        }
                        learner.queue_refine(&refine).unwrap();
                    }
                }
                let divided = is_divided(&learner);
                Some((state_bits(&learner.snapshot().unwrap()), divided))
            })
        };
        let Some(alone) = train(1, [0; 2]) else {
            return;
        };
        for limit in (18..32).map(|k| 100_000 * k) {
            for other in [limit, 3_000_000] {
                let left = train(2, [other, limit]).unwrap();
                eprintln!("mcmc {mcmc}, {limit} and {other}: divided {}", left[0].1);
                for (state, divided) in left {
                    assert!(state == alone[0].0, "{limit} and {other}, {divided}");
                }
            }
        }
    }
}
