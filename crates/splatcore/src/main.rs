//! The command `splatcore`: what was typed goes to one file under `commands/` each; errors become
//! one line.

mod backends;
mod cameras;
mod channels;
mod commands;
mod interrupt;
mod load;
mod orbit;
mod output;
mod progress;
mod remedy;
mod report;
mod run;
mod sharing;
mod viewing;

use clap::{CommandFactory, Parser, Subcommand};
use std::process::ExitCode;

/// Photos in, Gaussian splats out.
///
/// Results go to stdout, progress and messages to stderr. Exit codes: 0 done, 1 failed, 2 wrong
/// usage.
#[derive(Parser)]
#[command(
    name = "splatcore",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Turn posed photos into a scene of Gaussians
    Train(Box<commands::train::Args>),
    /// Find the cameras of photos or of a video: a dataset for `train`
    Poses(commands::poses::Args),
    /// Measure a scene against photos: PSNR and SSIM
    Eval(commands::eval::Args),
    /// Render a scene to PNG files or a video
    Render(Box<commands::render::Args>),
    #[command(about = "Time the stages of rendering, for one or more pipelines")]
    Bench(commands::bench::Args),
    #[command(about = "Look at a scene or a dataset in a browser")]
    View(commands::view::Args),
    #[command(about = "Write a scene as one HTML page that anyone can open")]
    Export(commands::export::Args),
    #[command(about = "Compare finished runs on one page")]
    Report(commands::report::Args),
    /// Say what a scene file or a dataset holds
    Info(commands::info::Args),
    #[command(about = "Write scenes in another format, edited")]
    Convert(commands::convert::Args),
    #[command(about = "Make a scene smaller: keep the Gaussians that photos show most")]
    Prune(commands::prune::Args),
    /// Make a small dataset, train on it, show the result: the whole way in a few minutes
    Demo(commands::demo::Args),
    #[command(about = "Search for faster kernels, and judge changes of them")]
    Lab(commands::lab::Args),
    /// Say what this machine and this build can do, and check that they compute correctly
    Doctor(commands::doctor::Args),
    /// Print a completion script for a shell
    ///
    /// For bash: splatcore completions bash >
    /// ~/.local/share/bash-completion/completions/splatcore
    Completions(commands::completions::Args),
    /// Write manual pages, one for the program and one for each command
    ///
    /// For example: splatcore man ~/.local/share/man/man1
    Man(commands::completions::ManArgs),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Train(args) => commands::train::run(*args),
        Command::Poses(args) => commands::poses::run(args),
        Command::Eval(args) => commands::eval::run(args),
        Command::Render(args) => commands::render::run(*args),
        Command::Bench(args) => commands::bench::run(args),
        Command::View(args) => commands::view::run(args),
        Command::Export(args) => commands::export::run(args),
        Command::Report(args) => commands::report::run(args),
        Command::Info(args) => commands::info::run(args),
        Command::Convert(args) => commands::convert::run(args),
        Command::Prune(args) => commands::prune::run(args),
        Command::Demo(args) => commands::demo::run(args),
        Command::Lab(args) => commands::lab::run(args),
        Command::Doctor(args) => commands::doctor::run(args),
        Command::Completions(args) => commands::completions::run(args, Cli::command()),
        Command::Man(args) => commands::completions::man(args, Cli::command()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let remedy = remedy::of(&error).map(|remedy| format!("; {remedy}"));
            let line = output::one_line(&error);
            eprintln!("error: {line}{}", remedy.unwrap_or_default());
            match error.is::<output::WrongUsage>() {
                true => ExitCode::from(2),
                false => ExitCode::FAILURE,
            }
        }
    }
}
