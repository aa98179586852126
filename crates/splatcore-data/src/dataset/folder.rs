//! Finding the files that belong to an image's name.

use super::options::OpenOptions;
use super::unread::unread_format;
use crate::DataError;
use std::path::{Path, PathBuf};

/// Endings of photos, tried in this order for a name without one. The last four cannot be read, but
/// then the message says so.
pub(super) const ENDINGS: [&str; 11] = [
    "png", "jpg", "jpeg", "webp", "tif", "tiff", "exr", "heic", "heif", "avif", "jxl",
];

/// Endings of videos, in lower case.
const VIDEOS: [&str; 12] = [
    "mp4", "mov", "m4v", "mkv", "webm", "avi", "mts", "m2ts", "3gp", "y4m", "mjpeg", "mjpg",
];

/// Whether a file's name is that of a photo that can be read.
pub fn is_photo(path: &Path) -> bool {
    ENDINGS[..4].contains(&ending(path).as_str())
}

/// Whether a file's name is that of a video.
pub fn is_video(path: &Path) -> bool {
    VIDEOS.contains(&ending(path).as_str())
}

fn ending(path: &Path) -> String {
    path.extension().map_or(String::new(), |ending| {
        ending.to_string_lossy().to_lowercase()
    })
}

/// What photos in a folder, or in its `images`, are, if they are of a format that cannot be read;
/// looks no deeper.
pub(super) fn unread_photos(folder: &Path) -> Option<DataError> {
    let photos = files(folder).filter_map(|file| Some((unread_format(&file)?, file)));
    let ((what, remedy), first) = photos.min_by(|(_, a), (_, b)| a.cmp(b))?;
    Some(DataError::new(&first, what, remedy))
}

/// The entries of a folder and of its `images`.
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    [folder.to_path_buf(), folder.join("images")]
        .into_iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten())
        .map(|entry| entry.path())
}

/// The photo of a name: as spelled, with `\` as `/`, or with a known ending appended.
/// Returns the name with that ending, and the file.
pub(super) fn image(folder: &Path, name: &str) -> Option<(String, PathBuf)> {
    if name.is_empty() || name.contains('\0') {
        return None;
    }
    candidates(name)
        .map(|candidate| {
            let path = folder.join(&candidate);
            (candidate, path)
        })
        .find(|(_, path)| path.is_file())
}

/// What the photo of a name may be called, the first first.
pub(super) fn candidates(name: &str) -> impl Iterator<Item = String> {
    let slashes = name.replace('\\', "/");
    let cases = |ending: &str| [ending.to_owned(), ending.to_ascii_uppercase()];
    let first = [name.to_owned(), slashes.clone()];
    let with_endings = ENDINGS
        .iter()
        .flat_map(move |ending| cases(ending))
        .map(move |ending| format!("{slashes}.{ending}"));
    first.into_iter().chain(with_endings)
}

/// The folder of a dataset's photos: the one of the options; else `images` below the root if there
/// is one; else the root.
pub(super) fn photos(root: &Path, options: &OpenOptions) -> Result<PathBuf, DataError> {
    if let Some(name) = &options.images {
        let folder = root.join(name);
        if folder.is_dir() {
            return Ok(folder);
        }
        return Err(DataError::new(
            &folder,
            "there is no such folder of photos",
            "name a folder of the dataset, for example images_4",
        ));
    }
    let folder = root.join("images");
    Ok(if folder.is_dir() {
        folder
    } else {
        root.to_path_buf()
    })
}

/// The folder that holds a file.
pub(super) fn of_file(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Reads a whole file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, DataError> {
    std::fs::read(path).map_err(|e| DataError::read(path, &e))
}

/// The files of a folder with an ending (lower case, without its dot), sorted by name; none if the
/// folder cannot be listed.
pub(super) fn with_ending(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(listed) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = listed
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let own = path.extension().and_then(|e| e.to_str());
            own.is_some_and(|own| own.eq_ignore_ascii_case(ending)) && path.is_file()
        })
        .collect();
    files.sort();
    files
}

/// The mask of a photo: `masks/NAME.png`, with or without the photo's own ending in NAME.
/// A first folder of the name (`images/`) may be left out.
pub(super) fn mask(root: &Path, name: &str) -> Option<PathBuf> {
    mask_in(&root.join("masks"), name)
}

/// The same in another folder.
pub(super) fn mask_in(masks: &Path, name: &str) -> Option<PathBuf> {
    if !masks.is_dir() {
        return None;
    }
    let inner = name.split_once('/').map(|(_, rest)| rest);
    std::iter::once(name)
        .chain(inner)
        .flat_map(|name| {
            let stem = Path::new(name).with_extension("png");
            [masks.join(format!("{name}.png")), masks.join(stem)]
        })
        .find(|path| path.is_file())
}
