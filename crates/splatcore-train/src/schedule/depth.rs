//! What a step learns from depth maps and masks of the sky.

use super::{Schedule, log_linear};
use crate::config::DEPTH_FINAL_SHARE;
use splatcore_core::depth::DepthPlan;

impl Schedule {
    /// The plan of step `step`, if depths guide the run and any are known, or masks of the sky: the
    /// weight of the former falls exponentially.
    pub(super) fn depth(&self, step: u32) -> Option<DepthPlan> {
        let settings = &self.config.depth;
        let unit = self.depth_unit.filter(|_| settings.guide());
        let sky_weight = match self.config.sky.masks {
            Some(_) => self.config.sky.weight as f32,
            None => 0.0,
        };
        if unit.is_none() && sky_weight == 0.0 {
            return None;
        }
        let from = settings.weight;
        let weight = log_linear(from, from * DEPTH_FINAL_SHARE, self.progress(step));
        Some(DepthPlan {
            loss: settings.loss,
            weight: unit.map_or(0.0, |_| weight as f32),
            unit: unit.unwrap_or(1.0),
            sky_weight,
        })
    }
}
