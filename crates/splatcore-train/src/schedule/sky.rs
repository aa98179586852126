//! What a step learns of the sky.

use super::{Schedule, log_linear};
use crate::config::SKY_FINAL_SHARE;
use splatcore_core::sky::SkyPlan;

impl Schedule {
    /// The plan of step `step`, if a sky is learned.
    pub(super) fn sky(&self, step: u32) -> Option<SkyPlan> {
        let settings = &self.config.sky;
        let rate = log_linear(
            settings.rate,
            settings.rate * SKY_FINAL_SHARE,
            self.progress(step),
        );
        settings.learn.then_some(SkyPlan { rate: rate as f32 })
    }
}
