//! `splatcore lab time`: a card for a few minutes, for candidates that were prepared without one.

use super::device::DeviceArgs;
use super::limits::LimitArgs;
use super::opening::{Opening, Past, settings};
use super::run::Lines;
use super::scenes;
use crate::interrupt;
use anyhow::{Result, bail};
use splatcore_lab::campaign::{Batch, Found, Session, waiting};
use splatcore_lab::evaluate::{Broken, Evaluator, Look, Toolbox};
use splatcore_lab::experiment::{Budget, Folder};
use splatcore_lab::journal::Opened;
use splatcore_lab::{Candidate, Texts};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

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
    #[command(flatten)]
    limits: LimitArgs,
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
    let guard = interrupt::Guard::start_searching()?;
    let mut watch = Lines { guard: &guard };
    let (start, mut limits) = (Instant::now(), args.limits.budget(u64::MAX));
    let looked = look(
        &opening,
        &mut folder,
        (&baseline, limits),
        args.jobs,
        &watch,
    )?;
    limits.device_seconds -= looked;
    limits.wall_seconds -= start.elapsed().as_secs_f64();
    let most = args.verdicts.min(waiting);
    if most > 0 && !interrupt::stop_requested() {
        let counts = [most, args.jobs.get()];
        println!(
            "{}",
            verdicts(
                &opening,
                &mut folder,
                (baseline, limits),
                counts,
                &mut watch
            )?
        );
    }
    super::status::print(folder.journal.entries())
}

/// Looks at the times of what waits; returns the seconds of the device. The session says nothing of
/// settings, since the baseline's own gates are not run.
fn look(
    opening: &Opening,
    folder: &mut Folder,
    (baseline, limits): (&Texts, Budget),
    jobs: NonZeroUsize,
    watch: &Lines<'_>,
) -> Result<f64> {
    let experiment = folder.experiment.clone();
    let settings = settings(&opening.build, &experiment, vec![])?;
    let scenes = scenes::read(&experiment.scenes.search, settings.pipeline)?;
    let (build, training) = (&opening.build, settings.training);
    let mut look = Look::start(build, settings.limits, &scenes, training, settings.seed)?;
    let opened = Opened {
        settings: None,
        ..opening.opened(&experiment, look.sandbox())
    };
    let mut session = Session::open(folder, opened, baseline.clone())?.within(limits);
    let before = session.state().device_seconds;
    let looked = session.look(&mut look, jobs, &mut tell, watch);
    let seconds = session.state().device_seconds - before;
    session.close(match &looked {
        Ok(()) => "what waits was looked at".into(),
        Err(error) => error.to_string(),
    })?;
    looked?;
    Ok(seconds)
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
    folder: &mut Folder,
    (baseline, limits): (Texts, Budget),
    [most, jobs]: [usize; 2],
    watch: &mut Lines<'_>,
) -> Result<String> {
    let past = &Past::of(folder)?;
    let (batch, (sender, found)) = (Batch::default(), channel());
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(most) {
            let (sender, batch) = (sender.clone(), &batch);
            scope.spawn(move || take_part(opening, past, batch, &sender));
        }
        drop(sender);
        let judged = || -> Result<String> {
            let mut evaluator = opening.evaluator(past)?;
            let opened = opening.opened(&past.experiment, &evaluator.sandbox());
            let mut session = Session::open(folder, opened, baseline)?.within(limits);
            let ended = session
                .begin(&mut evaluator, watch)
                .and_then(|()| session.time(most, &batch, &found, watch));
            session.close(match &ended {
                Ok(reason) => reason.clone(),
                Err(error) => error.to_string(),
            })?;
            Ok(ended?)
        };
        let judged = judged();
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
