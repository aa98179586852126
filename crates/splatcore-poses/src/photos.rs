//! The photos of a folder: which there are, and their place in the dataset.

use crate::PosesError;
use crate::natural;
use splatcore_data::dataset::{Below, files_below, is_photo, is_video};
use splatcore_data::scene::Format;
use splatcore_data::{DataError, file};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Endings of photos that splatcore does not read.
const UNREAD: [&str; 12] = [
    "heic", "heif", "avif", "tif", "tiff", "dng", "cr2", "cr3", "nef", "arw", "raf", "bmp",
];

/// A photo's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// Path below the folder of photos, with `/`.
    pub name: String,
    pub path: PathBuf,
    pub bytes: u64,
    /// Time of the last change, in milliseconds since 1970; 0 if the system does not tell.
    pub changed: u64,
}

/// What a folder holds.
#[derive(Debug, Default, PartialEq)]
pub struct Listed {
    /// The photos in the order that people count in: `2.jpg` before `10.jpg`.
    pub photos: Vec<Found>,
    /// Names of photos in formats that are not read.
    pub unread: Vec<String>,
    /// Names of videos, whose frames are not taken.
    pub videos: Vec<String>,
    /// Folders that are other datasets or runs, whose photos are not listed.
    pub others: Vec<String>,
}

/// The ending of a file's name, in lower case.
fn ending(path: &Path) -> String {
    path.extension()
        .map_or(String::new(), |e| e.to_string_lossy().to_lowercase())
}

/// Refuses a file that is no video by its name. (Names of videos are many.)
///
/// # Errors
/// It is a photo or a scene.
pub fn check_video(path: &Path) -> Result<(), PosesError> {
    let (problem, remedy) = if is_photo(path) || UNREAD.contains(&ending(path).as_str()) {
        ("is a single photo", "give the folder of the photos")
    } else if Format::of_name(path).is_some() {
        let remedy = "give the folder of the photos, or a video";
        ("is a scene by its name, neither photos nor a video", remedy)
    } else {
        return Ok(());
    };
    Err(DataError::new(path, problem, remedy).into())
}

/// A video's file.
///
/// # Errors
/// It cannot be read, or is no video by its name.
pub fn video(path: &Path) -> Result<Found, PosesError> {
    check_video(path)?;
    found("video".into(), path.to_path_buf())
}

/// Lists the photos of a folder, or those of its folder `images` if it holds no others; see
/// [`list`].
///
/// # Errors
/// As [`list`].
pub fn of(input: &Path, except: &[PathBuf]) -> Result<Listed, PosesError> {
    list(&folder_of(input, except)?, except)
}

/// The folder of the photos: `input` itself, or its folder `images` if all of them are in there.
///
/// # Errors
/// As [`list`].
pub fn folder_of(input: &Path, except: &[PathBuf]) -> Result<PathBuf, PosesError> {
    let listed = list(input, except)?;
    let inner = input.join("images");
    let direct = listed.photos.iter().any(|p| !p.name.starts_with("images/"));
    match direct || !inner.is_dir() {
        true => Ok(input.to_path_buf()),
        false => Ok(inner),
    }
}

/// The first of some photos and every so many after it.
pub fn every(photos: Vec<Found>, step: Option<u32>) -> Vec<Found> {
    let step = step.map_or(1, |step| step.max(1) as usize);
    photos.into_iter().step_by(step).collect()
}

/// Lists the photos below a folder, without those below the folders of `except`, in other datasets
/// and in runs; see [`files_below`].
///
/// # Errors
/// A folder that cannot be read, or a name that is not Unicode or breaks lines.
pub fn list(folder: &Path, except: &[PathBuf]) -> Result<Listed, PosesError> {
    let mut listed = Listed::default();
    let except: Vec<PathBuf> = except.iter().flat_map(std::fs::canonicalize).collect();
    let mut photos = Vec::new();
    files_below(folder, &except, &mut |of| {
        match of {
            Below::Other(name) => listed.others.push(name),
            Below::File(name, path) if UNREAD.contains(&ending(&path).as_str()) => {
                listed.unread.push(name);
            }
            Below::File(name, path) if is_video(&path) => listed.videos.push(name),
            Below::File(name, path) if is_photo(&path) => photos.push(found(name, path)),
            Below::File(..) => {}
            Below::Unread(error) => photos.push(Err(error.into())),
        }
        ControlFlow::Continue(())
    })?;
    listed.photos = photos.into_iter().collect::<Result<_, _>>()?;
    listed
        .photos
        .sort_by(|a, b| natural::compare(&a.name, &b.name));
    for names in [&mut listed.unread, &mut listed.videos, &mut listed.others] {
        names.sort_by(|a, b| natural::compare(a, b));
    }
    Ok(listed)
}

