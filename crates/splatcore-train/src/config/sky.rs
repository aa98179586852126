//! Whether and how a run learns a sky.

use super::settings::Config;
use std::path::PathBuf;

/// The rate at the last step, as a share of that at the first.
pub(crate) const FINAL_SHARE: f64 = 0.01;

/// Whether and how a sky is learned.
#[derive(Clone, Debug, PartialEq)]
pub struct SkySettings {
    /// Whether it is.
    pub learn: bool,
    /// The folder of masks of it, below the dataset's; `None` for none.
    pub masks: Option<PathBuf>,
    /// Weight of alpha where masks show the sky.
    pub weight: f64,
    /// Learning rate at the first step.
    pub rate: f64,
}

impl SkySettings {
    /// The given settings, and the others' defaults.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            learn: config.sky.unwrap_or(false),
            masks: config.sky_masks.clone(),
            weight: config.sky_weight.unwrap_or(0.3),
            rate: config.lr_sky.unwrap_or(0.01),
        }
    }

    /// These settings one by one.
    pub(super) fn to_settings(&self) -> Config {
        Config {
            sky: Some(self.learn),
            sky_masks: self.masks.clone(),
            sky_weight: Some(self.weight),
            lr_sky: Some(self.rate),
            ..Config::UNSET
        }
    }
}
