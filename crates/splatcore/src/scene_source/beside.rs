//! Where a scene lies, and the file beside it that holds what was chosen for it alone.

use anyhow::{Result, bail};
use splatcore_data::scene::Format;
use std::path::{Path, PathBuf};

/// The folder that a scene's file lies in; of a scene of several files that folder.
pub fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        _ if file.is_dir() => file,
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Whether two scenes lie in one folder.
pub fn same_folder(a: &Path, b: &Path) -> bool {
    let place = |file: &Path| folder_of(file).canonicalize().ok();
    place(a) == place(b)
}

/// The file beside a scene that holds what was chosen for it alone: `NAME.EXT.view.json`.
pub fn beside(file: &Path) -> PathBuf {
    let mut name = match file.is_dir() {
        true => file.join("meta.json"),
        false => file.to_path_buf(),
    }
    .into_os_string();
    name.push(".view.json");
    name.into()
}

/// The file that earlier versions wrote beside a scene: `NAME.view.json`, whatever the scene's
/// ending.
pub struct OfOld {
    /// It exists.
    pub file: PathBuf,
    /// The scenes in its folder that it may be of.
    pub sharers: Vec<PathBuf>,
}

/// The file that an earlier version left for a scene or for another one of its name.
pub fn of_old(scene: &Path) -> Option<OfOld> {
    let name = |scene: &Path| scene.with_extension("view.json");
    let file = match scene.is_dir() {
        true => scene.join("meta.view.json"),
        false => name(scene),
    };
    if !file.is_file() {
        return None;
    }
    let entries = std::fs::read_dir(folder_of(scene)).ok()?;
    let files = entries
        .flatten()
        .map(|entry| folder_of(scene).join(entry.file_name()));
    let shares = |other: &PathBuf| {
        name(other).file_name() == file.file_name() && Format::of_name(other).is_some()
    };
    Some(OfOld {
        sharers: files.filter(shares).collect(),
        file,
    })
}

/// The file to read what was chosen for a scene alone: [`beside`], else what an earlier version
/// left, if it is of no other scene; if neither is there, [`beside`].
pub fn found_beside(scene: &Path) -> PathBuf {
    let now = beside(scene);
    match of_old(scene) {
        Some(old) if !now.is_file() && old.sharers.len() <= 1 => old.file,
        _ => now,
    }
}

/// Gives the file that an earlier version left for a scene its name of now, if it is of no other
/// scene.
///
/// # Errors
/// If it cannot be renamed.
pub fn rename_old(scene: &Path) -> Result<()> {
    let (found, now) = (found_beside(scene), beside(scene));
    if found != now
        && let Err(error) = std::fs::rename(&found, &now)
    {
        bail!("{}: cannot be renamed ({error})", found.display());
    }
    Ok(())
}
