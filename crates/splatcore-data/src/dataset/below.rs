//! The files below a folder, among which photos without cameras are looked for.

use super::layouts;
use crate::DataError;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Folders are searched this deep.
const DEEPEST: usize = 16;

/// What lies below a folder; names are paths below it, with `/`.
pub enum Below {
    /// A file's name and path.
    File(String, PathBuf),
    /// The name of a folder that is another dataset or a run, whose files are left out.
    Other(String),
    /// Why a folder below cannot be read.
    Unread(DataError),
}

/// A folder to be searched.
struct Folder {
    path: PathBuf,
    /// Empty, or its name below the first one, and `/`.
    name: String,
    depth: usize,
}

/// Shows the files below a folder, of each folder before those of the folders in it, until `show`
/// breaks. Left out are names that begin with a dot, the folders of `except` (canonical paths),
/// other datasets and runs (the folder itself may be one), and what was shown by another link.
///
/// # Errors
/// The first folder cannot be read.
pub fn files_below(
    folder: &Path,
    except: &[PathBuf],
    show: &mut dyn FnMut(Below) -> ControlFlow<()>,
) -> Result<(), DataError> {
    let mut seen = HashSet::new();
    let mut folders = vec![Folder {
        path: folder.to_path_buf(),
        name: String::new(),
        depth: 0,
    }];
    // After the others: links may lead back to these.
    let mut links = Vec::new();
    while let Some(folder) = folders.pop().or_else(|| links.pop()) {
        let full = std::fs::canonicalize(&folder.path).unwrap_or_else(|_| folder.path.clone());
        let is_first = folder.depth == 0;
        if !is_first && except.contains(&full) || !seen.insert(full) {
            continue;
        }
        if !is_first && is_other(&folder.path) {
            let name = folder.name.trim_end_matches('/').to_owned();
            if show(Below::Other(name)).is_break() {
                return Ok(());
            }
            continue;
        }
        let inside = match entries(&folder.path) {
            Ok(inside) => inside,
            Err(error) if is_first => return Err(error),
            Err(error) => match show(Below::Unread(error)) {
                ControlFlow::Break(()) => return Ok(()),
                ControlFlow::Continue(()) => continue,
            },
        };
        for path in inside {
            let Some(file_name) = path.file_name() else {
                continue;
            };
            let name = format!("{}{}", folder.name, file_name.to_string_lossy());
            if !path.is_dir() {
                if show(Below::File(name, path)).is_break() {
                    return Ok(());
                }
            } else if folder.depth < DEEPEST {
                let to = if path.is_symlink() {
                    &mut links
                } else {
                    &mut folders
                };
                to.push(Folder {
                    path,
                    name: format!("{name}/"),
                    depth: folder.depth + 1,
                });
            }
        }
    }
    Ok(())
}

/// Whether a folder is a dataset or holds the results of a run.
fn is_other(folder: &Path) -> bool {
    folder.join("scene.ply").is_file() || !layouts::in_folder(folder).is_empty()
}

/// What a folder holds, in the order of the names, without what begins with a dot.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, DataError> {
    let failed = |error: std::io::Error| DataError::read(folder, &error);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}
