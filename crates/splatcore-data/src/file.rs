//! Writing files so that a final name never holds half a file.

mod draft;
mod leftovers;

pub use draft::Draft;
pub(crate) use leftovers::{Held, UNFINISHED, completing, held, remove_of_dead};
pub use leftovers::{Unfinished, remove_own_unfinished};

use crate::{DataError, picture};
use image::ExtendedColorType;
use splatcore_core::Image;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// Writes a file beside its final name, then renames it. Missing parent folders are made.
/// A symbolic link stays and the file that it names is written. An older file's mode is kept; a new
/// file has the one that the umask leaves.
///
/// # Errors
/// What stands under the name is no regular file, or the file cannot be written. Then nothing is
/// left under the final name (an older file stays as it was) nor beside it.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&File>) -> std::io::Result<()>,
) -> Result<(), DataError> {
    let draft = Draft::beside(path)?;
    let mut writer = BufWriter::with_capacity(1 << 20, draft.file());
    write(&mut writer)
        .and_then(|()| writer.flush())
        .map_err(|error| match error.downcast() {
            // Of what was to be written, not of the file.
            Ok(error) => error,
            Err(error) => DataError::write(path, &error),
        })?;
    drop(writer);
    draft.finish()
}

/// Finds out, before hours of work, whether [`write_atomically`] can write a file, as far as can be
/// told now. Missing parent folders are made; nothing is written under the name.
///
/// # Errors
/// As [`write_atomically`].
pub fn check_writable(path: &Path) -> Result<(), DataError> {
    Draft::beside(path).map(drop)
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
    let rgb = ExtendedColorType::Rgb8;
    let bytes = picture::png(&image.to_bytes(), [width, height], rgb).map_err(|_| {
        let problem = format!("the image is not {width}x{height}");
        DataError::new(path, problem, "give as many pixels as its size says")
    })?;
    write_bytes(path, &bytes)
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
    fn folders_and_names_of_none_are_refused_before_and_on_writing() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), b"").unwrap();
        for (name, problem) in [
            ("", "is a folder"),
            ("new/", "is no name of a file"),
            ("file/x", "cannot be written"),
        ] {
            let path = folder.path().join(name);
            for result in [check_writable(&path), write_bytes(&path, b"new")] {
                let message = result.unwrap_err().to_string();
                assert!(message.contains(problem), "{message}");
            }
        }
        let message = check_writable(Path::new("")).unwrap_err().to_string();
        assert!(message.contains("is no name of a file"), "{message}");
        check_writable(&folder.path().join("a/b.txt")).unwrap();
        check_writable(&folder.path().join("file")).unwrap();
        let left = std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 2, "the file and the folder a");
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_stay() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("inner")).unwrap();
        symlink("inner/file", at("relative")).unwrap();
        symlink(at("relative"), at("absolute")).unwrap();
        // The first time there is no file at the end.
        for bytes in [b"old", b"new"] {
            write_bytes(&at("absolute"), bytes).unwrap();
            assert_eq!(std::fs::read(at("inner/file")).unwrap(), bytes);
        }
        for link in ["relative", "absolute"] {
            assert!(std::fs::symlink_metadata(at(link)).unwrap().is_symlink());
        }
        symlink("circle", at("circle")).unwrap();
        let message = write_bytes(&at("circle"), b"").unwrap_err().to_string();
        assert!(message.contains("too many symbolic links"), "{message}");
    }

    #[cfg(unix)]
    #[test]
    fn devices_sockets_and_what_links_lead_to_them_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, link) = (folder.path().join("socket"), folder.path().join("link"));
        let _open = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        std::os::unix::fs::symlink(&socket, &link).unwrap();
        for path in [&socket, &link] {
            let message = write_bytes(path, b"").unwrap_err().to_string();
            assert!(message.contains("is not a regular file"), "{message}");
        }
        assert!(!std::fs::metadata(&socket).unwrap().is_file());
    }

    #[cfg(unix)]
    #[test]
    fn an_older_files_mode_is_kept_and_a_new_one_is_the_umasks() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, plain) = (folder.path().join("new"), folder.path().join("plain"));
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        write_bytes(&path, b"").unwrap();
        File::create(&plain).unwrap();
        assert_eq!(mode(&path), mode(&plain));
        for kept in [0o600, 0o664, 0o640] {
            let permissions = std::fs::Permissions::from_mode(kept);
            std::fs::set_permissions(&path, permissions).unwrap();
            write_bytes(&path, b"").unwrap();
            assert_eq!(mode(&path), kept);
        }
    }

    #[test]
    fn a_png_holds_the_pixels_and_a_wrong_size_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.png");
        let mut image = Image::filled(3, 2, [0.0, 0.5, 2.0]);
        write_png(&path, &image).unwrap();
        let back = picture::read(&path).unwrap().into_rgb8();
        assert_eq!(back.dimensions(), (3, 2));
        assert_eq!(back.get_pixel(2, 1).0, [0, 128, 255]);
        image.width = 4;
        let error = write_png(&path, &image).unwrap_err().to_string();
        assert!(error.contains("not 4x2"), "{error}");
    }
}
