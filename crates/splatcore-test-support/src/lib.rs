//! What tests of several crates share. No crate depends on it but for its tests, and it is not
//! published.

#[cfg(all(unix, feature = "browser"))]
pub mod chromium;
pub mod footprints;
pub mod heap;

use std::path::PathBuf;

/// A file or folder of the real data: in the folder that the environment variable `SPLATCORE_DATA`
/// names, or in `shared/data` beside the project (tests run in a package's folder). If it
/// is missing `None`, and a line that says so.
pub fn shared(name: &str) -> Option<PathBuf> {
    let root = std::env::var_os("SPLATCORE_DATA")
        .map_or_else(|| PathBuf::from("../../../shared/data"), PathBuf::from);
    // Absolute: a program that a test starts may run in another folder.
    let path = std::path::absolute(root.join(name)).ok()?;
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} not found", path.display());
    None
}
