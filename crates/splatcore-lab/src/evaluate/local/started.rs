//! Workers that run.

use super::stop::Stop;
use crate::candidate::Texts;
use crate::evaluate::Broken;
use crate::worker::Child;

/// A worker and the folder of its kernels, if it has some of its own.
pub(super) struct Started {
    /// The worker.
    pub child: Child,
    /// Its kernels, until it ends.
    pub _folder: Option<tempfile::TempDir>,
}

impl Started {
    /// One with the built-in kernels.
    pub fn without_files(child: Child) -> Self {
        Self {
            child,
            _folder: None,
        }
    }
}

/// A folder with the texts that take the place of built-in ones.
pub(super) fn kernel_folder(changed: &Texts) -> Result<tempfile::TempDir, Stop> {
    let write = || -> std::io::Result<tempfile::TempDir> {
        let folder = tempfile::tempdir()?;
        for (name, text) in changed {
            std::fs::write(folder.path().join(name), text)?;
        }
        Ok(folder)
    };
    write().map_err(|error| Stop::Broken(Broken(format!("a folder for kernels: {error}"))))
}
