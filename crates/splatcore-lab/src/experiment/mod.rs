//! An experiment's folder:
//!
//! ```text
//! EXP/experiment.toml   what is searched, on what, within which budget; never changed by a run
//!     journal.jsonl     what happened
//!     blobs/            texts, by their digests
//! ```

mod settings;

pub use settings::{Budget, Experiment, Scene, Scenes, Task, Workload};

use crate::journal::{Blobs, Journal, JournalError};
use std::fs;
use std::path::{Path, PathBuf};

/// Why an experiment cannot be used: one line with the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file system refused.
    #[error("{path}: {error}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The folder holds something.
    #[error("{0} is not empty; give a new folder, or go on with `lab resume`")]
    NotEmpty(PathBuf),
    /// The settings cannot be read.
    #[error("{path}: {what}")]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// An experiment on disk.
#[derive(Debug)]
pub struct Folder {
    /// Where it is.
    pub path: PathBuf,
    /// What is searched.
    pub experiment: Experiment,
    /// What happened.
    pub journal: Journal,
    /// Texts.
    pub blobs: Blobs,
}

const SETTINGS: &str = "experiment.toml";

impl Folder {
    /// Makes a new folder.
    ///
    /// # Errors
    /// If it holds something or cannot be written.
    pub fn create(path: &Path, experiment: &Experiment) -> Result<Self, ExperimentError> {
        let failed = |error| ExperimentError::Io {
            path: path.to_owned(),
            error,
        };
        fs::create_dir_all(path).map_err(failed)?;
        if fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(ExperimentError::NotEmpty(path.to_owned()));
        }
        let file = path.join(SETTINGS);
        let text = toml::to_string(experiment).map_err(|error| ExperimentError::Settings {
            path: file.clone(),
            what: error.to_string(),
        })?;
        fs::write(&file, text).map_err(failed)?;
        Self::open(path)
    }

    /// Opens a folder. One process has it open at a time.
    ///
    /// # Errors
    /// If it is no experiment, its settings have errors, or its journal cannot be used.
    pub fn open(path: &Path) -> Result<Self, ExperimentError> {
        let file = path.join(SETTINGS);
        let text = fs::read_to_string(&file).map_err(|error| ExperimentError::Io {
            path: file.clone(),
            error,
        })?;
        let experiment: Experiment =
            toml::from_str(&text).map_err(|error| ExperimentError::Settings {
                path: file.clone(),
                what: error.to_string(),
            })?;
        Ok(Self {
            journal: Journal::open(&path.join("journal.jsonl"))?,
            blobs: Blobs::new(path.join("blobs")),
            path: path.to_owned(),
            experiment,
        })
    }
}
