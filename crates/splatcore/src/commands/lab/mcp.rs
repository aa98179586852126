//! `splatcore lab mcp`: an experiment at the service of a coding agent.

use super::device::DeviceArgs;
use super::opening::{Opening, Past};
use super::run::Lines;
use crate::interrupt;
use anyhow::Result;
use splatcore_lab::campaign::Session;
use splatcore_lab::evaluate::Evaluator;
use splatcore_lab::experiment::Folder;
use splatcore_lab::mcp::{Desk, serve};
use std::io::{stdin, stdout};
use std::path::PathBuf;

/// Serve an experiment over the Model Context Protocol, on stdin and stdout: a coding agent can
/// read the kernels, propose changes and be judged.
///
/// In the agent's settings, the command is `splatcore lab mcp EXP`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
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
    let profile = super::profile::kept(&opening.build, &experiment, &args.folder)?;
    let mut evaluator = opening.evaluator(&Past::of(&folder)?)?;
    let opened = opening.opened(&experiment, &evaluator.sandbox());
    let guard = interrupt::Guard::start_searching()?;
    let mut watch = Lines { guard: &guard };
    let mut session = Session::open(&mut folder, opened, baseline)?;
    session.begin(&mut evaluator, &mut watch)?;
    let profile = splatcore_lab::profile::to_markdown(&profile);
    let mut desk = Desk::new(&mut session, &mut evaluator, &mut watch, profile);
    serve(&mut desk, stdin().lock(), stdout().lock())?;
    session.close("the client went".into())?;
    Ok(())
}
