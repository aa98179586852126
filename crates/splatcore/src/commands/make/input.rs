//! What the input is.

use anyhow::Result;
use splatcore_core::Choice;
use splatcore_data::dataset::{Dataset, OpenOptions, is_file_of_cameras};
use std::path::Path;

/// What the input is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A dataset whose cameras are known.
    Posed,
    /// A folder of photos.
    Photos,
    /// A video.
    Video,
}

/// Tells what an input is.
///
/// # Errors
/// It is nothing that can be trained on: a dataset that is broken, or a path that leads nowhere.
pub fn tell(path: &Path, images: Option<&str>) -> Result<Kind> {
    let options = OpenOptions {
        images: images.map(str::to_owned),
        ..OpenOptions::default()
    };
    if path.is_file() && !is_file_of_cameras(path) {
        splatcore_poses::check_video(path)?;
        return Ok(Kind::Video);
    }
    match Dataset::open(path, &options) {
        Ok(_) => Ok(Kind::Posed),
        Err(error) if error.depends_on == Some(Choice::Poses) => Ok(match path.is_file() {
            true => Kind::Video,
            false => Kind::Photos,
        }),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Photos may lie in subfolders; those of other datasets and of runs do not count.
    #[test]
    fn photos_are_found_below() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        let found = || tell(folder.path(), None);
        put("out/dataset/images/1.jpg");
        put("out/dataset/sparse/0/cameras.bin");
        put("out/dataset/sparse/0/images.bin");
        put("out/run/scene.ply");
        put("out/run/picture.png");
        put("notes/a.txt");
        let error = found().unwrap_err().to_string();
        assert!(error.contains("there are no photos either"), "{error}");
        put(".thumbnails/1.jpg");
        put("capture/.1.jpg");
        let error = found().unwrap_err().to_string();
        assert!(error.contains("there are no photos either"), "{error}");
        put("capture/2026/11/29/day one/1.jpg");
        assert_eq!(found().unwrap(), Kind::Photos);
    }
}
