//! `splatcore lab report`: a page about experiments.

mod experiment;
mod figures;
mod read;

use crate::output;
use anyhow::Result;
use read::{Read, read};
use splatcore_data::file::write_bytes;
use splatcore_lab::figures::Source;
use splatcore_papers::page::document;
use std::path::{Path, PathBuf};

/// Write a page about an experiment, or several: what became of every candidate and every advice,
/// the best one's changes, and figures 9 to 13 and table IV of Hu & Zhou 2025 from the journals.
///
/// Figures that compare ways of searching, seeds or cards need the experiments of all of them.
#[derive(clap::Args)]
pub struct Args {
    /// Folders of experiments
    #[arg(required = true, value_name = "EXP")]
    folders: Vec<PathBuf>,
    /// Write here [report.html in the first folder]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let all = args.folders.iter().map(|folder| read(folder));
    let all = all.collect::<Result<Vec<Read>>>()?;
    let file = args.output.clone().unwrap_or_else(|| {
        let first = args.folders.first().map(PathBuf::as_path);
        first.unwrap_or(Path::new(".")).join("report.html")
    });
    write_bytes(&file, page(&all).as_bytes())?;
    output::print(&file.display().to_string())
}

fn page(all: &[Read]) -> String {
    let sources: Vec<Source> = all.iter().map(|read| read.source.clone()).collect();
    let names: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
    let mut body: String = all.iter().map(experiment::section).collect();
    body += &figures::section(&sources);
    document(&names.join(", "), &body)
}
