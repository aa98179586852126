//! The formats' names, and what a file held.

use super::world::WorldTransform;
use crate::CameraPath;

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
    /// How nerfstudio's world was taken to lie in the scene's, if anything said so.
    pub world: Option<WorldTransform>,
}
