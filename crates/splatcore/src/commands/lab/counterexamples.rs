//! Counterexamples of a second model: each becomes a test of the runs that follow.

use anyhow::{Context, Result};
use splatcore_lab::gates::result::Wanted;
use splatcore_lab::llm::checker::Counterexample;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// One JSON object a line.
const FILE: &str = "counterexamples.jsonl";

/// Keeps a counterexample.
///
/// # Errors
/// If the file cannot be written.
pub fn keep(folder: &Path, example: &Counterexample) -> Result<()> {
    let path = folder.join(FILE);
    let line = serde_json::to_string(example)?;
    let write = || -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        let mut file = options.create(true).append(true).open(&path)?;
        file.write_all(format!("{line}\n").as_bytes())?;
        file.sync_data()
    };
    write().with_context(|| path.display().to_string())
}

/// The tests that an experiment's counterexamples make.
///
/// # Errors
/// If the file cannot be read.
pub fn read(folder: &Path) -> Result<Vec<Wanted>> {
    let path = folder.join(FILE);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(vec![]),
        Err(error) => return Err(error).with_context(|| path.display().to_string()),
    };
    // A line that was cut off by a kill is no counterexample.
    let examples = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(examples.map(wanted).collect())
}

fn wanted(example: Counterexample) -> Wanted {
    Wanted {
        name: example.text,
        size: example.width.zip(example.height).map(|(w, h)| [w, h]),
        gaussians: example.gaussians.map(|n| n as usize),
        opacity: example.opacity,
        background: example.background,
    }
}
