//! Writing files so that a final name never holds half a file.

use crate::DataError;
use image::{ImageFormat, RgbImage};
use splatcore_core::Image;
use std::fs::File;
use std::io::{BufWriter, Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How the names of files begin that are not yet complete.
pub(crate) const UNFINISHED: &str = ".splatcore-";

/// Files of this process that are not yet complete.
static OWN: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// While this value lives, [`remove_own_unfinished`] removes a file or folder.
pub struct Unfinished(PathBuf);

impl Unfinished {
    /// Of a file or folder that this process is writing.
    pub fn new(path: &Path) -> Self {
        own().push(path.into());
        Self(path.into())
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        own().retain(|path| *path != self.0);
    }
}

fn own() -> std::sync::MutexGuard<'static, Vec<PathBuf>> {
    OWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Removes what this process is writing and has not completed: for a program that ends at once,
/// by a signal.
pub fn remove_own_unfinished() {
    for path in own().drain(..) {
        // What cannot be removed stays: it is in nobody's way.
        let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
    }
}

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
    let unfinished = Unfinished::new(file.path());
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
    drop(unfinished);
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

/// Writes an image as an 8-bit PNG; values are clamped to [0, 1].
///
/// # Errors
/// If the image does not hold width times height pixels, or the file cannot be written.
pub fn write_png(path: &Path, image: &Image) -> Result<(), DataError> {
    let (width, height) = (image.width, image.height);
    let picture = RgbImage::from_raw(width, height, image.to_bytes()).ok_or_else(|| {
        let problem = format!("the image is not {width}x{height}");
        DataError::new(path, problem, "give as many pixels as its size says")
    })?;
    let mut bytes = Cursor::new(Vec::new());
    picture
        .write_to(&mut bytes, ImageFormat::Png)
        .map_err(|error| DataError::write(path, &std::io::Error::other(error)))?;
    write_bytes(path, bytes.get_ref())
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
    fn a_png_holds_the_pixels_and_a_wrong_size_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let mut image = Image::filled(3, 2, [0.0, 0.5, 2.0]);
        write_png(&path, &image).unwrap();
        let back = image::open(&path).unwrap().into_rgb8();
        assert_eq!(back.dimensions(), (3, 2));
        assert_eq!(back.get_pixel(2, 1).0, [0, 128, 255]);
        image.width = 4;
        let error = write_png(&path, &image).unwrap_err().to_string();
        assert!(error.contains("not 4x2"), "{error}");
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
