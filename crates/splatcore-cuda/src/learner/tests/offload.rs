//! A device with less memory, and the host's in its place, change no bit.

use super::ranks::{self, Course, PLAIN, Trained, by};
use super::*;
use crate::device::{Filed, Limited};
use crate::peers::loopback::Loopback;
use crate::tests::support::device::device;
use crate::tests::support::watched::{Watched, camera, view};
use splatcore_core::Backend;
use splatcore_core::random::Rng;
use std::time::Instant;

/// Copies of a scene side by side, of which the cameras see one.
const COPIES: usize = 5;
const GAUSSIANS: usize = 400;
/// How far apart they are, world units.
const APART: f32 = 60.0;

pub(super) fn scene() -> Gaussians {
    let mut all = Gaussians::zeros(0, 3);
    for copy in 0..COPIES {
        let mut one = random_scene(53, GAUSSIANS, 3);
        for mean in &mut one.means {
            mean[1] += APART * copy as f32;
        }
        (0..GAUSSIANS).for_each(|i| all.push_from(&one, i));
    }
    all
}

/// What a training with so much memory leaves, what then lies in the host's memory, and the most
/// that was taken of the device's.
struct Seen {
    trained: Trained,
    host: HostMemory,
    peak: usize,
}

fn with_limit(course: Course, limit: Option<usize>) -> Option<Seen> {
    let watched = Watched::on(device()?);
    let device: Arc<dyn Device> = match limit {
        Some(limit) => Arc::new(Limited::new(watched.clone(), limit as u64)),
        None => watched.clone(),
    };
    let mut learner = course
        .learner_on(&device, scene(), limit.is_some(), None)
        .unwrap();
    let trained = course.train_from(&mut learner, *ranks::STEPS.start());
    let host = learner.host_memory().unwrap();
    let peak = watched.watch().peak;
    Some(Seen {
        trained,
        host,
        peak,
    })
}

/// Shares of the memory that the training takes where there is enough: with the first there is
/// less room for splats, with the last all that can lies in the host's memory.
fn changes_no_bit(course: Course, shares: [f64; 3]) {
    let Some(want) = with_limit(course, None) else {
        return;
    };
    assert_eq!(want.host, HostMemory::default());
    let mut in_host = Vec::new();
    for share in shares {
        let limit = (share * want.peak as f64) as usize;
        let Some(got) = with_limit(course, Some(limit)) else {
            return;
        };
        eprintln!(
            "{limit} bytes: {} at the peak, {} in the host's memory, {} moved a step",
            got.peak, got.host.bytes, got.host.moved
        );
        assert!(got.trained == want.trained, "with {share} of the memory");
        assert!(got.peak <= limit + 64, "{} of {limit}", got.peak);
        in_host.push(got.host.bytes);
    }
    assert!(in_host.is_sorted() && in_host[2] > 0, "{in_host:?}");
}

#[test]
fn sparse_steps_of_adc() {
    let course = Course {
        sparse: true,
        ..PLAIN
    };
    changes_no_bit(course, [0.8, 0.5, 0.3]);
}

#[test]
fn dense_steps_of_mcmc_with_compact_moments() {
    let course = Course {
        mcmc: true,
        moments: Moments::Compact,
        ..PLAIN
    };
    changes_no_bit(course, [0.8, 0.5, 0.3]);
}

#[test]
fn steps_without_first_moments() {
    for moments in [Moments::Second, Moments::Small] {
        changes_no_bit(Course { moments, ..PLAIN }, [0.8, 0.4, 0.35]);
    }
}

#[test]
fn sparse_steps_of_several_photos_with_masks_and_a_lens() {
    let course = Course {
        batch: 2,
        sparse: true,
        masks: true,
        lens: true,
        ..PLAIN
    };
    changes_no_bit(course, [0.8, 0.6, 0.4]);
}

