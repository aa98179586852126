//! What tests of several crates share. No crate depends on it but for its tests, and it is not
//! published.

#[cfg(all(unix, feature = "browser"))]
pub mod chromium;
pub mod footprints;
pub mod heap;

use std::fmt::Display;
use std::path::PathBuf;

/// Asserts that a text, or what an error says, contains each of the parts; shows the text if not.
#[macro_export]
macro_rules! assert_contains {
    ($text:expr, $($part:expr),+ $(,)?) => {
        $crate::check_contains(&$text, &[$(AsRef::<str>::as_ref(&$part)),+])
    };
}

/// What [`assert_contains`] does.
#[track_caller]
pub fn check_contains(text: &dyn Display, parts: &[&str]) {
    let text = text.to_string();
    for part in parts {
        assert!(text.contains(part), "no {part:?} in: {text}");
    }
}

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

/// Several of them ([`shared`]); `None` if one is missing.
pub fn shared_all<const N: usize>(names: [&str; N]) -> Option<[PathBuf; N]> {
    let found: Vec<PathBuf> = names.into_iter().map_while(shared).collect();
    found.try_into().ok()
}