fn found(name: String, path: PathBuf) -> Result<Found, PosesError> {
    // COLMAP reads names from a list of lines, which it trims.
    if path.to_str().is_none() || name.contains(['\n', '\r']) || name.trim() != name {
        let problem = "the photo's name is not Unicode, breaks lines or has spaces at its ends";
        return Err(DataError::new(&path, problem, "rename the photo").into());
    }
    let data = std::fs::metadata(&path).map_err(|e| DataError::read(&path, &e))?;
    let changed = data
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(Found {
        name,
        bytes: data.len(),
        changed: changed.map_or(0, |time| time.as_millis() as u64),
        path,
    })
}

/// Puts a photo into the dataset: a hard link, or a copy where links cannot be (another disk).
///
/// # Errors
/// Another file has the name, or nothing can be written.
pub fn place(photo: &Found, images: &Path) -> Result<(), PosesError> {
    let target = images.join(&photo.name);
    if target.exists() {
        return match same(&photo.path, &target) {
            Ok(true) => Ok(()),
            Ok(false) => Err(DataError::new(
                &target,
                format!("is another file than {}", photo.path.display()),
                "choose an empty folder for the dataset, or remove the file",
            )
            .into()),
            Err(error) => Err(DataError::read(&target, &error).into()),
        };
    }
    if let Some(folder) = target.parent() {
        std::fs::create_dir_all(folder).map_err(|e| DataError::write(folder, &e))?;
    }
    // Of a symbolic link, the file that it leads to.
    let source =
        std::fs::canonicalize(&photo.path).map_err(|e| DataError::read(&photo.path, &e))?;
    if std::fs::hard_link(&source, &target).is_ok() {
        return Ok(());
    }
    let mut reader = std::fs::File::open(&source).map_err(|e| DataError::read(&source, &e))?;
    file::write_atomically(&target, |writer| {
        std::io::copy(&mut reader, writer).map(|_| ())
    })?;
    Ok(())
}

/// Whether two files hold the same bytes.
fn same(a: &Path, b: &Path) -> std::io::Result<bool> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let [a, b] = [std::fs::metadata(a)?, std::fs::metadata(b)?];
        if (a.dev(), a.ino()) == (b.dev(), b.ino()) {
            return Ok(true);
        }
    }
    if std::fs::metadata(a)?.len() != std::fs::metadata(b)?.len() {
        return Ok(false);
    }
    Ok(std::fs::read(a)? == std::fs::read(b)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn photos_are_found_in_order_and_placed_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("süd seite")).unwrap();
        std::fs::create_dir_all(at("out/images")).unwrap();
        for name in [
            "10.JPG",
            "2.jpg",
            "süd seite/1 a.png",
            "x.heic",
            "walk.MP4",
            "notes.txt",
            ".h.jpg",
        ] {
            std::fs::write(at(name), name).unwrap();
        }
        std::fs::write(at("out/images/2.jpg"), "2.jpg").unwrap();
        let listed = list(folder.path(), &[at("out")]).unwrap();
        let names: Vec<&str> = listed.photos.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["2.jpg", "10.JPG", "süd seite/1 a.png"]);
        assert_eq!(listed.unread, ["x.heic"]);
        assert_eq!(listed.videos, ["walk.MP4"]);
        assert_eq!(listed.others, Vec::<String>::new());
        for _ in 0..2 {
            for photo in &listed.photos {
                place(photo, &at("out/images")).unwrap();
            }
        }
        assert_eq!(
            std::fs::read(at("out/images/süd seite/1 a.png")).unwrap(),
            "süd seite/1 a.png".as_bytes()
        );
        std::fs::remove_file(at("out/images/10.JPG")).unwrap();
        std::fs::write(at("out/images/10.JPG"), "other!").unwrap();
        let error = place(&listed.photos[1], &at("out/images"))
            .unwrap_err()
            .to_string();
        assert!(error.contains("is another file than"), "{error}");
    }

    /// Results of earlier calls lie beside the photos.
    #[test]
    fn photos_of_other_datasets_and_of_runs_are_not_listed() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        put("capture/1.jpg");
        put("out-old/dataset/images/1.jpg");
        put("out-old/dataset/sparse/0/cameras.bin");
        put("out-old/dataset/sparse/0/images.bin");
        put("out-old/run/scene.ply");
        put("out-old/run/picture.png");
        let listed = list(folder.path(), &[]).unwrap();
        let names: Vec<&str> = listed.photos.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["capture/1.jpg"]);
        assert_eq!(listed.others, ["out-old/dataset", "out-old/run"]);
        // What is asked for itself may have cameras already.
        let dataset = folder.path().join("out-old/dataset");
        let listed = of(&dataset, &[]).unwrap();
        assert_eq!(listed.photos.len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_once() {
        use std::os::unix::fs::symlink;
        let [folder, beside] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("capture")).unwrap();
        std::fs::write(at("capture/1.jpg"), "").unwrap();
        std::fs::write(beside.path().join("2.jpg"), "").unwrap();
        symlink(folder.path(), at("capture/around")).unwrap();
        symlink(at("capture"), at("again")).unwrap();
        symlink(beside.path(), at("beside")).unwrap();
        let listed = list(folder.path(), &[]).unwrap();
        let names: Vec<&str> = listed.photos.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["beside/2.jpg", "capture/1.jpg"]);
    }
}