/// Files in place of the host's memory: the same bits, nothing in the folder, and one line if there
/// is no room.
#[cfg(target_os = "linux")]
#[test]
fn what_leaves_the_device_may_lie_in_files() {
    let Some(device) = device() else { return };
    let folder = tempfile::tempdir().unwrap();
    let course = Course {
        sparse: true,
        moments: Moments::Compact,
        ..PLAIN
    };
    let limited = Arc::new(Limited::new(device.clone(), 1_000_000));
    // A card whose kernels do not reach memory of files says so.
    let Ok(filed) = Filed::new(limited, folder.path()) else {
        assert!(!device.describe().contains("emulat"));
        return;
    };
    let filed: Arc<dyn Device> = Arc::new(filed);
    let mut learner = course.learner_on(&filed, scene(), true, None).unwrap();
    let trained = course.train_from(&mut learner, *ranks::STEPS.start());
    assert!(learner.host_memory().unwrap().bytes > 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let want = with_limit(course, None).unwrap();
    assert!(trained == want.trained);

    let error = filed.allocate_host(1 << 50).unwrap_err().to_string();
    let name = folder.path().display().to_string();
    assert!(error.starts_with(&name) && !error.contains('\n'), "{error}");
    let missing = folder.path().join("missing");
    let error = Filed::new(device, &missing).err().unwrap().to_string();
    assert!(error.contains("missing: no file of"), "{error}");
}

/// Where one of the ranks has too little memory all divide the state, and each moves to the host's
/// memory what then has no room: no bit differs from one rank that has plenty.
#[test]
fn ranks_with_different_memory() {
    let sparse = Course {
        sparse: true,
        moments: Moments::Compact,
        ..PLAIN
    };
    let several = Course {
        batch: 3,
        mcmc: true,
        masks: true,
        depth: true,
        strips: true,
        ..PLAIN
    };
    for (course, counts) in [(sparse, &[2, 3, 7][..]), (several, &[2, 4])] {
        let Some(alone) = with_limit(course, None) else {
            return;
        };
        for &count in counts {
            let train = move |share: Option<f64>, peaks: Vec<usize>| {
                by(count, move |rank, peers| {
                    let share = share.filter(|_| rank != 1);
                    let limit = share.map(|share| (share * peaks[rank] as f64) as usize);
                    let watched = Watched::on(device()?);
                    let limited = limit.map(|limit| Limited::new(watched.clone(), limit as u64));
                    let device: Arc<dyn Device> = match limited {
                        Some(limited) => Arc::new(limited),
                        None => watched.clone(),
                    };
                    let offloads = limit.is_some();
                    let learner = course.learner_on(&device, scene(), offloads, Some(peers));
                    let mut learner = learner.unwrap();
                    let trained = course.train_from(&mut learner, *ranks::STEPS.start());
                    let is_divided = learner.state.division.is_some();
                    Some((trained, is_divided, watched.watch().peak))
                })
                .unwrap()
            };
            let plenty = train(None, Vec::new());
            let peaks: Vec<usize> = plenty.iter().map(|of_rank| of_rank.2).collect();
            let scarce = train(Some(0.85), peaks.clone());
            assert!(plenty.iter().all(|of_rank| !of_rank.1));
            for (rank, (trained, is_divided, peak)) in scarce.into_iter().enumerate() {
                assert!(trained == alone.trained, "rank {rank} of {count}");
                assert!(is_divided, "rank {rank} of {count}");
                assert!(rank == 1 || peak < peaks[rank], "rank {rank}: {peak}");
            }
        }
    }
}

/// Whichever allocation finds no memory in the first step that depths guide, a rank makes the call
/// again, and exchanges and adds up nothing twice.
#[test]
fn any_allocation_of_a_rank_may_fail() {
    let course = Course {
        depth: true,
        cameras: true,
        strips: true,
        ..PLAIN
    };
    let train = move |count: usize, fails: Option<usize>| {
        by(count, move |rank, peers| {
            let watched = Watched::on(device()?);
            let device: Arc<dyn Device> = watched.clone();
            let learner = course.learner_on(&device, scene(), true, Some(peers));
            let mut learner = learner.unwrap();
            // Of a view without a depth map.
            learner.step(&course.plan(5)).unwrap();
            learner.synchronise().unwrap();
            let before = watched.watch().allocations;
            if let (1, Some(fails)) = (rank, fails) {
                watched.watch().no_memory = before + fails..before + fails + 1;
            }
            learner.step(&course.plan(6)).unwrap();
            learner.synchronise().unwrap();
            let allocations = watched.watch().allocations - before;
            Some((state_bits(&learner.snapshot().unwrap()), allocations))
        })
    };
    let Some(alone) = train(1, None) else { return };
    let plenty = train(2, None).unwrap();
    let allocations = plenty[1].1;
    assert!(allocations > 0);
    for fails in 0..allocations {
        for (rank, trained) in train(2, Some(fails)).unwrap().into_iter().enumerate() {
            assert!(trained.0 == alone[0].0, "rank {rank}, allocation {fails}");
        }
    }
}

/// What ranks leave goes on with other ranks, and with more memory, less, or no limit.
#[test]
fn ranks_go_on_with_other_memory() {
    let Some(plenty) = device() else { return };
    let course = Course {
        sparse: true,
        moments: Moments::Compact,
        ..PLAIN
    };
    const LITTLE: u64 = 950_000;
    let learner = move |limit: Option<u64>, peers: Option<Arc<Loopback>>| {
        let device: Arc<dyn Device> = match limit {
            Some(limit) => Arc::new(Limited::new(plenty.clone(), limit)),
            None => plenty.clone(),
        };
        course
            .learner_on(&device, scene(), limit.is_some(), peers)
            .unwrap()
    };
    let step = move |learner: &mut CudaLearner| {
        (1..=2).for_each(|step| learner.step(&course.plan(step)).unwrap());
    };
    let mut alone = learner(None, None);
    step(&mut alone);
    let want = course.train_from(&mut alone, 3);
    let begin = learner.clone();
    let left = by(2, move |_, peers| {
        let mut learner = begin(Some(LITTLE), Some(peers));
        step(&mut learner);
        let state = learner.snapshot().unwrap();
        let is_divided = learner.state.division.is_some();
        Some((state, learner.host_memory().unwrap().bytes, is_divided))
    });
    let left = left.unwrap();
    assert!(
        left.iter()
            .all(|(_, in_host, is_divided)| *in_host > 0 && *is_divided)
    );
    assert!(state_bits(&left[0].0) == state_bits(&left[1].0));
    for (ranks, limit) in [
        (3, Some(LITTLE)),
        (2, Some(LITTLE - 50_000)),
        (2, Some(LITTLE + 50_000)),
        (1, None),
    ] {
        let (begin, state) = (learner.clone(), left[0].0.clone());
        let trained = by(ranks, move |_, peers| {
            let mut learner = begin(limit, Some(peers));
            learner.restore(&state).unwrap();
            Some(course.train_from(&mut learner, 3))
        });
        for trained in trained.unwrap() {
            assert!(trained == want, "{ranks} ranks with {limit:?}");
        }
    }
}

/// Sparse steps move the rows of what they see alone.
#[test]
fn what_is_not_seen_is_not_moved() {
    let course = Course {
        sparse: true,
        ..PLAIN
    };
    let of = |course: Course| with_limit(course, Some(1_100_000));
    let Some(sparse) = of(course) else { return };
    let dense = of(PLAIN).unwrap();
    assert!(sparse.host.bytes > 0 && dense.host.bytes > 0);
    let row = sparse.host.bytes / sparse.trained.3[0].count as u64;
    assert!(sparse.host.moved <= 3 * row * 2 * GAUSSIANS as u64);
    assert!(dense.host.moved > sparse.host.moved);
}

/// A snapshot goes on with any memory.
#[test]
fn a_snapshot_goes_on_with_other_memory() {
    let Some(device) = device() else { return };
    let course = Course {
        sparse: true,
        moments: Moments::Compact,
        ..PLAIN
    };
    let limited = || Arc::new(Limited::new(device.clone(), 1_000_000)) as Arc<dyn Device>;
    let learner = |device: &Arc<dyn Device>, offloads| {
        course.learner_on(device, scene(), offloads, None).unwrap()
    };
    let (mut plenty, mut scarce) = (learner(&device, false), learner(&limited(), true));
    for step in 1..=2 {
        scarce.step(&course.plan(step)).unwrap();
        plenty.step(&course.plan(step)).unwrap();
    }
    let (here, there) = (scarce.snapshot().unwrap(), plenty.snapshot().unwrap());
    assert!(state_bits(&here) == state_bits(&there));
    assert!(scarce.host_memory().unwrap().bytes > 0);
    let want = course.train_from(&mut plenty, 3);
    assert!(course.train_from(&mut scarce, 3) == want);
    for (mut learner, memory) in [
        (learner(&device, false), "plenty"),
        (learner(&limited(), true), "little"),
    ] {
        learner.restore(&here).unwrap();
        assert!(course.train_from(&mut learner, 3) == want, "{memory}");
    }
}

/// Pictures of a finished scene.
#[test]
fn renderers_need_no_more_than_what_is_seen() {
    let Some(device) = device() else { return };
    let (scene, camera) = (scene(), odd_camera(50, 40, 0.4));
    let options = PLAIN.plan(1).render;
    let draw = |limit: Option<u64>| {
        let watched = Watched::on(device.clone());
        let device: Arc<dyn Device> = match limit {
            Some(limit) => Arc::new(Limited::new(watched.clone(), limit)),
            None => watched.clone(),
        };
        let backend = CudaBackend::on(device, true).with_offload(limit.is_some());
        let mut renderer = backend.renderer(&scene).unwrap();
        let image = renderer.render(&camera, &options).unwrap().image;
        renderer.render_only(&camera, &options).unwrap();
        renderer.finish().unwrap();
        let seen = renderer.visibility(&camera, &options).unwrap();
        let peak = watched.watch().peak;
        (image, seen, peak)
    };
    let want = draw(None);
    let bytes = scene.len() * 236;
    for limit in [want.2 * 3 / 4, bytes * 3 / 4] {
        let got = draw(Some(limit as u64));
        assert!(got.0 == want.0 && got.1 == want.1, "with {limit} bytes");
        assert!(got.2 <= limit + 64, "{} of {limit}", got.2);
    }
}

#[test]
fn too_little_is_one_line_with_what_is_needed() {
    let Some(device) = device() else { return };
    for (limit, said) in [(100_000, "must lie on the card"), (180_000, "needs")] {
        let limited: Arc<dyn Device> = Arc::new(Limited::new(device.clone(), limit));
        let step = |mut learner: CudaLearner| {
            learner.step(&PLAIN.plan(1))?;
            learner.finish()
        };
        let error = PLAIN
            .learner_on(&limited, scene(), true, None)
            .and_then(step);
        let line = error.unwrap_err().to_string();
        assert!(line.contains(said) && !line.contains('\n'), "{line}");
    }
}

/// Gaussians of a tile of the large scene, tiles that have photos of their own, steps timed.
const TILE: usize = 1 << 20;
const VIEWS: usize = 8;
const STEPS: u32 = 24;

/// A tile of fine Gaussians before the camera, again and again to its right.
fn tiles(count: usize) -> Gaussians {
    let (mut scene, mut rng) = (Gaussians::zeros(count, 3), Rng::new(5, 1));
    let mut uniform = || rng.uniform();
    let tile: Vec<[f32; 3]> = (0..TILE)
        .map(|_| {
            let z = 2.0 + 4.0 * uniform();
            [(uniform() - 0.5) * z, (uniform() - 0.5) * 0.56 * z, z]
        })
        .collect();
    scene.rotations.fill([1.0, 0.0, 0.0, 0.0]);
    scene.log_scales.fill([-5.5; 3]);
    scene.opacity_logits.fill(-1.0);
    let rows = scene.means.iter_mut().zip(scene.sh.chunks_exact_mut(16));
    for (i, (mean, sh)) in rows.enumerate() {
        let [x, y, z] = tile[i % TILE];
        *mean = [x + APART * (i / TILE) as f32, y, z];
        sh[0] = [x.fract(), y.fract(), z.fract()];
    }
    scene
}

/// `SPLATCORE_OFFLOAD=GAUSSIANS,GIB`: times steps of a scene of so many Gaussians with so much of
/// the card's memory.
#[test]
#[ignore = "takes a card and the memory of SPLATCORE_OFFLOAD"]
fn beyond_a_card() {
    let Ok(asked) = std::env::var("SPLATCORE_OFFLOAD") else {
        eprintln!("skipped: SPLATCORE_OFFLOAD is not set");
        return;
    };
    let Some(device) = device() else { return };
    let (count, gib) = asked.split_once(',').unwrap();
    let (count, gib): (usize, f64) = (count.parse().unwrap(), gib.parse().unwrap());
    let views: Vec<View> = (0..VIEWS.min(count.div_ceil(TILE)))
        .map(|k| {
            // The emulator can take a part of a tile in small photos.
            let mut camera = match count < TILE {
                true => camera(192, 108),
                false => camera(1920, 1080),
            };
            camera.translation[0] = f64::from(-APART) * k as f64;
            view(camera, false)
        })
        .collect();
    let shown = views.len();
    let limit = (gib * 1024f64.powi(3)) as u64;
    let watched = Watched::on(Arc::new(Limited::new(device, limit)));
    let begun = Instant::now();
    let state = LearnerState::fresh(tiles(count));
    eprintln!("{count} Gaussians made in {:.1?}", begun.elapsed());
    let device: Arc<dyn Device> = watched.clone();
    let kernels = Arc::new(Kernels::new(device.clone()));
    let passes = Passes::new(Queue::new(device), kernels, true).unwrap();
    let begun = Instant::now();
    let mut learner = CudaLearner::new(
        &state,
        Arc::new(views),
        passes,
        Moments::Compact,
        true,
        None,
    )
    .unwrap();
    drop(state);
    eprintln!("uploaded in {:.1?}", begun.elapsed());
    let mut steps = |steps: std::ops::RangeInclusive<u32>| {
        let begun = Instant::now();
        for step in steps {
            let mut plan = step::plan(Pipeline::AUTO, step, step as usize % shown);
            (plan.sparse_adam, plan.noise) = (true, None);
            learner.step(&plan).unwrap();
        }
        learner.finish().unwrap();
        begun.elapsed().as_secs_f64()
    };
    steps(1..=2 * VIEWS as u32);
    let seconds = steps(17..=16 + STEPS);
    let mut last = step::plan(Pipeline::AUTO, 99, 0);
    (last.sparse_adam, last.noise) = (true, None);
    let stages = learner.timed_step(&last).unwrap();
    let HostMemory { bytes, moved } = learner.host_memory().unwrap();
    eprintln!(
        "{:.2} ms a step; {:.2} GiB on the card at the peak, {:.2} in the host's memory, {:.0} MiB \
         moved a step",
        1000.0 * seconds / f64::from(STEPS),
        watched.watch().peak as f64 / 1024f64.powi(3),
        bytes as f64 / 1024f64.powi(3),
        moved as f64 / 1024f64.powi(2)
    );
    for (stage, seconds) in stages {
        eprintln!("  {stage}: {:.3} ms", 1000.0 * seconds);
    }
    assert!(learner.last_loss().unwrap().is_finite());
}
