//! Writes a scene in the format that the file's name tells.

use super::format::Format;
use super::ply;
use super::rows::Rows;
use super::sog::{self, SogOptions};
use crate::DataError;
use std::path::Path;

/// What to write beside the Gaussians, and how. Each format takes what concerns it.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// The scene is to be rendered with Mip-Splatting's 2D filter.
    pub antialiased: bool,
    /// How SOG is written.
    pub sog: SogOptions,
}

/// What became of a scene in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Size of the file; of a folder all its files.
    pub bytes: u64,
    /// What the format could not keep, a line each: "12 means lie outside SPZ's range and were
    /// clamped".
    pub notes: Vec<String>,
}

/// Is told what is being done, how much of it is done, and how much there is to do.
pub type Progress<'a> = &'a (dyn Fn(&str, u64, u64) + Sync);

/// Writes a scene; the name tells the format ([`Format::of_output`]). Gaussians are taken in
/// pieces, in their order, except where a format wants one of its own. An existing file is
/// replaced once the new one is complete.
///
/// # Errors
/// If the name tells no format, the format cannot hold the scene, or the file cannot be written;
/// then nothing is left under the name but what was there before.
pub fn write(
    path: &Path,
    rows: &dyn Rows,
    options: &WriteOptions,
    progress: Progress,
) -> Result<Written, DataError> {
    match Format::of_output(path)? {
        Format::Ply => ply::write(path, rows, options, progress),
        Format::Sog => sog::write(path, rows, options, progress),
        Format::SogFolder => sog::write_folder(path, rows, options, progress),
        Format::StreamedSog => sog::write_streamed(path, rows, options, progress),
        _ => {
            let problem = "is in a format that is not written";
            Err(DataError::new(path, problem, "write a .ply"))
        }
    }
}

/// The size of a file just written.
pub(super) fn size_of(path: &Path) -> Result<u64, DataError> {
    let metadata = std::fs::metadata(path).map_err(|error| DataError::read(path, &error))?;
    Ok(metadata.len())
}
