//! Opens a scene whose Gaussians may stay in the file.

use super::ply;
use super::read::{ReadOptions, read_with};
use super::scene_file::OpenScene;
use super::source::Source;
use crate::DataError;
use std::path::Path;

/// Opens a scene file. Of a plain binary PLY, the one format whose files are large, the Gaussians
/// stay in the file (which must not change meanwhile: rows of a file that is cut short are errors);
/// other formats are read into memory, as [`super::read`] does. `sh_degree_limit` does not concern
/// what stays in the file.
///
/// # Errors
/// As [`super::read`].
pub fn open(path: &Path, options: &ReadOptions) -> Result<OpenScene, DataError> {
    if path.is_dir() {
        return Ok(read_with(path, options)?.into());
    }
    let source = Source::open(path)?;
    if ply::is_ply(&source.head(ply::MAGIC)?) {
        return match ply::open(source, path)? {
            Ok(scene) => Ok(scene),
            Err(source) => {
                let mut scene = ply::read(&source, path)?;
                scene.limit_sh_degree(options.sh_degree_limit);
                Ok(scene.into())
            }
        };
    }
    drop(source);
    Ok(read_with(path, options)?.into())
}
