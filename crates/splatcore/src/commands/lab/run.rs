//! `splatcore lab run` and `resume`.

use super::device::DeviceArgs;
use super::opening::Opening;
use super::words::said;
use crate::interrupt;
use anyhow::Result;
use splatcore_lab::Candidate;
use splatcore_lab::campaign::{self, Watch};
use splatcore_lab::evaluate::Outcome;
use splatcore_lab::experiment::Folder;
use splatcore_lab::journal::State;
use std::path::PathBuf;

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
    strategy: splatcore_lab::search::Strategy,
    #[command(flatten)]
    model: super::model::ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let opening = Opening::new(&args.device)?;
    let mut folder = Folder::open(&args.folder)?;
    let experiment = folder.experiment.clone();
    opening.check_device(&folder)?;
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
