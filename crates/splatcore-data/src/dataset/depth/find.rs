//! Which file holds the depths or the normals of a photo.

use crate::dataset::found::Entry;
use std::path::{Path, PathBuf};

/// Maps of one kind.
pub(super) struct Kind {
    /// Folders below the dataset's, and beside the photos', that are looked into.
    pub folders: [&'static str; 3],
    /// Whether a dataset's format may name the file.
    named: bool,
}

/// Maps of depths.
pub(super) const DEPTHS: Kind = Kind {
    folders: ["depths", "depth", "stereo/depth_maps"],
    named: true,
};
/// Maps of normals.
pub(super) const NORMALS: Kind = Kind {
    folders: ["normals", "normal", "stereo/normal_maps"],
    named: false,
};

/// Endings in place of the photo's, and behind it.
const ENDINGS: [&str; 6] = ["png", "exr", "npy", "npz", "tif", "tiff"];

/// COLMAP's, behind the photo's ending: of its geometric pass first.
const COLMAP: [&str; 2] = ["geometric.bin", "photometric.bin"];

/// The file that the format names, if it exists; else one called as the photo, in the folder that
/// is given or in those of the kind. A first folder of the photo's name (`images/`) may be left
/// out.
pub(super) fn file_of(
    root: &Path,
    entry: &Entry,
    folder: Option<&Path>,
    kind: &Kind,
) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = match folder {
        Some(folder) => vec![root.join(folder)],
        None => {
            let named = entry.depth.as_ref().filter(|_| kind.named);
            let named = named.filter(|path| path.is_file());
            if let Some(named) = named {
                return Some(named.clone());
            }
            // Polycam's lie in `keyframes`, beside the folder of the photos.
            let beside = entry.image.ancestors().nth(2);
            let places = std::iter::once(root).chain(beside);
            let all = places.flat_map(|place| kind.folders.map(|folder| place.join(folder)));
            all.collect()
        }
    };
    let name = entry.name.as_str();
    let inner = name.split_once('/').map(|(_, rest)| rest);
    let names: Vec<&str> = std::iter::once(name).chain(inner).collect();
    folders.iter().find_map(|folder| in_folder(folder, &names))
}

fn in_folder(folder: &Path, names: &[&str]) -> Option<PathBuf> {
    if !folder.is_dir() {
        return None;
    }
    let called = names.iter().flat_map(|name| {
        let stem = Path::new(name).with_extension("");
        let with = |ending: &str| {
            [
                folder.join(format!("{}.{ending}", stem.display())),
                folder.join(format!("{name}.{ending}")),
            ]
        };
        ENDINGS
            .into_iter()
            .chain(COLMAP)
            .flat_map(with)
            .collect::<Vec<_>>()
    });
    let mut called = called;
    called.find(|path| path.is_file())
}

/// The confidences of a depth map: in the folder `confidence` beside that of the depths, or of 3D
/// Scanner App beside the map.
pub(super) fn confidence_of(depths: &Path) -> Option<PathBuf> {
    if let Some(number) = depths.file_name()?.to_str()?.strip_prefix("depth_") {
        let path = depths.with_file_name(format!("conf_{number}"));
        return path.is_file().then_some(path);
    }
    let folder = depths.parent()?.parent()?.join("confidence");
    let path = folder.join(depths.file_stem()?).with_extension("png");
    path.is_file().then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidences_lie_beside_depths() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir(at("confidence")).unwrap();
        std::fs::create_dir(at("depth")).unwrap();
        for name in ["confidence/a.png", "conf_00003.png"] {
            std::fs::write(at(name), "").unwrap();
        }
        let of = |name: &str| confidence_of(&at(name));
        assert_eq!(of("depth/a.exr"), Some(at("confidence/a.png")));
        assert_eq!(of("depth/b.png"), None);
        assert_eq!(of("depth_00003.png"), Some(at("conf_00003.png")));
        assert_eq!(of("depth_00004.png"), None);
    }
}
