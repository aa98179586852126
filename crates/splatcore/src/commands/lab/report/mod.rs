//! `splatcore lab report`: a page about experiments.

mod experiment;
mod figures;

use super::accept::diff;
use super::toolbox::Build;
use crate::output;
use anyhow::{Context, Result};
use serde::Deserialize;
use splatcore_data::file::write_bytes;
use splatcore_lab::acceptance::Evidence;
use splatcore_lab::evaluate::Toolbox;
use splatcore_lab::experiment::{Experiment, Folder};
use splatcore_lab::figures::Source;
use splatcore_lab::journal::State;
use splatcore_lab::summary::Summary;
use splatcore_lab::{Id, Texts};
use splatcore_papers::page::document;
use std::fs;
use std::io::ErrorKind;
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

/// An experiment, read.
struct Read {
    experiment: Experiment,
    source: Source,
    /// The best candidate's changes, as a patch.
    changed: Option<String>,
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

fn read(path: &Path) -> Result<Read> {
    let folder = Folder::open(path)?;
    let entries = folder.journal.entries();
    let summary = Summary::of(entries);
    let state = State::replay(Texts::new(), entries, &folder.blobs)?;
    let changed = summary.best().and_then(|best| {
        let judged = state.history.find(&best.id)?;
        let build = Build::without_device().ok()?;
        Some(diff(build.kernels(), &judged.candidate.changed))
    });
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(Read {
        source: Source {
            name: name.to_string_lossy().into_owned(),
            pipeline: folder.experiment.task.pipeline.clone(),
            accepted: accepted(&path.join("winner"))?,
            summary,
        },
        experiment: folder.experiment,
        changed,
    })
}

/// What `lab accept` wrote beside a patch, as far as it is read here.
#[derive(Deserialize)]
struct Record {
    candidate: Named,
    evidence: Evidence,
}

#[derive(Deserialize)]
struct Named {
    id: Id,
}

fn accepted(winner: &Path) -> Result<Vec<(Id, Evidence)>> {
    let files = match fs::read_dir(winner) {
        Ok(files) => files,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error).with_context(|| winner.display().to_string()),
    };
    let mut found = Vec::new();
    for file in files {
        let path = file.with_context(|| winner.display().to_string())?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let said = || format!("{}: what `lab accept` writes", path.display());
        let text = fs::read_to_string(&path).with_context(said)?;
        let record: Record = serde_json::from_str(&text).with_context(said)?;
        found.push((record.candidate.id, record.evidence));
    }
    // A folder has no order of its own.
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}
