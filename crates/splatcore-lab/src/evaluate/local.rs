//! Judges candidates on this machine, with workers.

mod again;
mod planted;
mod races;
mod repeated;
mod results;
mod sanitized;
#[cfg(all(test, unix))]
pub(super) mod shells;
mod started;
mod stop;

use self::started::{Started, kernel_folder};
use self::stop::{Stop, own_gates};
use super::blame::blame;
use super::scene::{Scene, bound};
use super::settings::Settings;
use super::suite::{Judge, Suite};
use super::toolbox::{FrameKind, Role, Toolbox};
use super::turns::{Turn, Turns};
use super::{Already, Broken, Evaluator, Outcome};
use crate::candidate::{Candidate, Id, Texts};
use crate::gates::machine_code::{self, Compiled};
use crate::gates::result::{TestScene, Wanted, hostile, random, wanted};
use crate::gates::{Gate, Ratio, Rejection, Verdict, source};
use crate::journal::{Checked, Code, Event, NotRun, Series, Timed};
use crate::summary;
use crate::timing::{self, Contestants, Standing, TimedScene, clocks_agree, round, settle};
use crate::worker::{Child, WorkerError};
use splatcore_core::random::Rng;
use std::collections::BTreeMap;
use std::time::Instant;

/// Why the machine code is not looked at.
const NO_COMPILER: &str = "no compiler for cards (NVRTC) is at hand";

/// Judges candidates on this machine.
pub struct Local<'a> {
    toolbox: &'a dyn Toolbox,
    settings: Settings,
    suite: Suite,
    /// Scenes for checked workers, which take a hundred times as long.
    small: Vec<TestScene>,
    scenes: Vec<Scene>,
    /// The baseline's machine code, once it is wanted.
    compiled: Option<Compiled>,
    /// How much processes differ, once it is known; see [`timing::margin`].
    margin: Option<f64>,
    /// Whether the baseline leaves the same in memory after the same frames, once it is known.
    keeps_memory: Option<bool>,
    /// Whether the baseline's accesses were checked.
    baseline_checked: bool,
    empty: tempfile::TempDir,
    sandbox: String,
    device_seconds: f64,
    evaluated: u64,
    /// What is known of the candidate in work.
    already: Already,
}

impl<'a> Local<'a> {
    /// Renders references, and checks that the baseline passes its own gates.
    ///
    /// # Errors
    /// If the baseline fails.
    pub fn new(
        toolbox: &'a dyn Toolbox,
        settings: Settings,
        scenes: Vec<Scene>,
    ) -> Result<Self, Broken> {
        let mut local = Self::known(toolbox, settings, scenes)?;
        let own = local.results(&Texts::new(), &mut Vec::new());
        own.map_err(|error| own_gates(&error))?;
        Ok(local)
    }

    /// As [`Local::new`], of a baseline that passed with the same settings on this device before.
    ///
    /// # Errors
    /// If it cannot render.
    pub fn known(
        toolbox: &'a dyn Toolbox,
        settings: Settings,
        scenes: Vec<Scene>,
    ) -> Result<Self, Broken> {
        let system = |error: std::io::Error| Broken(format!("a folder for kernels: {error}"));
        let empty = tempfile::tempdir().map_err(system)?;
        let program = toolbox
            .worker(empty.path(), Role::Guarded)
            .map_err(Broken)?;
        let started = Child::start(&program, settings.limits);
        let mut baseline = started.map_err(|error| Broken(error.to_string()))?;
        let sandbox = baseline.sandbox.clone();
        let pipeline = settings.pipeline;
        let mut tests = random(settings.seed, pipeline);
        tests.extend(hostile(settings.seed, pipeline));
        let mut small = small(&tests);
        for more in &settings.more {
            let test = wanted(settings.seed, more, pipeline);
            small.extend(is_small(&test).then(|| test.clone()));
            tests.push(test);
        }
        let judge = Judge {
            reference: toolbox.reference(),
            pipeline,
            training: settings.training,
        };
        let suite = Suite::new(tests, &judge, &mut baseline)?;
        Ok(Self {
            toolbox,
            settings,
            suite,
            small,
            scenes,
            compiled: None,
            margin: None,
            keeps_memory: None,
            baseline_checked: false,
            empty,
            sandbox,
            device_seconds: 0.0,
            evaluated: 0,
            already: Already::default(),
        })
    }

    /// Lets other files be changed from now on.
    pub fn set_files(&mut self, files: Vec<String>) {
        self.settings.files = files;
    }

    /// A turn at the card, if there is one.
    fn turn(&self, wait: fn(&Turns) -> Result<Turn, Broken>) -> Result<Option<Turn>, Stop> {
        let turn = self.toolbox.turns().map(wait).transpose();
        turn.map_err(Stop::Broken)
    }

