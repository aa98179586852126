//! `splatcore completions` and `splatcore man`: files for packagers and shells, made from the
//! command line's own definition.

use crate::output;
use anyhow::{Context, Result};
use clap_complete::Shell;
use clap_mangen::Man;
use splatcore_data::file;
use std::path::{Path, PathBuf};

/// Which script to print.
#[derive(clap::Args)]
pub struct Args {
    /// Which shell reads it
    shell: Shell,
}

/// Where pages go.
#[derive(clap::Args)]
pub struct ManArgs {
    /// Folder for splatcore.1, splatcore-train.1 and so on; files of these names are replaced
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Runs `completions`. `command` is the whole command line.
pub fn run(args: Args, mut command: clap::Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "splatcore", &mut script);
    output::print(String::from_utf8(script)?.trim_end())
}

/// Runs `man`. `command` is the whole command line.
pub fn man(args: ManArgs, command: clap::Command) -> Result<()> {
    // Every page would list a page about `help`, which there is none.
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let written = write_pages(&args.folder, &command)?;
    output::print(&format!(
        "{} in {}",
        output::counted(written, "manual page"),
        args.folder.display()
    ))
}

/// The page of a command and those of the commands below it. Returns how many there are.
fn write_pages(folder: &Path, command: &clap::Command) -> Result<usize> {
    let page = Man::new(command.clone())
        .source(concat!("splatcore ", env!("CARGO_PKG_VERSION")))
        .manual("splatcore manual");
    let path = folder.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text)
        .with_context(|| path.display().to_string())?;
    file::write_bytes(&path, &text)?;
    let mut written = 1;
    for below in command.get_subcommands().filter(|c| !c.is_hide_set()) {
        written += write_pages(folder, below)?;
    }
    Ok(written)
}
