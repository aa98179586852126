//! Whatever fails on one of several ranks, none waits for ever: all end, those that did not fail by
//! an error that names the one that did, or all go on to what they come to undisturbed. And with
//! whatever memory, all end with the bits of one rank that has plenty, or all by an error.
//!
//! Runs of the trainer in which everything happens that ranks exchange: steps, refinements, looks,
//! checkpoints, division. A few places and amounts of memory are tried; with `SPLATCORE_SWEEP=1`
//! far more, which takes hours.

use crate::CudaBackend;
use crate::device::{Device, Limited};
use crate::ops::adam::moments::Moments;
use crate::peers::loopback::Loopback;
use crate::tests::support::device::emulator;
use crate::tests::support::watched::Watched;
use splatcore_core::backend::{Learner, RenderOptions, Renderer};
use splatcore_core::{Gaussians, View};
use splatcore_reference::conformance::determinism::state_bits;
use splatcore_reference::conformance::scenes::{odd_camera, random_scene, views};
use splatcore_train::config::{Config, ResolvedConfig, Strategy};
use splatcore_train::{Decision, End, Observer, Signal, Together, TrainError, Trainer};
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Ranks that wait so long for each other wait for ever.
const DEADLINE: Duration = Duration::from_secs(20);
/// A rank that has not ended by then does not end.
const WATCHDOG: Duration = Duration::from_secs(120);
/// Gaussians of the scene: a half of them is in no view.
const GAUSSIANS: usize = 700;

/// What fails on a rank: these of its allocations of the device's or the host's memory, or of all
/// calls of its device.
#[derive(Clone, Debug)]
enum Fault {
    Allocations(Range<usize>),
    Host(Range<usize>),
    Calls(Range<usize>),
}

/// A run.
#[derive(Clone)]
struct Run {
    config: ResolvedConfig,
    ranks: usize,
    /// Ranks render photos together.
    strips: bool,
    /// Exchanges are made as late as they may be.
    late: bool,
    /// Bytes of memory that each rank has but the first, which has an eighth more.
    memory: Option<u64>,
    fault: Option<(usize, Fault)>,
}

/// What a rank comes to: the bits of the state in the end, or why it ended.
type Ended = Result<Vec<u32>, String>;

/// What it had: allocations and calls of its device, most bytes at a time, and bytes in the host's
/// memory in the end.
#[derive(Clone, Copy, Debug, Default)]
struct Had {
    allocations: usize,
    pinned: usize,
    calls: usize,
    peak: usize,
    in_host: u64,
}

/// What rank 0 says after a step.
#[derive(Clone, Copy)]
enum Said {
    Decision(Decision),
    End(End),
}

/// A rank that hears rank 0, or is heard.
struct Told {
    others: Vec<Sender<(u32, Said)>>,
    first: Option<Mutex<Receiver<(u32, Said)>>>,
}

impl Told {
    fn all(count: usize) -> Vec<Self> {
        let (senders, receivers): (Vec<_>, Vec<_>) = (1..count).map(|_| channel()).unzip();
        let first = Self {
            others: senders,
            first: None,
        };
        let other = |receiver| Self {
            others: Vec::new(),
            first: Some(Mutex::new(receiver)),
        };
        std::iter::once(first)
            .chain(receivers.into_iter().map(other))
            .collect()
    }

    fn tell(&self, step: u32, own: Said) -> Result<Said, TrainError> {
        let Some(first) = &self.first else {
            for (k, other) in self.others.iter().enumerate() {
                let gone = |_| TrainError::Together(format!("rank {} ended", k + 1));
                other.send((step, own)).map_err(gone)?;
            }
            return Ok(own);
        };
        let heard = first.lock().unwrap().recv_timeout(DEADLINE);
        let (at, said) = heard.map_err(|error| {
            TrainError::Together(match error {
                RecvTimeoutError::Disconnected => "rank 0 ended".into(),
                RecvTimeoutError::Timeout => "rank 0 gave nothing: no decision".into(),
            })
        })?;
        assert_eq!(at, step, "rank 0 is at another step");
        Ok(said)
    }
}

