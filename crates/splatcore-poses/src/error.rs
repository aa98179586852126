//! The one error of this crate.

use splatcore_data::DataError;
use std::path::PathBuf;

/// Why no poses were found. Prints as one line.
#[derive(Debug, thiserror::Error)]
pub enum PosesError {
    /// A file or folder that cannot be read, written or used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Neither COLMAP nor pycolmap is there.
    #[error("{looked}; install one of them: {how}")]
    NoProgram {
        /// Where was looked, and what was found there.
        looked: String,
        /// How to install one, on every system.
        how: &'static str,
    },
    /// A program that was named, or that is needed, cannot be used.
    #[error("{}: {problem}", program.display())]
    Program {
        /// The program's file or name.
        program: PathBuf,
        /// What is wrong, and what to do.
        problem: String,
    },
    /// A step's program ended with an error.
    #[error("{step} failed ({status}): {said}; all that it said is in {}", log.display())]
    Step {
        /// The step, for example `matching`.
        step: &'static str,
        /// How the program ended.
        status: String,
        /// The line that looks most like the reason.
        said: String,
        /// The log of all steps.
        log: PathBuf,
    },
    /// The folder holds poses of something else.
    #[error("{}: {problem}", dataset.display())]
    Occupied {
        /// The dataset's folder.
        dataset: PathBuf,
        /// What it holds.
        problem: String,
    },
    /// Choices that do not go together.
    #[error("{0}")]
    Choices(String),
    /// The caller asked for a stop. What was done is kept; the same call goes on.
    #[error(
        "stopped; what was done is kept in {}{}",
        dataset.display(),
        repeated.map_or(String::new(), |step| format!(", but {step} begins anew"))
    )]
    Stopped {
        /// The dataset's folder.
        dataset: PathBuf,
        /// What keeps nothing of what it did, and begins anew.
        repeated: Option<&'static str>,
    },
    /// The photos have too little in common: no model came out.
    #[error(
        "{}: no two photos could be placed, {hint}; the log is {}",
        dataset.display(),
        log.display()
    )]
    NoModel {
        /// The dataset's folder.
        dataset: PathBuf,
        /// What to photograph.
        hint: &'static str,
        /// The log of all steps.
        log: PathBuf,
    },
}
