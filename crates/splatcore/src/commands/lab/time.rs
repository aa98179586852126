//! `splatcore lab time`: a card for a few minutes, for candidates that were prepared without one.

use super::device::DeviceArgs;
use super::new::seconds;
use super::opening::{Opening, Past};
use super::run::Lines;
use crate::interrupt;
use anyhow::{Result, bail};
use splatcore_lab::campaign::{Batch, CampaignError, Found, Session, waiting};
use splatcore_lab::evaluate::{Broken, Toolbox};
use splatcore_lab::experiment::{Budget, Folder};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

/// On a card, judge and time the candidates that passed their gates without one.
///
/// `lab run --on emulator` and `lab mcp --on emulator` make candidates that are "passed, not
/// timed". This command gives each of them its verdict, in one go. Races count as looked for, since
/// the emulator has looked; compute-sanitizer looks at candidates that are the fastest so far.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
    /// Candidates that are looked at side by side; times are taken in turns
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
    let jobs = args.jobs.get().min(waiting(&past.state).len());
    if jobs == 0 {
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
    let (batch, (sender, found)) = (Batch::default(), channel());
    let ended = std::thread::scope(|scope| {
        for _ in 0..jobs {
            let sender = sender.clone();
            scope.spawn(|| take_part(&opening, &past, &batch, sender));
        }
        drop(sender);
        let session = || -> Result<String> {
            let mut evaluator = opening.evaluator(&past)?;
            let opened = opening.opened(&experiment, &evaluator);
            let mut session = Session::open(&mut folder, opened, baseline)?.within(limits);
            let ended = session
                .begin(&mut evaluator, &mut watch)
                .and_then(|()| session.time(&batch, &found, &mut watch));
            session.close(said(&ended))?;
            Ok(ended?)
        };
        let ended = session();
        batch.end();
        ended
    });
    println!("{}", ended?);
    super::status::print(folder.journal.entries())
}

fn said(ended: &Result<String, CampaignError>) -> String {
    match ended {
        Ok(reason) => reason.clone(),
        Err(error) => error.to_string(),
    }
}

/// Judges candidates of a batch in this thread, with an evaluator of its own.
fn take_part(opening: &Opening, past: &Past, batch: &Batch, found: Sender<Found>) {
    match opening.evaluator(past) {
        Ok(mut evaluator) => batch.work(&mut evaluator, &found),
        Err(error) => {
            // A batch that is over needs nobody.
            let _ = found.send(Err(Broken(format!("{error:#}"))));
        }
    }
}
