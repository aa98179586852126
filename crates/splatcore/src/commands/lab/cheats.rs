//! `splatcore lab cheats`: the gates are tried with planted changes.

use super::asker::Asker;
use super::device::DeviceArgs;
use super::toolbox::Build;
use anyhow::{Error, Result, bail};
use splatcore_lab::Rejection;
use splatcore_lab::cheats::{self, Tried};
use splatcore_lab::evaluate::{Broken, Toolbox};
use splatcore_lab::llm::source::Source;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Show that planted wrong changes are stopped, each by the gate that it names, and that honest
/// changes pass. On the emulator it takes some minutes.
#[derive(clap::Args)]
pub struct Args {
    /// Only those whose names hold this
    only: Option<String>,
    /// Ask a model about them in place of the gates, as `lab run --cross-check` asks about
    /// candidates. command:PROGRAM reads a prompt and prints the reply; files:FOLDER writes prompts
    /// there and awaits replies; replay:FILE repeats a recorded run
    #[arg(long, value_name = "SOURCE", requires = "record")]
    llm: Option<Source>,
    /// A file for questions and replies; what it holds is not asked again
    #[arg(long, value_name = "FILE", requires = "llm")]
    record: Option<PathBuf>,
    /// Ask about the candidates of this experiment in place of planted changes: those that passed,
    /// and those that a gate which looks at results has stopped
    #[arg(long, value_name = "EXP", requires = "llm")]
    of: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if let (Some(source), Some(record), Some(of)) = (&args.llm, &args.record, &args.of) {
        let asker = Asker::new(source, record.clone())?;
        return asker.about_candidates(of, args.only.as_deref(), &args.device);
    }
    let first = Build::new(&args.device)?;
    let mut chosen = cheats::all().map_err(Error::msg)?;
    if let Some(only) = &args.only {
        chosen.retain(|cheat| cheat.name.contains(only.as_str()));
    }
    if chosen.is_empty() {
        bail!("no planted change has that in its name");
    }
    if let (Some(source), Some(record)) = (&args.llm, args.record) {
        return Asker::new(source, record)?.about_planted(&chosen, first.kernels());
    }
    let names = chosen.iter().map(|cheat| cheat.name.chars().count());
    let width = names.max().unwrap_or(0);
    let [ok, wrong, not_run] = [const { AtomicUsize::new(0) }; 3];
    let build = || Build::new(&args.device).map_err(|error| Broken(format!("{error:#}")));
    let count = |counter: &AtomicUsize| counter.fetch_add(1, Ordering::Relaxed);
    cheats::try_all(&chosen, &build, first.limits(), &|cheat, came| {
        let wanted = cheat.gate.map_or("passes".into(), |gate| gate.to_string());
        let stopped = |stopped: &Option<Rejection>| match stopped {
            Some(rejection) => rejection.to_string(),
            None => "passed".into(),
        };
        let (verdict, words) = match came {
            Tried::AsNamed(rejection) => {
                count(&ok);
                ("ok     ", stopped(rejection))
            }
            Tried::Wrong(rejection) => {
                count(&wrong);
                ("WRONG  ", stopped(rejection))
            }
            Tried::NotRun(why) => {
                count(&not_run);
                ("not run", why.clone())
            }
        };
        println!("{verdict} {:<width$}  {wanted:<12}  {words}", cheat.name);
    })?;
    let [ok, wrong, not_run] = [ok, wrong, not_run].map(AtomicUsize::into_inner);
    let tried = ok + wrong;
    if wrong > 0 {
        bail!("{wrong} of {tried} not as planted");
    }
    println!("{ok} of {tried} as planted, {not_run} not run");
    Ok(())
}
