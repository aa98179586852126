//! Opens a scene whose Gaussians may stay in the file.

use super::ply;
use super::read::{ReadOptions, parse_with, read_with};
use super::scene_file::OpenScene;
use super::source;
use crate::DataError;
use std::path::Path;

/// Opens a scene file. Of a plain binary PLY, the one format whose files are large, the Gaussians
/// stay in the file (which is mapped, and must not change meanwhile); other formats are read into
/// memory, as [`super::read`] does. `sh_degree_limit` does not concern what stays in the file.
///
/// # Errors
/// As [`super::read`].
pub fn open(path: &Path, options: &ReadOptions) -> Result<OpenScene, DataError> {
    if path.is_dir() {
        return Ok(read_with(path, options)?.into());
    }
    let content = source::open(path)?;
    if !content.starts_with(b"ply") {
        drop(content);
        return Ok(read_with(path, options)?.into());
    }
    match ply::open(content, path)? {
        Ok(scene) => Ok(scene),
        Err(content) => Ok(parse_with(&content, path, options)?.into()),
    }
}
