//! What the settings of the run beside a scene say of its photos.

use super::SceneSource;
use splatcore_data::dataset::ReadoutTime;
use splatcore_train::config::PhotoLens;
use splatcore_train::{Config, ResolvedConfig};

impl SceneSource {
    /// `--max-size` of the run beside the scene, if it has one.
    pub fn max_size(&self) -> Option<u32> {
        self.run_settings()?.data.max_size
    }

    /// How cameras read their photos in the run beside the scene, if it was told so.
    pub fn readout(&self) -> Option<ReadoutTime> {
        self.run_settings()?.readout()
    }

    /// The settings of the run beside the scene, if they can be read.
    fn run_settings(&self) -> Option<ResolvedConfig> {
        Some(Config::from_file(&self.config()).ok()?.complete())
    }

    /// Whether photos keep their lens: what was typed, else as in the run beside the scene.
    pub fn keep_lens(&self, typed: Option<PhotoLens>) -> bool {
        let lens = typed.or_else(|| Some(self.run_settings()?.data.lens));
        lens == Some(PhotoLens::AsTaken)
    }
}
