//! Finding the files that belong to an image's name.

use std::path::{Path, PathBuf};

/// Endings tried for a name without one, in this order.
const ENDINGS: [&str; 8] = ["png", "jpg", "jpeg", "webp", "PNG", "JPG", "JPEG", "WEBP"];

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