impl Together for Told {
    fn leads(&self) -> bool {
        self.first.is_none()
    }

    fn decide(&mut self, step: u32, own: Decision) -> Result<Decision, TrainError> {
        match self.tell(step, Said::Decision(own))? {
            Said::Decision(decision) => Ok(decision),
            Said::End(_) => panic!("an end in place of a decision"),
        }
    }

    fn end(&mut self, step: u32, own: End) -> Result<End, TrainError> {
        match self.tell(step, Said::End(own))? {
            Said::End(end) => Ok(end),
            Said::Decision(_) => panic!("a decision in place of an end"),
        }
    }
}

/// Looks at every third step, and measures. What goes wrong then, users see in the next picture.
struct Looks {
    asked: u32,
}

impl Observer for Looks {
    fn measure(&mut self, _: u32, renderer: &mut dyn Renderer, options: &RenderOptions) {
        let _ = renderer.render(&odd_camera(50, 40, 0.4), options);
    }

    fn wants_look(&mut self) -> bool {
        self.asked += 1;
        self.asked.is_multiple_of(3)
    }

    fn look(&mut self, _: u32, learner: &mut dyn Learner, options: &RenderOptions) -> Signal {
        let _ = learner.render_bytes(&odd_camera(40, 50, 0.2), options);
        let _ = learner.scene();
        Signal::Continue
    }
}

impl Run {
    fn new(strategy: Strategy, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = Config {
            iterations: Some(9),
            batch: Some(2),
            sh_degree: Some(2),
            sh_every: Some(3),
            densify_from: Some(2),
            densify_until: Some(9),
            densify_every: Some(3),
            densify_gradient: Some(1e-4),
            growth: Some(0.2),
            noise_rate: Some(5e3),
            checkpoint_every: Some(4),
            eval_every: Some(5),
            max_gaussians: Some(1200),
            strategy: Some(strategy),
            ..Config::UNSET
        };
        change(&mut config);
        Self {
            config: config.resolve().unwrap(),
            ranks: 2,
            strips: false,
            late: false,
            memory: None,
            fault: None,
        }
    }

    fn of(&self, ranks: usize) -> Self {
        Self {
            ranks,
            ..self.clone()
        }
    }

    fn within(&self, memory: u64) -> Self {
        Self {
            memory: Some(memory),
            ..self.clone()
        }
    }

    fn failing(&self, rank: usize, fault: Fault) -> Self {
        Self {
            fault: Some((rank, fault)),
            ..self.clone()
        }
    }

    /// What the ranks come to. None of them waits for ever.
    fn run(&self) -> Option<Vec<(Ended, Had)>> {
        emulator()?;
        let (send, receive) = channel();
        let peers = Loopback::new(self.ranks, DEADLINE).into_iter();
        for (rank, (peers, told)) in peers.zip(Told::all(self.ranks)).enumerate() {
            let (run, send) = (self.clone(), send.clone());
            thread::spawn(move || send.send((rank, run.of_rank(rank, peers, told))));
        }
        drop(send);
        let mut all: Vec<Option<(Ended, Had)>> = vec![None; self.ranks];
        for _ in 0..self.ranks {
            match receive.recv_timeout(WATCHDOG) {
                Ok((rank, left)) => all[rank] = Some(left),
                Err(error) => panic!("{:?}: a rank does not end: {error}", self.fault),
            }
        }
        all.into_iter().collect()
    }

