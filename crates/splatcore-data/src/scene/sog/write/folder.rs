//! Scenes of several files: complete under their names, or not there.

use crate::DataError;
use crate::file::{self, Held};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Files that are written into a new folder beside the scene's, and then moved there.
pub struct Folder {
    unfinished: TempDir,
    _held: Held,
    target: PathBuf,
    /// The file that makes the others a scene.
    index: String,
}

impl Folder {
    /// For the scene whose meta.json or lod-meta.json has this path.
    pub fn beside(index: &Path) -> Result<Self, DataError> {
        let failed = |error: std::io::Error| DataError::write(index, &error);
        let name = index.file_name().unwrap_or_default().to_string_lossy();
        let target = match index.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
            _ => PathBuf::from("."),
        };
        // Inside an existing folder: its parent may be another disk, or not writable.
        let place = match target.is_dir() {
            true => target.clone(),
            false => match target.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
                _ => PathBuf::from("."),
            },
        };
        std::fs::create_dir_all(&place).map_err(failed)?;
        file::remove_of_dead(&place);
        let mut builder = tempfile::Builder::new();
        builder.prefix(file::UNFINISHED);
        let (unfinished, held) = file::held(|| builder.tempdir_in(&place)).map_err(failed)?;
        Ok(Self {
            unfinished,
            _held: held,
            target,
            index: name.into_owned(),
        })
    }

    /// Writes a file; its name may have folders.
    pub fn add(&self, name: &str, bytes: &[u8]) -> Result<(), DataError> {
        file::write_bytes(&self.unfinished.path().join(name), bytes)
    }

    /// Moves everything to its place. Of what lies there, the files `known`, those of the same
    /// names, and folders that this leaves empty go; the index goes first and comes last.
    pub fn publish(self, known: &[String]) -> Result<(), DataError> {
        file::completing(|| self.moved(known))
            .map_err(|error| DataError::write(&self.target.join(&self.index), &error))
    }

    fn moved(&self, known: &[String]) -> std::io::Result<()> {
        let (from, to) = (self.unfinished.path(), &self.target);
        if !to.exists() {
            usual_permissions(from)?;
            return std::fs::rename(from, to);
        }
        remove(&to.join(&self.index))?;
        for name in known {
            remove(&to.join(name))?;
            if let Some((folder, _)) = name.rsplit_once('/') {
                // Fails if something else lies in it, and then it stays.
                let _ = std::fs::remove_dir(to.join(folder));
            }
        }
        let mut names = files_below(from)?;
        names.sort_by_key(|name| *name == Path::new(&self.index));
        for name in names {
            let place = to.join(&name);
            if let Some(folder) = place.parent() {
                std::fs::create_dir_all(folder)?;
            }
            remove(&place)?;
            std::fs::rename(from.join(&name), place)?;
        }
        Ok(())
    }
}

/// The files of a folder and of those in it, by their names below it, sorted.
fn files_below(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = PathBuf::from(entry.file_name());
        if entry.file_type()?.is_dir() {
            let inside = files_below(&entry.path())?;
            found.extend(inside.iter().map(|file| name.join(file)));
        } else {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

/// Removes a file, if there is one.
fn remove(path: &Path) -> std::io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// Temporary folders are private; a result should have the usual permissions.
fn usual_permissions(folder: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
    }
    let _ = folder;
    Ok(())
}
