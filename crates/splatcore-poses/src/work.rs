//! The folder for files in the making.

use crate::{Observer, PosesError};
use splatcore_data::DataError;
use splatcore_data::lock::FolderLock;
use std::path::{Path, PathBuf};

/// A folder for files in the making, which is removed at the end, and a lock on the dataset.
pub struct Work {
    pub folder: PathBuf,
    _lock: FolderLock,
}

impl Work {
    pub fn begin(dataset: &Path, observer: &mut dyn Observer) -> Result<Self, PosesError> {
        let lock = FolderLock::take(dataset, "poses")?;
        if let Some(warning) = lock.warning() {
            observer.note(&format!("warning: {warning}"));
        }
        let folder = dataset.join(".splatcore.poses");
        std::fs::create_dir_all(&folder).map_err(|e| DataError::write(&folder, &e))?;
        // What a call left that was killed.
        for name in [
            "global",
            "incremental",
            "images",
            "panoramas",
            "adjusted",
            "adjusted.still",
        ] {
            let _ = std::fs::remove_dir_all(folder.join(name));
        }
        Ok(Self {
            folder,
            _lock: lock,
        })
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Puts a model in its place, in one step.
pub fn install(made: &Path, place: &Path, work: &Path) -> Result<(), PosesError> {
    let failed = |e: std::io::Error| PosesError::from(DataError::write(place, &e));
    if let Some(parent) = place.parent() {
        std::fs::create_dir_all(parent).map_err(failed)?;
    }
    if place.exists() {
        let mut old = work.join("old");
        // An older folder of that name would be a crash's.
        while old.exists() {
            old.as_mut_os_string().push("-");
        }
        std::fs::rename(place, &old).map_err(failed)?;
    }
    std::fs::rename(made, place).map_err(failed)
}