    fn start(&self, changed: &Texts, role: Role) -> Result<Started, Stop> {
        let folder = kernel_folder(changed)?;
        let program = self.toolbox.worker(folder.path(), role);
        let program = program.map_err(Stop::NotRun)?;
        match Child::start(&program, self.settings.limits) {
            Ok(child) => Ok(Started {
                child,
                _folder: Some(folder),
            }),
            Err(WorkerError::System(error)) => Err(Stop::Broken(Broken(error))),
            Err(error @ WorkerError::Unconfined(_)) => Err(Stop::NotRun(error.to_string())),
            Err(error) => Err(Stop::Rejected(blame(error))),
        }
    }

    /// Rounds until the verdict falls.
    fn time(&mut self, candidate: &Candidate, log: &mut dyn FnMut(Event)) -> Result<Verdict, Stop> {
        let (series, verdict) = self.timed(&candidate.changed)?;
        let agreement = clocks_agree(&series);
        log(Event::Timed(Timed {
            id: candidate.id(),
            series,
        }));
        agreement?;
        Ok(verdict)
    }

    /// Times kernels beside the baseline's until the verdict falls.
    fn timed(&mut self, changed: &Texts) -> Result<(Vec<Series>, Verdict), Stop> {
        let (plan, margin) = (self.settings.plan.clone(), self.margin()?);
        let settled = |rounds: &[f64]| match settle(rounds, &plan, margin) {
            Standing::Settled(ratio) => Some(ratio.into()),
            Standing::Open if rounds.len() < plan.most() => None,
            Standing::Open => Some(Verdict::Untimed),
        };
        let series = self.rounds(changed, &|rounds| settled(rounds).is_some())?;
        let verdict = settled(&summary::rounds(&series)).unwrap_or(Verdict::Untimed);
        Ok((series, verdict))
    }

    /// How much processes of the baseline differ; measured when it is first wanted.
    fn margin(&mut self) -> Result<f64, Stop> {
        match self.margin {
            Some(margin) => Ok(margin),
            None => self.measure_noise().map(|(_, margin)| margin),
        }
    }

    /// Times the baseline against itself, in a process of its own each time.
    fn measure_noise(&mut self) -> Result<(Vec<Series>, f64), Stop> {
        let mut all: Vec<Series> = Vec::new();
        for _ in 0..timing::PROCESSES {
            let series = self.rounds(&Texts::new(), &|rounds| rounds.len() == timing::ROUNDS)?;
            match all.is_empty() {
                true => all = series,
                false => all.iter_mut().zip(series).for_each(|(a, b)| a.append(b)),
            }
            self.evaluated += 1;
        }
        let margin = timing::margin(&summary::rounds(&all));
        self.margin = Some(margin);
        Ok((all, margin))
    }

    /// Times kernels beside the baseline's. All workers are new: one that has already rendered
    /// would differ from one that has not, always to the same side.
    fn rounds(
        &mut self,
        changed: &Texts,
        enough: &dyn Fn(&[f64]) -> bool,
    ) -> Result<Vec<Series>, Stop> {
        let mut rng = Rng::new(self.settings.seed, 1000 + self.evaluated);
        // What starts first is slower or faster for as long as it lives, so that the first and the
        // last belong together.
        let candidate_first = rng.below(2) == 1;
        let start = |is_outer: bool| match is_outer == candidate_first {
            true => self.start(changed, Role::Timed),
            false => self.start_baseline().map(Started::without_files),
        };
        let turn = self.turn(Turns::beside_others)?;
        let mut started = [start(true)?, start(false)?, start(false)?, start(true)?];
        let loaded = self.load(started.each_mut().map(|started| &mut started.child));
        let [outer, inner, also_inner, also_outer] = loaded;
        let (candidates, baselines) = match candidate_first {
            true => ([outer, also_outer], [inner, also_inner]),
            false => ([inner, also_inner], [outer, also_outer]),
        };
        baselines
            .into_iter()
            .try_for_each(|loaded| loaded.map_err(baseline_fails))?;
        for loaded in candidates {
            loaded.map_err(|error| Stop::Rejected(blame(error)))?;
        }
        let [mut a, mut b, mut c, mut d] = started;
        drop(turn);
        let (outer, inner) = ([&mut a.child, &mut d.child], [&mut b.child, &mut c.child]);
        let (baseline, candidate) = match candidate_first {
            true => (inner, outer),
            false => (outer, inner),
        };
        let mut contestants = Contestants {
            baseline,
            candidate,
            training: self.settings.training,
        };
        let timed: Vec<TimedScene> = self.scenes.iter().map(|s| s.timed.clone()).collect();
        let mut series: Vec<Series> = timed.iter().map(|s| Series::of(&s.name)).collect();
        let mut rounds = Vec::new();
        let turn = self.turn(Turns::alone)?;
        // What is waited for is not the device's time.
        let start = Instant::now();
        let mut failed = None;
        while failed.is_none() && !enough(&rounds) {
            match round(&mut contestants, &timed, &mut series, &mut rng) {
                Ok(ratio) => rounds.push(ratio),
                Err(error) => failed = Some(error),
            }
        }
        self.device_seconds += start.elapsed().as_secs_f64();
        drop(turn);
        match failed {
            None => (),
            Some((error, true)) => return Err(Stop::Rejected(blame(error))),
            Some((error, false)) => return Err(baseline_fails(error)),
        }
        let _turn = self.turn(Turns::beside_others)?;
        let [baseline, _] = contestants.baseline;
        for candidate in contestants.candidate {
            self.settled(candidate, baseline, &series)?;
        }
        Ok(series)
    }

