//! Finding the files that belong to an image's name.

use std::path::{Path, PathBuf};

/// Endings tried for a name without one, in this order.
const ENDINGS: [&str; 8] = ["png", "jpg", "jpeg", "webp", "PNG", "JPG", "JPEG", "WEBP"];

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

/// Whether a folder holds photos, in itself or in `images`; looks no deeper.
pub(super) fn holds_photos(folder: &Path) -> bool {
    [folder.to_path_buf(), folder.join("images")]
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten())
        .any(|entry| is_photo(&entry.path()))
}

/// The photo of a name: as spelled, with `\` as `/`, or with a known ending appended.
/// Returns the name with that ending, and the file.
pub(super) fn image(folder: &Path, name: &str) -> Option<(String, PathBuf)> {
    if name.is_empty() || name.contains('\0') {
        return None;
    }
    let slashes = name.replace('\\', "/");
    let with_endings = ENDINGS.iter().map(|ending| format!("{slashes}.{ending}"));
    [name.to_owned(), slashes.clone()]
        .into_iter()
        .chain(with_endings)
        .map(|candidate| {
            let path = folder.join(&candidate);
            (candidate, path)
        })
        .find(|(_, path)| path.is_file())
}

/// The mask of a photo: `masks/NAME.png`, with or without the photo's own ending in NAME.
/// A first folder of the name (`images/`) may be left out.
pub(super) fn mask(root: &Path, name: &str) -> Option<PathBuf> {
    let masks = root.join("masks");
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
