//! How many ranks take the steps changes no bit.

use super::*;
use crate::peers::loopback::Loopback;
use crate::peers::{Peers, Piece, exchange};
use crate::tests::support::device::device;
use splatcore_core::Lens;
use splatcore_core::colour::{ColourModel, ColourPlan};
use splatcore_core::columns::{Column, ColumnPlan};
use splatcore_core::depth::{DepthLoss, DepthMap, DepthPlan};
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_core::sky::SkyPlan;
use std::ops::RangeInclusive;
use std::thread;
use std::time::Duration;

/// Gaussians: blocks of 128 rows, so that of seven ranks two have none, of eight three.
const GAUSSIANS: usize = 600;
const DEADLINE: Duration = Duration::from_secs(120);

/// Steps of a training: from the first on there are colours to learn, from the second on there is
/// a degree of harmonics; then the Gaussians are refined.
pub(super) const STEPS: RangeInclusive<u32> = 2..=5;

/// What a training leaves: the state's bits, that of the loss, an image's, the reports.
pub(super) type Trained = (Vec<u32>, u64, Vec<u32>, Vec<RefineReport>);

/// A training of some steps with what may be in one.
#[derive(Clone, Copy)]
pub(super) struct Course {
    pub batch: usize,
    pub moments: Moments,
    pub mcmc: bool,
    pub sparse: bool,
    pub masks: bool,
    /// The second camera is a fisheye.
    pub lens: bool,
    /// Depths of two views guide the steps, which learn a sky.
    pub depth: bool,
    /// Poses and intrinsics get gradients, by which the cameras move.
    pub cameras: bool,
    /// Gradients are summed by atomic additions, in whatever order.
    pub atomic: bool,
    /// Takes room for pairs away before this step, on the last rank.
    pub overflow: Option<u32>,
    /// Ranks render a photo together where there are fewer than ranks.
    pub strips: bool,
    /// Exchanges are made as late as they may be, not as early.
    pub late: bool,
}

pub(super) const PLAIN: Course = Course {
    batch: 1,
    moments: Moments::Full,
    mcmc: false,
    sparse: false,
    masks: false,
    lens: false,
    depth: false,
    cameras: false,
    atomic: false,
    overflow: None,
    strips: false,
    late: false,
};

impl Course {
    pub fn plan(self, step: u32) -> StepPlan {
        let mut plan = step::plan(Pipeline::AUTO, step, 0);
        plan.views = (0..self.batch).map(|k| (step as usize + k) % 3).collect();
        plan.render.sh_degree = u8::from(step > 2);
        plan.noise = self.mcmc.then_some(1e-3);
        (plan.opacity_regulariser, plan.scale_regulariser) = (0.01, 0.01);
        // A grid's gradients are not the size of others'.
        plan.colour = (step > 1).then(|| ColourPlan {
            model: match self.depth {
                true => ColourModel::Bilateral,
                false => ColourModel::Affine,
            },
            ..ColourPlan::affine(0.01)
        });
        plan.depth = self.depth.then_some(DepthPlan {
            loss: DepthLoss::Inverse,
            weight: 0.5,
            unit: 2.0,
            sky_weight: 0.2,
            normal_weight: 0.3,
        });
        plan.sky = self.depth.then_some(SkyPlan { rate: 0.01 });
        (plan.pose_gradients, plan.intrinsics_gradients) = (self.cameras, self.cameras);
        if self.atomic {
            plan.render.pipeline = "exact+subtile+atomic".parse().unwrap();
        }
        plan.sparse_adam = self.sparse;
        if !self.moments.keeps_first() {
            plan.betas[0] = 0.0;
        }
        plan.columns[Column::Mask] = self.masks.then_some(ColumnPlan {
            rate: 0.05,
            weight: 1e-3,
        });
        plan
    }

    pub fn refine(self, step: u32) -> Refine {
        match self.mcmc {
            true => Refine::Mcmc {
                min_opacity: 0.02,
                max_gaussians: 640,
                growth: 1.05,
                region: None,
                seed: 5,
                step,
            },
            false => Refine::Adc {
                gradient_threshold: 1e-4,
                split_scale: 0.1,
                min_opacity: 0.02,
                max_scale: None,
                max_gaussians: 700,
                budget: None,
                region: None,
                seed: 5,
                step,
            },
        }
    }

