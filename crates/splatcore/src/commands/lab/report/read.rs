//! An experiment's folder, read for a page.

use crate::commands::lab::accept::diff;
use crate::commands::lab::toolbox::Build;
use anyhow::{Context, Result};
use serde::Deserialize;
use splatcore_lab::acceptance::Evidence;
use splatcore_lab::evaluate::Toolbox;
use splatcore_lab::experiment::{self, Experiment};
use splatcore_lab::figures::Source;
use splatcore_lab::journal::State;
use splatcore_lab::summary::Summary;
use splatcore_lab::{Id, Texts};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// An experiment.
pub(super) struct Read {
    /// What is searched.
    pub experiment: Experiment,
    /// What its journal says.
    pub source: Source,
    /// The best candidate's changes, as a patch.
    pub changed: Option<String>,
}

/// Reads a folder.
///
/// # Errors
/// If it is no experiment, or a file cannot be read.
pub(super) fn read(path: &Path) -> Result<Read> {
    let record = experiment::Record::read(path)?;
    let summary = Summary::of(&record.entries);
    let state = State::replay(Texts::new(), &record.entries, &record.blobs)?;
    let changed = summary.best().and_then(|best| {
        let judged = state.history.find(&best.id)?;
        let task = &record.experiment.task;
        let build = Build::without_device().ok()?.starting(task).ok()?;
        Some(diff(build.kernels(), task, &judged.candidate.changed))
    });
    let name = path.file_name().unwrap_or(path.as_os_str());
    Ok(Read {
        source: Source {
            name: name.to_string_lossy().into_owned(),
            pipeline: record.experiment.task.pipeline.clone(),
            accepted: accepted(&path.join("winner"))?,
            summary,
        },
        experiment: record.experiment,
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
