//! `splatcore lab run` and `resume`.

use super::device::DeviceArgs;
use super::limits::LimitArgs;
use super::opening::{Opening, Past};
use crate::interrupt;
use crate::output::WrongUsage;
use anyhow::{Result, bail};
use splatcore_lab::Candidate;
use splatcore_lab::campaign::{self, Beginning, CampaignError, Watch};
use splatcore_lab::evaluate::{Evaluator, Outcome};
use splatcore_lab::experiment::{Experiment, Folder};
use splatcore_lab::journal::State;
use splatcore_lab::llm::pause::Pause;
use splatcore_lab::proposers::Proposers;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Search until a budget is spent, nothing is left to try, or Ctrl-C.
///
/// Everything is in the folder's journal as soon as it is known. A run that was interrupted or
/// killed goes on with the same next candidate.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
    /// Who makes candidates, in turns: a strategy of the search over declared tunables and marked
    /// places (random, exhaustive, local, genetic, tpe, portfolio), the same around a candidate's
    /// text (tpe@ID) or the fastest one's (tpe@best), crossover of two candidates' changes, or
    /// model [that of experiment.toml; else model with --llm, and portfolio without]
    #[arg(long, value_name = "NAME,NAME")]
    proposer: Option<Proposers>,
    /// End this run after so many candidates; the next one goes on
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    candidates: u64,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    model: super::model::ModelArgs,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let mut folder = Folder::open(&args.folder)?;
    let experiment = folder.experiment.clone();
    let opening = Opening::new(&args.device, &experiment)?;
    opening.check_journal(&folder)?;
    let baseline = opening.baseline(&experiment)?;
    let limits = args.limits.budget(args.candidates);
    // A reply that does not come must not hold a run beyond its time.
    let time = limits.wall_seconds.min(experiment.budget.wall_seconds);
    let end = Duration::try_from_secs_f64(time).ok();
    let end = end.and_then(|time| Instant::now().checked_add(time));
    let is_over = move || end.is_some_and(|end| Instant::now() >= end);
    let pause = Pause::new(interrupt::stop_requested).until(end);
    let guard = interrupt::Guard::start_searching()?;
    let proposers = proposers(args.proposer, &experiment, args.model.is_asked())?;
    let (model, mut cross_check) = match args.model.is_asked() {
        true => {
            let (model, check) =
                args.model
                    .proposer(&opening, &experiment, &args.folder, &pause)?;
            (Some(model), check)
        }
        false => (None, None),
    };
    let mut proposer = proposers.make(model, experiment.seed);
    let mut evaluator = opening.evaluator(&Past::of(&folder)?)?;
    let opened = opening.opened(&experiment, &evaluator.sandbox());
    let mut watch = Lines { guard: &guard };
    let ended = campaign::run(
        &mut folder,
        Beginning {
            opened,
            baseline,
            limits,
        },
        &mut proposer,
        &mut evaluator,
        cross_check.as_deref_mut().map(|check| check as _),
        &mut watch,
    );
    println!("{}", reason(ended, is_over())?);
    super::status::print(folder.journal.entries())
}

/// Why a run ended. Its time being over while it waited for an answer is no error.
fn reason(ended: Result<String, CampaignError>, is_over: bool) -> Result<String, CampaignError> {
    match ended {
        Err(CampaignError::Interrupted(reason)) if is_over => Ok(reason),
        other => other,
    }
}

/// Those of the flag, else of the experiment, else what there is.
fn proposers(flag: Option<Proposers>, experiment: &Experiment, model: bool) -> Result<Proposers> {
    let named = flag.or_else(|| experiment.proposer.clone());
    let proposers = named.unwrap_or_else(|| match model {
        true => Proposers::model(),
        false => Proposers::search(),
    });
    match (proposers.ask_a_model(), model) {
        (true, false) => bail!(WrongUsage(format!(
            "{proposers} asks a model; say with --llm which one answers"
        ))),
        (false, true) => bail!(WrongUsage(format!(
            "{proposers} asks no model; add model to --proposer, or leave --llm out"
        ))),
        _ => Ok(proposers),
    }
}

/// A line a candidate on stderr.
pub struct Lines<'a> {
    /// Ctrl-C.
    pub guard: &'a interrupt::Guard,
}

impl Watch for Lines<'_> {
    fn proposed(&mut self, state: &State, candidate: &Candidate) {
        let mut judged = state.history.judged.iter();
        let before = judged.position(|judged| judged.candidate.id() == candidate.id());
        let number = before.map_or(state.history.proposed, |at| at as u64 + 1);
        let (id, about) = (candidate.id(), candidate.described());
        eprint!("{number:>4} {id}  {about}: ");
    }

    fn fruitless(&mut self, reason: &str) {
        eprintln!("     no candidate: {reason}");
    }

    fn judged(&mut self, state: &State, _: &Candidate, outcome: &Outcome) {
        let best = match state.history.best().and_then(|best| best.verdict.ratio()) {
            Some(ratio) => format!("; best {:.4} of the baseline's time", ratio.ratio),
            None => String::new(),
        };
        eprintln!("{}{best}", outcome.verdict);
    }

    fn interrupted(&self) -> bool {
        self.guard.stop_requested()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_of_its_time_ends_a_run_well() {
        let stop = || Err(CampaignError::Stop("the endpoint is down".into()));
        let late = || Err(CampaignError::Interrupted("stopped while waiting".into()));
        assert!(reason(stop(), true).is_err());
        assert!(reason(late(), true).is_ok());
        assert!(reason(late(), false).is_err());
    }
}