    fn learner(self, peers: Arc<Loopback>) -> Option<CudaLearner> {
        let scene = random_scene(53, GAUSSIANS, 1);
        let learner = self.learner_on(&device()?, scene, false, Some(peers));
        Some(learner.unwrap())
    }

    pub fn learner_on(
        self,
        device: &Arc<dyn Device>,
        scene: Gaussians,
        offloads: bool,
        peers: Option<Arc<Loopback>>,
    ) -> std::result::Result<CudaLearner, BackendError> {
        let kernels = Arc::new(Kernels::new(device.clone()));
        let deterministic = !self.atomic;
        let passes = Passes::new(Queue::new(device.clone()), kernels, deterministic).unwrap();
        let state = LearnerState::fresh(scene);
        let mut views = views();
        if self.lens {
            views[1].camera.lens = Lens::Fisheye {
                k: [0.02, -0.01, 0.004, -0.001],
                p: [0.0; 2],
                s: [0.0; 2],
            };
            views[0].camera.shutter = Some(Shutter {
                readout: Readout::TopToBottom,
                turn: [0.04, -0.05, 0.06],
                shift: [-0.1, 0.12, 0.07],
            });
        }
        for view in views.iter_mut().take(if self.depth { 2 } else { 0 }) {
            view.photo.depth = Some(Arc::new(DepthMap {
                width: 5,
                height: 4,
                inverse: (0..20).map(|i| 0.05 * i as f32).collect(),
                normals: vec![[0.36, -0.48, -0.8]; 20],
            }));
        }
        let peers = peers.map(|peers| self.with(peers));
        let views = Arc::new(views);
        CudaLearner::new(&state, views, passes, self.moments, offloads, peers)
    }

    /// These ranks as the course wants them.
    fn with(self, mut peers: Arc<Loopback>) -> Arc<dyn Peers> {
        let own = |peers| Arc::into_inner(peers).unwrap();
        if self.strips {
            peers = Arc::new(own(peers).with_strips());
        }
        if self.late {
            peers = Arc::new(own(peers).late());
        }
        peers
    }

    /// From this step on.
    pub fn train_from(self, learner: &mut CudaLearner, first: u32) -> Trained {
        let (ranks, last) = (learner.ranks_of(&self.plan(first)), *STEPS.end());
        let mut reports = Vec::new();
        for step in first..=last {
            if self.overflow == Some(step) && ranks.rank + 1 == ranks.count {
                learner.passes.shrink_pairs(TOO_FEW);
            }
            learner.step(&self.plan(step)).unwrap();
            if self.cameras && step % 2 == 1 {
                self.move_cameras(learner);
            }
            if step == 3 {
                reports.extend(learner.queue_refine(&self.refine(step)).unwrap());
            }
        }
        let loss = learner.last_loss().unwrap().to_bits();
        reports.extend(learner.take_reports());
        let state = state_bits(&learner.snapshot().unwrap());
        let camera = odd_camera(50, 40, 0.4);
        let rendered = learner.render(&camera, &self.plan(last).render).unwrap();
        let image = rendered.image.data.as_flattened().iter();
        (state, loss, image.map(|v| v.to_bits()).collect(), reports)
    }

    /// By the gradients of the steps since the last time: all of them count.
    fn move_cameras(self, learner: &mut CudaLearner) {
        let (poses, lenses) = (
            learner.pose_gradients().unwrap(),
            learner.intrinsics_gradients().unwrap(),
        );
        assert_eq!([poses.len(), lenses.len()], [2 * self.batch; 2]);
        let mut cameras: Vec<_> = views().into_iter().map(|view| view.camera).collect();
        if self.lens {
            return;
        }
        for (view, pose) in poses {
            let shift = pose.translation.map(|g| 1e-2 * g.clamp(-1.0, 1.0));
            for (to, by) in cameras[view].translation.iter_mut().zip(shift) {
                *to += by;
            }
        }
        for (view, of) in lenses {
            cameras[view].fx += 1e-2 * of.focal[0].clamp(-1.0, 1.0);
        }
        learner.move_cameras(&cameras).unwrap();
    }

