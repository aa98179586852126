//! Folders of results of a trainer, which are given where a dataset or a scene is wanted.

use std::path::{Path, PathBuf};

/// The scene in a folder of results: of `train`, or as INRIA's trainer writes them, that of the
/// last step.
pub fn scene_of_results(folder: &Path) -> Option<PathBuf> {
    let own = folder.join("scene.ply");
    match own.is_file() {
        true => Some(own),
        false => newest_of_inria(folder),
    }
}

fn newest_of_inria(folder: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder.join("point_cloud")).ok()?;
    let steps = entries.flatten().filter_map(|entry| {
        let name = entry.file_name();
        let step: u64 = name.to_str()?.strip_prefix("iteration_")?.parse().ok()?;
        let file = entry.path().join("point_cloud.ply");
        file.is_file().then_some((step, file))
    });
    steps.max().map(|(_, file)| file)
}
