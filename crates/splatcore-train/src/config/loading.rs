//! How a run's settings have a dataset opened and its photos decoded.

use super::{Background, PhotoLens, ResolvedConfig};
use splatcore_data::dataset::{LoadOptions, ReadoutTime};

impl ResolvedConfig {
    /// How cameras read their photos, where the dataset does not say it.
    pub fn readout(&self) -> Option<ReadoutTime> {
        self.data.readout_time.map(|seconds| ReadoutTime {
            seconds,
            order: self.data.readout_direction.into(),
        })
    }

    /// How photos are decoded. They keep their transparency where what they stand on changes: with
    /// the step, or with each photo's colour model.
    pub fn load_options(&self) -> LoadOptions {
        LoadOptions {
            max_size: self.data.max_size,
            background: self.data.background.colour(),
            keep_alpha: self.data.background == Background::Random || self.loss.colour.is_some(),
            keep_lens: self.data.lens == PhotoLens::AsTaken,
            depths: self.depth.options(),
            normals: self.depth.normals.options(),
            sky_masks: self.sky.masks.clone(),
            memory: None,
        }
    }
}