    /// What is left to look at in workers that were timed: whether the candidate is faster than can
    /// be, and whether it still renders what it should.
    fn settled(
        &mut self,
        candidate: &mut Child,
        baseline: &mut Child,
        series: &[Series],
    ) -> Result<(), Stop> {
        for (scene, series) in self.scenes.iter_mut().zip(series) {
            bound(&scene.timed, series)?;
            let name = scene.timed.name.clone();
            let expected = scene.expect(&self.settings, self.toolbox, baseline);
            let expected = expected.map_err(Stop::Broken)?;
            expected.still_rendered(&name, candidate)?;
        }
        Ok(())
    }

    /// Loads the scenes into workers, side by side: most of the time goes into compiling.
    fn load(&self, workers: [&mut Child; 4]) -> [Result<(), WorkerError>; 4] {
        let (scenes, training) = (&self.scenes, self.settings.training);
        let load = |worker: &mut Child| {
            let mut scenes = scenes.iter();
            scenes.try_for_each(|scene| scene.load(worker, training))
        };
        std::thread::scope(|scope| {
            let threads = workers.map(|worker| scope.spawn(|| load(worker)));
            threads.map(|thread| {
                let failed = || WorkerError::System("a thread that loads scenes panicked".into());
                thread.join().unwrap_or_else(|_| Err(failed()))
            })
        })
    }

    fn start_baseline(&self) -> Result<Child, Stop> {
        let program = self.toolbox.worker(self.empty.path(), Role::Timed);
        let program = program.map_err(Stop::NotRun)?;
        Child::start(&program, self.settings.limits).map_err(baseline_fails)
    }

    fn compile(&self, changed: &Texts) -> Result<Option<Compiled>, Rejection> {
        let Settings {
            pipeline, training, ..
        } = self.settings;
        let mut frames: Vec<FrameKind> = Vec::new();
        for frame in self.scenes.iter().flat_map(Scene::kinds) {
            if !frames.contains(&frame) {
                frames.push(frame);
            }
        }
        self.toolbox.compile(changed, pipeline, training, &frames)
    }

    /// Holds machine code to the baseline's; returns what differs.
    fn compared(&mut self, compiled: &Compiled) -> Result<BTreeMap<String, String>, Stop> {
        if self.compiled.is_none() {
            let built = self.compile(&Texts::new());
            let failed = |error: Rejection| Stop::Broken(Broken(format!("the baseline: {error}")));
            self.compiled = built.map_err(failed)?;
        }
        let Some(baseline) = &self.compiled else {
            return Ok(BTreeMap::new());
        };
        machine_code::judge(compiled, baseline)?;
        Ok(machine_code::differences(compiled, baseline))
    }