    fn of_rank(&self, rank: usize, peers: Loopback, told: Told) -> (Ended, Had) {
        let watched = Watched::on(emulator().unwrap());
        match &self.fault {
            Some((of, Fault::Allocations(which))) if *of == rank => {
                watched.watch().no_memory = which.clone();
            }
            Some((of, Fault::Host(which))) if *of == rank => {
                watched.watch().no_pinned = which.clone();
            }
            Some((of, Fault::Calls(which))) if *of == rank => {
                watched.watch().failing = which.clone();
            }
            _ => {}
        }
        let mut device: Arc<dyn Device> = watched.clone();
        if let Some(memory) = self.memory {
            // So that one runs out of it and the others do not.
            let more = if rank == 0 { memory / 8 } else { 0 };
            device = Arc::new(Limited::new(device, memory + more));
        }
        let peers = match self.strips {
            true => peers.with_strips(),
            false => peers,
        };
        let peers = match self.late {
            true => peers.late(),
            false => peers,
        };
        let backend = CudaBackend::on(device, true)
            .with_moments(Moments::Compact)
            .with_offload(true)
            .with_peers(Arc::new(peers));
        let mut in_host = 0;
        let ended = self.train(rank, backend, told, &mut in_host);
        let watch = watched.watch();
        let had = Had {
            allocations: watch.allocations,
            pinned: watch.pinned,
            calls: watch.calls,
            peak: watch.peak,
            in_host,
        };
        (ended.map_err(|error| error.to_string()), had)
    }

    /// As `splatcore train` does.
    fn train(
        &self,
        rank: usize,
        backend: CudaBackend,
        told: Told,
        in_host: &mut u64,
    ) -> Result<Vec<u32>, TrainError> {
        let folder = tempfile::tempdir().unwrap();
        let views: Arc<Vec<View>> = Arc::new(views());
        let mut trainer = Trainer::new(&self.config, &backend, views, scene())?;
        // Nobody else has the ranks now: they are told when the trainer goes.
        drop(backend);
        trainer.train_together(Box::new(told));
        if rank == 0 {
            trainer.save_to(folder.path().join("checkpoint"));
            trainer.scene()?;
            trainer.run_unsaved(&mut Looks { asked: 0 })?;
            trainer.scene()?;
            trainer.save_end(&mut ())?;
            trainer.wait_saved(&mut ())?;
        } else {
            trainer.run_ahead(&mut ())?;
        }
        *in_host = trainer.host_memory()?.bytes;
        Ok(state_bits(&trainer.checkpoint()?.state))
    }
}

/// Gaussians of which the views see a half.
fn scene() -> Gaussians {
    let mut all = random_scene(53, GAUSSIANS, 2);
    for mean in all.means.iter_mut().skip(GAUSSIANS / 2) {
        mean[1] += 60.0;
    }
    all
}

/// Whether all ranks came to what they come to undisturbed. Else those that failed say why, and the
/// others have ended with one of them, or had nothing more to do with it.
fn all_go_on(what: &str, left: &[(Ended, Had)], want: &[u32]) -> bool {
    for (rank, (ended, _)) in left.iter().enumerate() {
        let error = match ended {
            Ok(bits) => {
                assert!(bits == want, "{what}: rank {rank} has other bits");
                continue;
            }
            Err(error) => error,
        };
        let is_own = ["ran out of memory", "out of memory:", "was taken away"];
        let is_own = is_own.iter().any(|words| error.contains(words));
        let has_ended = |(other, (ended, _)): (usize, &(Ended, Had))| {
            ended.is_err() && error.contains(&format!("rank {other} ended"))
        };
        let is_named = left.iter().enumerate().any(has_ended);
        assert!(is_own || is_named, "{what}: rank {rank}: {error}");
        assert!(!error.contains('\n'), "{what}: rank {rank}: {error}");
    }
    left.iter().all(|(ended, _)| ended.is_ok())
}

/// Whether far more places are tried than a few.
fn sweeps() -> bool {
    std::env::var_os("SPLATCORE_SWEEP").is_some()
}

/// So many places spread over so many, or of a sweep up to 40 times as many.
fn places(all: usize, few: usize) -> impl Iterator<Item = usize> {
    let few = if sweeps() { 40 * few } else { few };
    let step = all.div_ceil(few).max(1);
    (step / 2..all).step_by(step)
}

/// Runs in which everything happens that ranks exchange; the first is steps of one photo for each
/// of two ranks.
fn runs() -> Vec<Run> {
    let plain = Run::new(Strategy::Mcmc, |_| ());
    if !sweeps() {
        return vec![plain];
    }
    let with_all = Run::new(Strategy::Adc, |config| {
        (config.prune_floaters, config.prune_every) = (Some(0.97), Some(4));
        (config.antialias, config.refine_poses) = (Some(true), Some(true));
        (config.sky, config.exposure) = (Some(true), Some(true));
    });
    let mut strips = Run::new(Strategy::Mcmc, |config| config.batch = Some(1));
    strips.strips = true;
    let mut rounds = Run::new(Strategy::Adc, |config| config.batch = Some(3));
    rounds.late = true;
    let all = [plain, with_all, strips, rounds].into_iter();
    all.flat_map(|run| [2, 3].map(|ranks| run.of(ranks)))
        .collect()
}

