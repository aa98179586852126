//! What was asked for.

use super::input::Kind;
use crate::run::Files;
use anyhow::{Context, Result};
use splatcore_data::dataset::ReadoutTime;
use splatcore_train::Config;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// What was asked for.
pub struct Asked {
    /// Photos, a video or a dataset.
    pub input: PathBuf,
    /// What that is.
    pub kind: Kind,
    /// Folder for all results.
    pub folder: PathBuf,
    /// Folder of a dataset's photos in place of `images`.
    pub images: Option<String>,
    /// Turn the scene upright.
    pub upright: bool,
    /// Make anew what does not fit.
    pub overwrite: bool,
    /// Which card computes.
    pub device: Option<usize>,
    /// The settings of training that were typed.
    pub typed: Config,
    /// The command that goes on.
    pub again: String,
    /// When the command began.
    pub begun: Instant,
}

impl Asked {
    /// The folder of the training run.
    pub fn run_folder(&self) -> PathBuf {
        self.folder.join("run")
    }

    /// The page.
    pub fn page(&self) -> PathBuf {
        self.folder.join("page.html")
    }

    /// Where the photos with cameras are, or will be.
    pub fn dataset(&self) -> PathBuf {
        match self.kind {
            Kind::Posed => self.input.clone(),
            Kind::Photos | Kind::Video => self.folder.join("dataset"),
        }
    }

    /// How cameras read their photos, if that was typed.
    pub fn readout(&self) -> Option<ReadoutTime> {
        self.typed.complete().readout()
    }

    /// Removes page and run, as far as they are there.
    pub fn remove_run(&self) -> Result<()> {
        remove_file(&self.page())?;
        Files::of(&self.run_folder()).remove()
    }
}

/// Removes a file if it is there.
fn remove_file(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{}: cannot be replaced", path.display()))
        }
        _ => Ok(()),
    }
}
