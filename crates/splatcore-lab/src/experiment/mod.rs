//! An experiment's folder:
//!
//! ```text
//! EXP/experiment.toml   what is searched, on what, within which budget; never changed by a run
//!     journal.jsonl     what happened
//!     blobs/            texts, by their digests
//! ```

mod settings;

pub use settings::{Budget, Experiment, Scene, Scenes, Task, Workload};

use crate::journal::{self, Blobs, Entry, Journal, JournalError};
use std::fs;
use std::io::ErrorKind;
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
    /// There is no experiment.
    #[error("{0} holds no experiment; begin one with `splatcore lab new`")]
    None(PathBuf),
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
const JOURNAL: &str = "journal.jsonl";
const BLOBS: &str = "blobs";

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
        let file = path.join(SETTINGS);
        experiment
            .check()
            .map_err(|what| ExperimentError::Settings {
                path: file.clone(),
                what,
            })?;
        fs::create_dir_all(path).map_err(failed)?;
        if fs::read_dir(path).map_err(failed)?.next().is_some() {
            return Err(ExperimentError::NotEmpty(path.to_owned()));
        }
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
        let experiment = settings_of(path)?;
        Ok(Self {
            journal: Journal::open(&path.join(JOURNAL))?,
            blobs: Blobs::new(path.join(BLOBS)),
            path: path.to_owned(),
            experiment,
        })
    }
}

/// An experiment as it stands, for those who only look: a run may be writing it.
#[derive(Debug)]
pub struct Record {
    /// What is searched.
    pub experiment: Experiment,
    /// What happened so far.
    pub entries: Vec<Entry>,
    /// Texts.
    pub blobs: Blobs,
}

impl Record {
    /// Reads a folder and changes nothing in it.
    ///
    /// # Errors
    /// As [`Folder::open`], but for a run that has it open.
    pub fn read(path: &Path) -> Result<Self, ExperimentError> {
        Ok(Self {
            experiment: settings_of(path)?,
            entries: journal::entries(&path.join(JOURNAL))?,
            blobs: Blobs::new(path.join(BLOBS)),
        })
    }
}

fn settings_of(path: &Path) -> Result<Experiment, ExperimentError> {
    let file = path.join(SETTINGS);
    let text = fs::read_to_string(&file).map_err(|error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => ExperimentError::None(path.to_owned()),
        _ => ExperimentError::Io {
            path: file.clone(),
            error,
        },
    })?;
    let wrong = |what: String| ExperimentError::Settings {
        path: file.clone(),
        what,
    };
    // Without the line that is quoted otherwise: somebody may have written a key into it.
    let experiment: Experiment = toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(0, |before| before.matches('\n').count()) + 1;
        let what = error.message().split_whitespace().collect::<Vec<_>>();
        wrong(format!("line {line}: {}", what.join(" ")))
    })?;
    experiment.check().map_err(wrong)?;
    Ok(experiment)
}