    /// All gates and the times.
    fn judge(
        &mut self,
        candidate: &Candidate,
        known: &dyn Fn(&str) -> Option<Outcome>,
        not_run: &mut Vec<NotRun>,
        log: &mut dyn FnMut(Event),
    ) -> Result<Verdict, Stop> {
        let id = candidate.id();
        let allowed: Vec<&str> = self.settings.files.iter().map(String::as_str).collect();
        source::check(self.toolbox.kernels(), &allowed, &candidate.changed)?;
        let mut is_baseline = false;
        match self.compile(&candidate.changed)? {
            Some(compiled) => {
                let Compiled { code, .. } = &compiled;
                let verdict = known(code);
                log(Event::Compiled(Code {
                    id: id.clone(),
                    code: code.clone(),
                    resources: self.compared(&compiled)?,
                }));
                let baseline = self.compiled.as_ref();
                is_baseline = baseline.is_some_and(|baseline| baseline.code == *code);
                if let Some(Outcome {
                    verdict,
                    not_run: before,
                }) = verdict
                {
                    // The code is that of the timed frames: other variants of the text may differ.
                    if !matches!(verdict, Verdict::Rejected(_)) {
                        self.results(&candidate.changed, &mut Vec::new())?;
                    }
                    not_run.extend(before);
                    return Ok(verdict);
                }
            }
            None => not_run.push(NotRun {
                gate: Gate::MachineCode,
                why: NO_COMPILER.into(),
            }),
        }
        let mut passed = Vec::new();
        self.results(&candidate.changed, &mut passed)?;
        let verdict = match self.toolbox.turns().is_some() && !self.scenes.is_empty() {
            // Nothing that is launched was changed: a difference of times would be noise.
            true if is_baseline => Verdict::Unclear(Ratio::EVEN),
            true => self.time(candidate, log)?,
            false => Verdict::Untimed,
        };
        if matches!(verdict, Verdict::Slower(_)) {
            return Ok(verdict);
        }
        let of_times = [Gate::Clock, Gate::AfterTiming, Gate::Bound];
        if verdict == Verdict::Untimed {
            let why = match self.toolbox.turns().is_some() {
                true => "nothing was timed: no scene is given",
                false => "nothing was timed: kernels run on the emulator",
            };
            not_run.extend(of_times.map(|gate| NotRun {
                gate,
                why: why.into(),
            }));
        } else if !is_baseline {
            let scenes = self.scenes.len();
            passed.extend(of_times.map(|gate| format!("{gate}: {scenes} scenes")));
        }
        self.last_gates(&candidate.changed, &verdict, &mut passed, not_run)?;
        log(Event::Checked(Checked { id, passed }));
        Ok(verdict)
    }
}

impl Evaluator for Local<'_> {
    fn describe(&self) -> String {
        self.toolbox.describe()
    }

    fn sandbox(&self) -> String {
        self.sandbox.clone()
    }

    fn noise(&mut self) -> Result<Option<Timed>, Broken> {
        if self.toolbox.turns().is_none() || self.scenes.is_empty() {
            return Ok(None);
        }
        let broken = |stop| Broken(format!("the baseline against itself: {stop}"));
        let (series, _) = self.measure_noise().map_err(broken)?;
        let id = Id::baseline();
        Ok(Some(Timed { id, series }))
    }

    fn knows_noise(&mut self, known: &Timed) -> bool {
        let rounds = summary::rounds(&known.series);
        let is_whole = rounds.len() == timing::PROCESSES * timing::ROUNDS;
        self.margin = is_whole.then(|| timing::margin(&rounds));
        is_whole
    }

    fn add_test(&mut self, more: &Wanted) -> Result<(), Broken> {
        let test = wanted(self.settings.seed, more, self.settings.pipeline);
        let program = self.toolbox.worker(self.empty.path(), Role::Guarded);
        let started = Child::start(&program.map_err(Broken)?, self.settings.limits);
        let mut baseline = started.map_err(|error| Broken(error.to_string()))?;
        let judge = Judge {
            reference: self.toolbox.reference(),
            pipeline: self.settings.pipeline,
            training: self.settings.training,
        };
        self.suite.add(test.clone(), &judge, &mut baseline)?;
        self.small.extend(is_small(&test).then_some(test));
        Ok(())
    }

    fn evaluate(
        &mut self,
        candidate: &Candidate,
        already: Already,
        known: &dyn Fn(&str) -> Option<Outcome>,
        log: &mut dyn FnMut(Event),
    ) -> Result<Outcome, Broken> {
        self.evaluated += 1;
        self.already = already;
        let mut not_run = Vec::new();
        let verdict = match self.judge(candidate, known, &mut not_run, log) {
            Ok(verdict) => verdict,
            Err(Stop::Rejected(rejection)) => Verdict::Rejected(rejection),
            Err(Stop::NotRun(why)) => return Err(Broken(why)),
            Err(Stop::Broken(broken)) => return Err(broken),
        };
        Ok(Outcome { verdict, not_run })
    }

    fn take_device_seconds(&mut self) -> f64 {
        std::mem::take(&mut self.device_seconds)
    }
}

fn baseline_fails(error: WorkerError) -> Stop {
    let words = format!("the baseline fails while it is timed: {error}");
    Stop::Broken(Broken(words))
}

/// A few scenes with long and short lists, of few Gaussians.
fn small(tests: &[TestScene]) -> Vec<TestScene> {
    let few = tests.iter().filter(|test| is_small(test));
    few.step_by(2).take(4).cloned().collect()
}

fn is_small(test: &TestScene) -> bool {
    const MAX: usize = 1200;
    test.scene.len() <= MAX
}
