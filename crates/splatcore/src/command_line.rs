//! The command `splatcore`: what was typed goes to one file under `commands/` each; errors become
//! one line.

use crate::{commands, habits, help, output, program, ranks, remedy};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::Write;

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
    #[command(about = "Photos, a video or a dataset to a scene and a page, in one command")]
    Make(Box<commands::make::Args>),
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

/// Runs the command that the arguments name, the first of which is the program's name, and returns
/// the exit code: 0 done, 1 failed, 2 wrong usage. Some commands end the process by themselves (a
/// second Ctrl-C, a reader of stdout that went away).
///
/// `again` is what starts this command line in another process; if it is empty, the file of this
/// process does.
pub fn run(arguments: impl IntoIterator<Item = OsString>, again: Vec<OsString>) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    program::set(&arguments, again);
    program::raise_file_limit();
    if ranks::has_read() {
        return 0;
    }
    let _raised = ranks::Raised;
    let matches = arranged().try_get_matches_from(arguments);
    let cli = matches.and_then(|matches| {
        Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut arranged()))
    });
    let code = match cli {
        Ok(cli) => finish(dispatch(cli.command)),
        Err(error) => {
            let error = habits::explained(error, program::arguments().first().map(String::as_str));
            // Nobody is left to tell if this does not reach the terminal.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(2)
        }
    };
    // Only a Rust program does so at its end. A reader that went away has what it wanted.
    let _ = std::io::stdout().flush();
    code
}

/// The whole command line, with a first screen of help for each command.
pub fn arranged() -> clap::Command {
    help::arranged(Cli::command())
}

fn dispatch(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Make(args) => commands::make::run(*args),
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
        Command::Completions(args) => commands::completions::run(args, arranged()),
        Command::Man(args) => commands::completions::man(args, Cli::command()),
    }
}

/// Says what went wrong, in one line.
fn finish(result: anyhow::Result<()>) -> u8 {
    let Err(error) = result else {
        return 0;
    };
    let remedy = remedy::of(&error).map(|remedy| format!("; {remedy}"));
    let line = output::one_line(&error);
    eprintln!("error: {line}{}", remedy.unwrap_or_default());
    match error.is::<output::WrongUsage>() {
        true => 2,
        false => 1,
    }
}