#[test]
fn with_any_memory() {
    for (k, run) in runs().into_iter().enumerate() {
        let Some(alone) = run.of(1).run() else { return };
        let (want, had) = (alone[0].0.as_ref().unwrap(), alone[0].1);
        let (mut short, mut in_host) = (0, 0);
        // With the last some arrays are in the host's memory in the end.
        for memory in places(had.peak, 3).chain([had.peak * 62 / 100]) {
            let what = format!("run {k}, {} ranks with {memory} bytes", run.ranks);
            let left = run.within(memory as u64).run().unwrap();
            match all_go_on(&what, &left, want) {
                true => in_host += usize::from(left.iter().any(|(_, had)| had.in_host > 0)),
                false => short += 1,
            }
        }
        assert!(short > 0 && in_host > 0, "run {k}: {short} and {in_host}");
    }
}

/// Lets a rank fail in all of these ways; how often the ranks ended.
fn ends(run: &Run, want: &[u32], rank: usize, faults: impl Iterator<Item = Fault>) -> usize {
    let ended = faults.map(|fault| {
        let (ranks, memory) = (run.ranks, run.memory);
        let what = format!("{ranks} ranks, {memory:?}: rank {rank} fails at {fault:?}");
        let left = run.failing(rank, fault).run().unwrap();
        usize::from(!all_go_on(&what, &left, want))
    });
    ended.sum()
}

/// One, and all from one on.
fn both(at: usize) -> [Range<usize>; 2] {
    [at..at + 1, at..usize::MAX]
}

#[test]
fn with_any_fault() {
    for run in runs() {
        let Some(alone) = run.of(1).run() else { return };
        let (want, had) = (alone[0].0.as_ref().unwrap(), alone[0].1);
        // With the first some arrays are in the host's memory in the end.
        let both_ways = [run.within(had.peak as u64 * 62 / 100), run];
        let few = if sweeps() { 2 } else { 1 };
        for run in both_ways.into_iter().take(few) {
            let undisturbed = run.run().unwrap();
            for rank in (0..run.ranks).skip(usize::from(!sweeps())) {
                let had = undisturbed[rank].1;
                let at = places(had.allocations, 1).chain(places(had.allocations / 2, 1));
                let allocations = at.flat_map(both).map(Fault::Allocations);
                let calls = places(had.calls, 1).flat_map(both).map(Fault::Calls);
                let host = places(had.pinned, 1).flat_map(both).map(Fault::Host);
                let ended = ends(&run, want, rank, allocations.chain(calls).chain(host));
                assert!(ended > 0);
            }
        }
    }
}

/// The first steps find too little room on the device and are taken again. There memory ends on the
/// last rank alone, or what it moves to the host's memory finds no room there for once.
#[test]
fn in_steps_that_are_taken_again() {
    for run in runs() {
        let Some(alone) = run.of(1).run() else { return };
        let (want, had) = (alone[0].0.as_ref().unwrap(), alone[0].1);
        let (undisturbed, last) = (run.run().unwrap(), run.ranks - 1);
        let all = undisturbed[last].1.allocations;
        let ended = (all / 4..all * 3 / 4).step_by(if sweeps() { 1 } else { 12 });
        let memory_ends = ended.map(|at| Fault::Allocations(at..usize::MAX));
        assert!(ends(&run, want, last, memory_ends) > 0);
        for share in (36..52).step_by(if sweeps() { 1 } else { 2 }) {
            let run = run.within((had.peak * share / 100) as u64);
            let pinned = run.run().unwrap()[last].1.pinned;
            ends(
                &run,
                want,
                last,
                (0..pinned).map(|at| Fault::Host(at..at + 1)),
            );
        }
    }
}
