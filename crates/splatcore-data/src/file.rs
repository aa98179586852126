//! Writing files so that a final name never holds half a file.

use crate::DataError;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// How the names of files begin that are not yet complete.
const UNFINISHED: &str = ".splatcore-";

/// Writes a file beside its final name, then renames it. Missing parent folders are made.
/// On any error nothing is left under the final name (an older file stays as it was) nor beside it.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>,
) -> Result<(), DataError> {
    let failed = |error: std::io::Error| DataError::write(path, &error);
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    let file = tempfile::Builder::new()
        .prefix(UNFINISHED)
        .tempfile_in(folder)
        .map_err(failed)?;
    let mut writer = BufWriter::with_capacity(1 << 20, file.as_file());
    write(&mut writer)
        .and_then(|()| writer.flush())
        .map_err(failed)?;
    drop(writer);
    file.as_file().sync_all().map_err(failed)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // Temporary files are private; a result should have the usual permissions.
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o644))
            .map_err(failed)?;
    }
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Removes what a process that was killed in [`write_atomically`] left in a folder; nobody may be
/// writing there. What cannot be removed stays: it is in nobody's way.
pub fn remove_unfinished(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        if entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(UNFINISHED.as_bytes())
        {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// [`write_atomically`] for bytes at hand.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    write_atomically(path, |writer| writer.write_all(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b.txt");
        write_bytes(&path, b"old").unwrap();
        let error = write_atomically(&path, |w| {
            w.write_all(b"half")?;
            Err(std::io::Error::other("disk full"))
        })
        .unwrap_err();
        assert!(error.to_string().contains("disk full"));
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
        assert_eq!(
            std::fs::read_dir(folder.path().join("a")).unwrap().count(),
            1
        );
    }

    #[test]
    fn unfinished_files_go_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".splatcore-Ab12", "scene.ply", ".hidden"] {
            std::fs::write(folder.path().join(name), b"half").unwrap();
        }
        remove_unfinished(folder.path());
        remove_unfinished(&folder.path().join("none"));
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        left.sort();
        assert_eq!(left, [".hidden", "scene.ply"]);
    }
}
