//! Whether a name still stands for a file that is open.

use std::fs::File;
use std::path::Path;

/// Whether the path still leads to the file.
#[cfg(unix)]
pub fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let same =
        |a: std::fs::Metadata, b: std::fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(own), Ok(there)) => same(own, there),
        _ => false,
    }
}

#[cfg(not(unix))]
pub fn is_at(_: &File, _: &Path) -> bool {
    true
}