    /// By so many ranks; what each of them has in the end.
    fn by(self, ranks: usize) -> Option<Vec<Trained>> {
        device()?;
        by(ranks, move |_, peers| {
            let mut learner = self.learner(peers)?;
            Some(self.train_from(&mut learner, *STEPS.start()))
        })
    }
}

/// What each of so many ranks does, all at once.
pub(super) fn by<T: Send + 'static>(
    ranks: usize,
    act: impl Fn(usize, Arc<Loopback>) -> Option<T> + Clone + Send + 'static,
) -> Option<Vec<T>> {
    let peers = Loopback::new(ranks, DEADLINE).into_iter().enumerate();
    let threads = peers.map(|(rank, peers)| {
        let act = act.clone();
        thread::spawn(move || act(rank, Arc::new(peers)))
    });
    let threads: Vec<_> = threads.collect();
    threads.into_iter().map(|t| t.join().unwrap()).collect()
}

/// What it is.
fn every_rank_has_what_one_has(course: Course, counts: &[usize]) -> Option<Trained> {
    let alone = course.by(1)?.remove(0);
    let report = alone.3[0];
    assert!(report.count != GAUSSIANS, "{report:?}");
    for &count in counts {
        for (rank, trained) in course.by(count)?.into_iter().enumerate() {
            assert!(trained == alone, "rank {rank} of {count}");
        }
    }
    Some(alone)
}

/// What one rank has of [`PLAIN`].
fn plainly() -> Option<Trained> {
    Some(PLAIN.by(1)?.remove(0))
}

#[test]
fn steps_of_one_photo() {
    every_rank_has_what_one_has(PLAIN, &[2, 7, 8]);
    let course = Course {
        mcmc: true,
        moments: Moments::Compact,
        ..PLAIN
    };
    every_rank_has_what_one_has(course, &[3]);
}

#[test]
fn steps_of_several_photos() {
    let course = Course { batch: 3, ..PLAIN };
    every_rank_has_what_one_has(course, &[2, 3, 4, 7, 8]);
    let course = Course {
        batch: 4,
        mcmc: true,
        moments: Moments::Compact,
        ..PLAIN
    };
    every_rank_has_what_one_has(course, &[2, 3]);
}

/// Four rounds, or three: what is exchanged of one goes while another is rendered.
#[test]
fn rounds_that_overlap() {
    let plain = Course { batch: 7, ..PLAIN };
    let with_all = Course {
        batch: 5,
        depth: true,
        cameras: true,
        lens: true,
        strips: true,
        ..plain
    };
    for course in [plain, with_all] {
        let Some(alone) = course.by(1) else { return };
        for late in [false, true] {
            let course = Course { late, ..course };
            for trained in course.by(2).unwrap() {
                assert!(trained == alone[0], "late: {late}");
            }
        }
    }
}

#[test]
fn sparse_steps_and_masks() {
    let course = Course {
        batch: 2,
        sparse: true,
        masks: true,
        ..PLAIN
    };
    every_rank_has_what_one_has(course, &[2]);
    every_rank_has_what_one_has(Course { batch: 1, ..course }, &[3]);
}

#[test]
fn steps_through_lenses() {
    let course = Course {
        lens: true,
        ..PLAIN
    };
    every_rank_has_what_one_has(course, &[2]);
    every_rank_has_what_one_has(Course { batch: 3, ..course }, &[2, 3]);
}

#[test]
fn steps_guided_by_depth() {
    let course = Course {
        depth: true,
        ..PLAIN
    };
    let guided = every_rank_has_what_one_has(course, &[2]);
    every_rank_has_what_one_has(Course { batch: 3, ..course }, &[2, 3]);
    assert!(
        guided.is_none() || guided != plainly(),
        "depths change nothing"
    );
}

