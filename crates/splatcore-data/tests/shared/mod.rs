//! Where tests, those of other crates too, find real data: the folder that `SPLATCORE_DATA` names,
//! or `shared/data` beside the project.

use std::path::{Path, PathBuf};

/// A file or folder of the shared data; says so when it is missing.
pub fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SPLATCORE_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} not found", path.display());
    None
}
