//! `splatcore lab`: better kernels found automatically, and never a wrong one.

mod accept;
mod asker;
mod cheats;
mod check;
mod code;
mod device;
mod limits;
mod mcp;
mod model;
mod new;
mod noise;
mod opening;
mod pack;
mod profile;
mod replay_server;
mod report;
mod run;
pub mod sanitizer;
mod scenes;
#[cfg(test)]
mod starts_tests;
mod status;
mod time;
mod toolbox;
mod worker;

use anyhow::Result;
use clap::Subcommand;

/// Search for faster kernels, and judge changes of them.
///
/// A change is text of kernel files in place of the built-in text. It counts only if every gate
/// lets it pass: its images and gradients are those of the processor's backend on scenes that
/// nobody knew before, the emulator finds no race, and it is faster than the built-in kernels in
/// rounds that the two take turns in. Changed kernels run in processes of their own.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Begin an experiment
    New(new::Args),
    /// Search until a budget is spent, nothing is left to try, or Ctrl-C
    #[command(visible_alias = "resume")]
    Run(run::Args),
    /// On a card, judge and time the candidates that passed their gates without one
    Time(time::Args),
    /// Say where an experiment stands
    Status(status::Args),
    /// Serve an experiment to a coding agent, over the Model Context Protocol
    Mcp(mcp::Args),
    /// Say where the time of an experiment's frames goes, as models are told
    Profile(profile::Args),
    /// Answer chat completions from a recorded run, and fail on demand
    ReplayServer(replay_server::Args),
    /// Write a page about an experiment
    Report(report::Args),
    /// Make a patch of a candidate, if it may become a commit
    Accept(accept::Args),
    /// Pack a folder that goes on with an experiment on another machine
    Pack(pack::PackArgs),
    /// Take over what another machine added to an experiment
    Merge(pack::MergeArgs),
    /// Judge a folder of changed kernel files: every gate, then times
    Check(check::Args),
    /// Show that planted wrong changes are stopped, and honest ones are not
    Cheats(cheats::Args),
    /// Time an experiment's baseline against itself: how often is a verdict wrong
    Noise(noise::Args),
    /// What changed kernels run in; started by the other commands
    #[command(hide = true)]
    Worker(worker::Args),
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    match args.command {
        Command::New(args) => new::run(args),
        Command::Run(args) => run::run(args),
        Command::Time(args) => time::run(&args),
        Command::Status(args) => status::run(&args),
        Command::Mcp(args) => mcp::run(args),
        Command::Profile(args) => profile::run(&args),
        Command::ReplayServer(args) => replay_server::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Accept(args) => accept::run(args),
        Command::Pack(args) => pack::pack(&args),
        Command::Merge(args) => pack::merge(&args),
        Command::Check(args) => check::run(args),
        Command::Cheats(args) => cheats::run(args),
        Command::Noise(args) => noise::run(&args),
        Command::Worker(args) => worker::run(&args),
    }
}
