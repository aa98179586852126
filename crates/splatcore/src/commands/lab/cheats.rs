//! `splatcore lab cheats`: the gates are tried with planted changes.

use super::device::DeviceArgs;
use super::model;
use super::toolbox::Build;
use anyhow::{Error, Result, bail};
use splatcore_lab::cheats::{self, Cheat, Tried};
use splatcore_lab::evaluate::{Broken, Toolbox};
use splatcore_lab::experiment::Workload;
use splatcore_lab::llm::checker::Opinion;
use splatcore_lab::llm::pause::Pause;
use splatcore_lab::llm::question::Setting;
use splatcore_lab::llm::source::Source;
use splatcore_lab::{Rejection, Texts};
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
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let first = Build::new(&args.device)?;
    let mut chosen = cheats::all().map_err(Error::msg)?;
    if let Some(only) = &args.only {
        chosen.retain(|cheat| cheat.name.contains(only.as_str()));
    }
    if chosen.is_empty() {
        bail!("no planted change has that in its name");
    }
    if let (Some(source), Some(record)) = (&args.llm, args.record) {
        return ask(&chosen, source, record, first.kernels());
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

/// Asks a model about planted changes.
fn ask(chosen: &[Cheat], source: &Source, record: PathBuf, kernels: &Texts) -> Result<()> {
    let (endpoints, limits) = Default::default();
    let pause = Pause::new(crate::interrupt::stop_requested);
    let (mut model, parameters) = model::recorded(source, &endpoints, limits, record, &pause)?;
    let names = chosen.iter().map(|cheat| cheat.name.chars().count());
    let width = names.max().unwrap_or(0);
    let (mut right, mut asked) = ([0; 2], [0; 2]);
    for cheat in chosen {
        let workload = match cheat.training {
            true => Workload::Step,
            false => Workload::Frame,
        };
        let pipeline = cheat.pipeline.to_string();
        let mut setting = Setting::new(model::task(&pipeline, workload, &cheat.files));
        setting.parameters = parameters.clone();
        let Some(opinion) = cheats::ask(cheat, kernels, &mut model, &setting)? else {
            continue;
        };
        let honest = cheat.gate.is_none();
        let (said, words) = match &opinion {
            Opinion::Equivalent => (Some(true), String::new()),
            Opinion::Differs { place, .. } => (Some(false), place.replace('\n', " ")),
            Opinion::Unreadable => (None, "an answer that cannot be read".into()),
        };
        let verdict = match (honest, said) {
            (_, None) => "no answer",
            (true, Some(true)) => "agreed",
            (true, Some(false)) => "false alarm",
            (false, Some(true)) => "missed",
            (false, Some(false)) => "found",
        };
        asked[usize::from(honest)] += 1;
        right[usize::from(honest)] += usize::from(said == Some(honest));
        let gate = cheat.gate.map_or("honest".into(), |gate| gate.to_string());
        println!("{verdict:<11} {:<width$}  {gate:<12}  {words}", cheat.name);
    }
    println!(
        "{} of {} wrong changes found, {} of {} honest ones called equivalent",
        right[0], asked[0], right[1], asked[1]
    );
    Ok(())
}
