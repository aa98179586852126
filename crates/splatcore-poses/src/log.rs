//! What programs said: the file `poses.log` of a dataset.

use crate::PosesError;
use splatcore_data::DataError;
use std::fs::{File, OpenOptions};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// The log of a dataset, to be added to.
///
/// # Errors
/// It cannot be opened.
pub fn of(dataset: &Path) -> Result<(PathBuf, BufWriter<File>), PosesError> {
    let path = dataset.join("poses.log");
    let log = OpenOptions::new().create(true).append(true).open(&path);
    let log = log.map_err(|e| DataError::write(&path, &e))?;
    Ok((path, BufWriter::new(log)))
}
