//! How to open a dataset.

use splatcore_core::shutter::Readout;

/// How a camera reads a photo, for datasets whose files say when photos were taken and not this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReadoutTime {
    /// Seconds from the reading of the photo's one edge to that of the other, 0 or more.
    pub seconds: f64,
    /// The order of the lines.
    pub order: Readout,
}

/// How to open a dataset.
#[derive(Clone, Debug, PartialEq)]
pub struct OpenOptions {
    /// Folder of the photos in place of `images`, for example `images_4`.
    pub images: Option<String>,
    /// Seed of the random points.
    pub seed: u64,
    /// How many random points are made when the dataset has none.
    pub random_points: usize,
    /// How the camera reads a photo; what the files say goes before it.
    pub readout: Option<ReadoutTime>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            images: None,
            seed: 0,
            random_points: 50_000,
            readout: None,
        }
    }
}