#[test]
fn steps_that_move_cameras() {
    let course = Course {
        cameras: true,
        ..PLAIN
    };
    let moved = every_rank_has_what_one_has(course, &[2, 3, 7]);
    let several = Course {
        batch: 3,
        depth: true,
        ..course
    };
    every_rank_has_what_one_has(several, &[2, 4]);
    every_rank_has_what_one_has(
        Course {
            lens: true,
            ..course
        },
        &[3],
    );
    assert!(moved.is_none() || moved != plainly(), "no camera moves");
}

/// The emulator adds in one order.
#[test]
fn sums_by_atomic_additions() {
    if device().is_some_and(|device| device.describe().contains("emulat")) {
        for strips in [false, true] {
            let course = Course {
                atomic: true,
                strips,
                ..PLAIN
            };
            every_rank_has_what_one_has(course, &[3]);
        }
    }
}

/// Of two ranks each makes the rows of half of the pairs, and gives half of them to the other.
#[test]
fn strips_have_equal_numbers_of_pairs() {
    if device().is_none() {
        return;
    }
    let halves = by(2, move |_, peers| {
        let course = Course {
            strips: true,
            ..PLAIN
        };
        let (mut learner, plan) = (course.learner(peers)?, course.plan(1));
        let camera = &views()[plan.views[0]].camera;
        let pairs = learner.counts(camera, &plan.render).unwrap().pairs;
        learner.alone(&plan, false).unwrap();
        let strips = learner.passes.training.strips.as_ref().unwrap();
        let mut given = [0; 4];
        let device = &learner.passes.queue().device;
        // SAFETY: a u32 lies there.
        unsafe { device.download(&mut given, strips.wanted()) }.unwrap();
        Some((u64::from(u32::from_ne_bytes(given)), pairs))
    });
    for (given, pairs) in halves.unwrap() {
        assert!(
            (pairs / 5..pairs / 3).contains(&given),
            "{given} of {pairs}"
        );
    }
}

#[test]
fn strips_of_one_photo() {
    let strips = Course {
        strips: true,
        ..PLAIN
    };
    every_rank_has_what_one_has(strips, &[2, 3, 4, 7]);
    let mcmc = Course {
        mcmc: true,
        sparse: true,
        masks: true,
        moments: Moments::Compact,
        ..strips
    };
    every_rank_has_what_one_has(mcmc, &[3]);
    let depth = Course {
        depth: true,
        cameras: true,
        ..strips
    };
    every_rank_has_what_one_has(depth, &[2, 4]);
}

#[test]
fn strips_of_a_round_that_is_not_full() {
    let course = Course {
        batch: 2,
        strips: true,
        ..PLAIN
    };
    every_rank_has_what_one_has(course, &[3, 7]);
    let lens = Course {
        batch: 3,
        lens: true,
        ..course
    };
    every_rank_has_what_one_has(lens, &[2, 4]);
}

/// All ranks take a step again whose frame one of them could not render.
#[test]
fn an_overflow_of_one_rank_is_one_of_all() {
    let plain = Course { batch: 2, ..PLAIN };
    let strips = Course {
        batch: 1,
        strips: true,
        ..PLAIN
    };
    let rounds = Course { batch: 7, ..PLAIN };
    let late = Course {
        late: true,
        ..rounds
    };
    for (step, course) in [(3, plain), (4, PLAIN), (4, strips), (4, rounds), (4, late)] {
        let overflow = Some(step);
        let Some(alone) = course.by(1) else { return };
        let course = Course { overflow, ..course };
        for trained in course.by(2).unwrap() {
            assert!(trained == alone[0], "overflowed at step {step}");
        }
    }
}

#[test]
fn a_rank_that_is_silent_is_named() {
    let Some(device) = device() else { return };
    let peers = Loopback::new(2, Duration::from_millis(20));
    let piece = Piece {
        rank: 1,
        address: 0,
        bytes: 4,
    };
    // SAFETY: nothing is written, as nothing comes.
    let error = unsafe { exchange(&peers[0], &Queue::new(device), &[], &[piece]) }.unwrap_err();
    assert!(error.to_string().contains("rank 1 gave nothing"), "{error}");
}
