//! How depth maps are read.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Depth maps to load with the photos.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DepthOptions {
    /// Their folder, below the dataset's; `None` for where the dataset's format has them, and for
    /// `depths`, `depth` and COLMAP's `stereo/depth_maps`.
    pub folder: Option<PathBuf>,
    /// World units of a value; `None` for what the dataset's format says, else 0.001 of integers
    /// and 1 of floats.
    pub unit: Option<f64>,
    /// What the values are.
    pub values: DepthValues,
}

/// Maps of normals to load with the photos.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NormalOptions {
    /// Their folder, below the dataset's; `None` for `normals`, `normal` and COLMAP's
    /// `stereo/normal_maps`.
    pub folder: Option<PathBuf>,
    /// In which axes they are.
    pub frame: NormalFrame,
}

/// The axes that normals are in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormalFrame {
    /// The camera's: x right, y down, z forward.
    #[default]
    OpenCv,
    /// The camera's: x right, y up, z back.
    OpenGl,
    /// The world's, as the cameras' poses are in.
    World,
}

/// What the values of depth maps are. All but the first get their numbers from the dataset's
/// points, for each photo its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DepthValues {
    /// Depths in units of the world.
    #[default]
    Metric,
    /// Depths up to a factor.
    Scaled,
    /// Depths up to a factor and an offset.
    Relative,
    /// Inverse depths up to a factor and an offset.
    Disparity,
}
