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
    /// Makes missing parent folders too.
    pub fn beside(path: &Path) -> Result<Self, VideoError> {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let make = || -> std::io::Result<NamedTempFile> {
            std::fs::create_dir_all(folder)?;
            tempfile::Builder::new()
                .prefix(".splatcore-")
                .tempfile_in(folder)
        };
        let file = make().map_err(|error| VideoError::write(path, &error))?;
        Ok(Self {
            file,
            path: path.into(),
        })
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
        {
            use std::os::unix::fs::PermissionsExt;
            // Temporary files are private; a result should have the usual permissions.
            let usual = std::fs::Permissions::from_mode(0o644);
            written.set_permissions(usual).map_err(failed)?;
        }
        self.file
            .persist(&path)
            .map_err(|error| failed(error.error))?;
        Ok(())
    }
}
