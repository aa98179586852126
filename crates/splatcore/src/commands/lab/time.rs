//! `splatcore lab time`: a card for a few minutes, for candidates that were prepared without one.

use super::device::DeviceArgs;
use super::new::seconds;
use super::opening::{Opening, Past, settings};
use super::run::Lines;
use super::scenes;
use crate::interrupt;
use anyhow::{Result, bail};
use splatcore_lab::Candidate;
use splatcore_lab::campaign::{Batch, Found, Session, waiting};
use splatcore_lab::evaluate::{Broken, Look, Toolbox};
use splatcore_lab::experiment::{Budget, Folder};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

/// On a card, judge and time the candidates that passed their gates without one.
///
/// `lab run --on emulator` and `lab mcp --on emulator` make candidates that are "passed, not
/// timed". This command first looks at the times of all of them, about a second each. Then it gives
/// verdicts, with all gates, the fastest candidate first. Races count as looked for, since the
/// emulator has looked; compute-sanitizer looks at candidates that are the fastest so far.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
    /// Give a verdict to so many, the fastest at the first look [all]
    #[arg(long, value_name = "N", default_value_t = usize::MAX, hide_default_value = true)]
    verdicts: usize,
    /// Candidates that are looked at, or judged, side by side: each takes memory of the card; times
    /// are taken in turns
    #[arg(long, value_name = "N", default_value = "4")]
    jobs: NonZeroUsize,
    /// End after so many seconds of the device; the next call goes on
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    #[arg(value_parser = seconds, hide_default_value = true)]
    device_seconds: f64,
    /// End after so many seconds of the clock; the next call goes on
    #[arg(long, value_name = "SECONDS", default_value_t = f64::INFINITY)]
    #[arg(value_parser = seconds, hide_default_value = true)]
    wall_seconds: f64,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let mut folder = Folder::open(&args.folder)?;
    let experiment = folder.experiment.clone();
    let opening = Opening::new(&args.device, &experiment)?;
    opening.check_journal(&folder)?;
    let baseline = opening.baseline(&experiment)?;
    if opening.build.turns().is_none() {
        bail!("times need a card, and kernels run on the emulator here");
    }
    if experiment.scenes.search.is_empty() {
        bail!(
            "{} has no scene to time on; begin an experiment with --scene",
            args.folder.display()
        );
    }
    let past = Past::of(&folder)?;
    let waiting = waiting(&past.state).len();
    if waiting == 0 {
        println!("no candidate waits for its time");
        return super::status::print(folder.journal.entries());
    }
    super::profile::kept(&opening.build, &experiment, &args.folder)?;
    let limits = Budget {
        candidates: u64::MAX,
        device_seconds: args.device_seconds,
        wall_seconds: args.wall_seconds,
    };
    let guard = interrupt::Guard::start_searching()?;
    let mut watch = Lines { guard: &guard };
    let settings = settings(&opening.build, &experiment, vec![])?;
    let scenes = scenes::read(&experiment.scenes.search, settings.pipeline)?;
    let (build, training) = (&opening.build, settings.training);
    let mut look = Look::start(build, settings.limits, &scenes, training, settings.seed)?;
    let opened = opening.opened(&experiment, look.sandbox());
    let mut session = Session::open(&mut folder, opened, baseline)?.within(limits);
    let looked = session.look(&mut look, args.jobs, &mut tell, &watch);
    drop(look);
    let most = args.verdicts.min(waiting);
    let ended = match looked {
        Ok(()) if most > 0 => verdicts(
            &opening,
            &past,
            &mut session,
            [most, args.jobs.get()],
            &mut watch,
        ),
        Ok(()) => Ok(format!("{waiting} candidates were looked at")),
        Err(error) => Err(error.into()),
    };
    session.close(match &ended {
        Ok(reason) => reason.clone(),
        Err(error) => format!("{error:#}"),
    })?;
    println!("{}", ended?);
    super::status::print(folder.journal.entries())
}

fn tell(candidate: &Candidate, ratio: Option<f64>) {
    let (id, about) = (candidate.id(), candidate.described());
    match ratio {
        Some(ratio) => eprintln!("{ratio:.4} {id}  {about}"),
        None => eprintln!("failed {id}  {about}"),
    }
}

/// Judges the first `most` candidates, some side by side.
fn verdicts(
    opening: &Opening,
    past: &Past,
    session: &mut Session<'_>,
    [most, jobs]: [usize; 2],
    watch: &mut Lines<'_>,
) -> Result<String> {
    let (batch, (sender, found)) = (Batch::default(), channel());
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(most) {
            let (sender, batch) = (sender.clone(), &batch);
            scope.spawn(move || take_part(opening, past, batch, &sender));
        }
        drop(sender);
        let judged = opening.evaluator(past).and_then(|mut evaluator| {
            session.begin(&mut evaluator, watch)?;
            Ok(session.time(most, &batch, &found, watch)?)
        });
        batch.end();
        judged
    })
}

/// Judges candidates of a batch in this thread, with an evaluator of its own.
fn take_part(opening: &Opening, past: &Past, batch: &Batch, found: &Sender<Found>) {
    match opening.evaluator(past) {
        Ok(mut evaluator) => batch.work(&mut evaluator, found),
        Err(error) => {
            // A batch that is over needs nobody.
            let _ = found.send(Err(Broken(format!("{error:#}"))));
        }
    }
}
