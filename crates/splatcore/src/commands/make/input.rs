//! What the input is.

use anyhow::Result;
use splatcore_core::Choice;
use splatcore_data::dataset::{Dataset, OpenOptions, is_file_of_cameras};
use std::path::Path;

/// What the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A dataset whose cameras are known.
    Posed,
    /// A folder of photos.
    Photos,
    /// A video.
    Video,
}

/// Tells what an input is.
///
/// # Errors
/// It is nothing that can be trained on: a dataset that is broken, or a path that leads nowhere.
pub fn tell(path: &Path, images: Option<&str>) -> Result<Kind> {
    let options = OpenOptions {
        images: images.map(str::to_owned),
        ..OpenOptions::default()
    };
    if path.is_file() && !is_file_of_cameras(path) {
        return Ok(Kind::Video);
    }
    match Dataset::open(path, &options) {
        Ok(_) => Ok(Kind::Posed),
        Err(error) if error.depends_on == Some(Choice::Poses) => Ok(match path.is_file() {
            true => Kind::Video,
            false => Kind::Photos,
        }),
        Err(error) => Err(error.into()),
    }
}
