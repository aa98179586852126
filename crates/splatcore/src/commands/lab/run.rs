//! `splatcore lab run` and `resume`.

use super::counterexamples;
use super::device::DeviceArgs;
use super::scenes;
use super::toolbox::{Build, digest};
use super::words::said;
use crate::interrupt;
use anyhow::{Result, bail};
use splatcore_core::Pipeline;
use splatcore_lab::campaign::{self, Watch};
use splatcore_lab::evaluate::{Evaluator, Local, Outcome, Settings, Toolbox};
use splatcore_lab::experiment::{Experiment, Folder, Workload};
use splatcore_lab::journal::{Opened, State};
use splatcore_lab::{Candidate, Texts};
use std::path::{Path, PathBuf};

/// Search until a budget is spent, nothing is left to try, or Ctrl-C.
///
/// Everything is in the folder's journal as soon as it is known. A run that was interrupted or
/// killed goes on with the same next candidate.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
    /// Without a model: which strategy searches the declared tunables and marked places
    #[arg(
        long,
        value_name = "NAME",
        default_value = "portfolio",
        conflicts_with = "llm"
    )]
    strategy: Strategy,
    #[command(flatten)]
    model: super::model::ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

/// A strategy's name.
#[derive(Clone, Debug)]
pub struct Strategy(pub String);

impl std::str::FromStr for Strategy {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        use splatcore_lab::search::Strategy as Known;
        match Known::named(name) {
            Some(_) => Ok(Self(name.into())),
            None => Err(format!("give one of {}", Known::NAMES.join(", "))),
        }
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let opening = Opening::new(&args.device)?;
    let mut folder = Folder::open(&args.folder)?;
    let experiment = folder.experiment.clone();
    let baseline = opening.baseline(&experiment)?;
    let guard = interrupt::Guard::start()?;
    let (mut proposer, mut cross_check) = match args.model.is_asked() {
        true => args.model.proposer(&opening, &experiment, &args.folder)?,
        false => (super::search::proposer(&args.strategy, &experiment), None),
    };
    let mut evaluator = opening.evaluator(&experiment, &args.folder)?;
    let opened = opening.opened(&experiment, &evaluator);
    let mut watch = Lines { guard: &guard };
    let ended = campaign::run(
        &mut folder,
        opened,
        &mut *proposer,
        &mut evaluator,
        cross_check.as_deref_mut().map(|check| check as _),
        baseline,
        &mut watch,
    )?;
    println!("{ended}");
    super::status::print(&folder)
}

/// What every way of running an experiment begins with.
pub struct Opening {
    /// The build.
    pub build: Build,
}

impl Opening {
    /// This build on a device.
    ///
    /// # Errors
    /// As [`Build::new`].
    pub fn new(device: &DeviceArgs) -> Result<Self> {
        Ok(Self {
            build: Build::new(device)?,
        })
    }

    /// The texts that an experiment may change.
    ///
    /// # Errors
    /// If this build has other kernels than the experiment began with.
    pub fn baseline(&self, experiment: &Experiment) -> Result<Texts> {
        check_build(experiment, &self.build)?;
        let mut baseline = self.build.kernels().clone();
        baseline.retain(|name, _| experiment.task.files.contains(name));
        Ok(baseline)
    }

    /// Judges the candidates of an experiment.
    ///
    /// # Errors
    /// If a scene cannot be read, or the baseline does not pass its own gates.
    pub fn evaluator(&self, experiment: &Experiment, folder: &Path) -> Result<Local<'_>> {
        let pipeline: Pipeline = experiment
            .task
            .pipeline
            .parse()
            .map_err(anyhow::Error::msg)?;
        let settings = Settings {
            pipeline,
            training: experiment.task.workload == Workload::Step,
            files: experiment.task.files.clone(),
            seed: experiment.seed,
            more: counterexamples::read(folder)?,
            plan: experiment.timing.clone(),
            limits: self.build.limits(),
        };
        let scenes = match self.build.is_timed() {
            true => scenes::read(&experiment.scenes.search, pipeline)?,
            false => vec![],
        };
        Ok(Local::new(&self.build, settings, scenes)?)
    }

    /// The first event of a run.
    pub fn opened(&self, experiment: &Experiment, evaluator: &Local) -> Opened {
        Opened {
            version: super::toolbox::version(),
            kernels: experiment.kernels.clone(),
            device: evaluator.describe(),
            sandbox: evaluator.sandbox(),
        }
    }
}

/// A candidate is a change of the kernels that the experiment began with.
pub fn check_build(experiment: &Experiment, build: &Build) -> Result<()> {
    if digest(build.kernels()) == experiment.kernels {
        return Ok(());
    }
    let commit = experiment.commit.as_deref();
    bail!(
        "this build has other kernels than the experiment began with{}; build that commit, or \
         begin a new experiment",
        commit.map_or(String::new(), |commit| format!(" (commit {commit})"))
    )
}

/// A line a candidate on stderr.
pub struct Lines<'a> {
    /// Ctrl-C.
    pub guard: &'a interrupt::Guard,
}

impl Watch for Lines<'_> {
    fn proposed(&mut self, state: &State, candidate: &Candidate) {
        eprint!(
            "{:>4} {}  {}: ",
            state.history.proposed,
            candidate.id(),
            candidate.about
        );
    }

    fn judged(&mut self, state: &State, _: &Candidate, outcome: &Outcome) {
        let best = match state.history.best().and_then(|best| best.verdict.ratio()) {
            Some(ratio) => format!("; best {:.4} of the baseline's time", ratio.ratio),
            None => String::new(),
        };
        eprintln!("{}{best}", said(&outcome.verdict));
    }

    fn interrupted(&self) -> bool {
        self.guard.stop_requested()
    }
}
