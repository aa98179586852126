//! Finding the files that belong to an image's name.

use std::path::{Path, PathBuf};

/// Endings of photos, tried in this order for a name without one. The last four cannot be read, but
/// then the message says so.
const ENDINGS: [&str; 11] = [
    "png", "jpg", "jpeg", "webp", "tif", "tiff", "exr", "heic", "heif", "avif", "jxl",
];

/// The photo of a name: as spelled, with `\` as `/`, or with a known ending appended.
/// Returns the name with that ending, and the file.
pub(super) fn image(folder: &Path, name: &str) -> Option<(String, PathBuf)> {
    if name.is_empty() || name.contains('\0') {
        return None;
    }
    let slashes = name.replace('\\', "/");
    let cases = |ending: &str| [ending.to_owned(), ending.to_ascii_uppercase()];
    let with_endings = ENDINGS
        .iter()
        .flat_map(|ending| cases(ending))
        .map(|ending| format!("{slashes}.{ending}"));
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
