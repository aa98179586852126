//! What formats share: their names, what a file held, how bytes become JSON.

use crate::{CameraPath, PathError};
use std::path::Path;

/// A larger file is no path.
pub const MAX_BYTES: u64 = 256 << 20;
/// Where what is read is listed.
pub const HELP: &str = "give a camera path of splatcore's viewer, nerfstudio, supersplat-viewer, \
                    SuperSplat or splat-transform";

/// A program's way to store a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `{"splatcore": "camera path 1", ...}`.
    Own,
    /// `camera_path.json`.
    Nerfstudio,
    /// `settings.json` of supersplat-viewer.
    Settings,
    /// `.ssproj` of SuperSplat.
    Ssproj,
    /// `--camera-track` of splat-transform.
    Track,
}

impl Format {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            Self::Own => "splatcore's viewer",
            Self::Nerfstudio => "nerfstudio",
            Self::Settings => "supersplat-viewer",
            Self::Ssproj => "SuperSplat",
            Self::Track => "splat-transform",
        }
    }
}

/// What a file held.
#[derive(Clone, Debug)]
pub struct Read {
    /// In the scene's axes.
    pub path: CameraPath,
    /// Whose file it is.
    pub format: Format,
    /// What is worth saying: how axes were taken, what was left out.
    pub notes: Vec<String>,
}

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
