//! From a file to JSON.

use crate::PathError;
use std::path::Path;

/// A larger file is no path.
pub const MAX_BYTES: u64 = 256 << 20;
/// Where what is read is listed.
pub const HELP: &str = "give a camera path of splatcore's viewer, nerfstudio, supersplat-viewer, \
                    SuperSplat or splat-transform";

/// The bytes of a file that may be a path.
pub fn bytes_of(file: &Path) -> Result<Vec<u8>, PathError> {
    let failed = |error: std::io::Error| {
        let problem = format!("cannot be read ({error})");
        PathError::file(
            file,
            "",
            problem,
            "check that it exists and that you may read it",
        )
    };
    let size = std::fs::metadata(file).map_err(failed)?.len();
    if size > MAX_BYTES {
        let problem = format!("is too large for a camera path ({size} bytes)");
        return Err(PathError::file(file, "", problem, HELP));
    }
    std::fs::read(file).map_err(failed)
}

/// The bytes as JSON; `file` is for messages.
pub fn parse_json(bytes: &[u8], file: &Path) -> Result<serde_json::Value, PathError> {
    serde_json::from_slice(bytes)
        .map_err(|error| PathError::file(file, "", format!("is not JSON ({error})"), HELP))
}
