//! How to open a dataset.

/// How to open a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Folder of the photos in place of `images`, for example `images_4`.
    pub images: Option<String>,
    /// Seed of the random points.
    pub seed: u64,
    /// How many random points are made when the dataset has none.
    pub random_points: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            images: None,
            seed: 0,
            random_points: 50_000,
        }
    }
}
