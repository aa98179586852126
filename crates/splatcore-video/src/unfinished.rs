//! A file that has its name only when it is complete.

use crate::VideoError;
use std::fs::File;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file beside its final name; it goes away unless it is finished.
pub struct Unfinished {
    file: NamedTempFile,
    path: PathBuf,
}

impl Unfinished {
    /// Makes missing parent folders too. A symbolic link stays, and the file that it names is
    /// written.
    ///
    /// # Errors
    /// What stands under the name is no regular file, or nothing can be written beside it.
    pub fn beside(path: &Path) -> Result<Self, VideoError> {
        let failed = |error: std::io::Error| VideoError::write(path, &error);
        let target = std::fs::canonicalize(path).unwrap_or_else(|_| path.into());
        // A file with the name of a device would take the device's place.
        if std::fs::metadata(&target).is_ok_and(|there| !there.is_file()) {
            return Err(failed(std::io::Error::other("it is no regular file")));
        }
        let folder = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(".splatcore-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Temporary files are private; a result has what the umask leaves of this.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let file = builder.tempfile_in(folder).map_err(failed)?;
        Ok(Self { file, path: target })
    }

    /// Where it lies until then.
    pub fn place(&self) -> &Path {
        self.file.path()
    }

    /// To write to.
    pub fn file(&self) -> Result<File, VideoError> {
        self.file
            .reopen()
            .map_err(|error| VideoError::write(&self.path, &error))
    }

    /// Gives it its name.
    pub fn finish(self) -> Result<(), VideoError> {
        let path = self.path;
        let failed = |error: std::io::Error| VideoError::write(&path, &error);
        // Opened anew: a program may have replaced the file.
        let written = File::open(self.file.path()).map_err(failed)?;
        written.sync_all().map_err(failed)?;
        #[cfg(unix)]
        if let Ok(older) = std::fs::metadata(&path) {
            let kept = written.set_permissions(older.permissions());
            kept.map_err(failed)?;
        }
        self.file
            .persist(&path)
            .map_err(|error| failed(error.error))?;
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_and_modes_are_kept_and_devices_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("film"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        symlink("film", &link).unwrap();
        let unfinished = Unfinished::beside(&link).unwrap();
        unfinished.file().unwrap().write_all(b"new").unwrap();
        unfinished.finish().unwrap();
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let socket = folder.path().join("socket");
        let _open = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let refused = Unfinished::beside(&socket).err().unwrap().to_string();
        assert!(refused.contains("no regular file"), "{refused}");
    }
}
