//! What a step learns from depth maps.

use super::{Schedule, log_linear};
use crate::config::DEPTH_FINAL_SHARE;
use splatcore_core::depth::DepthPlan;

impl Schedule {
    /// The plan of step `step`, if depths guide the run and any are known: the weight falls
    /// exponentially.
    pub(super) fn depth(&self, step: u32) -> Option<DepthPlan> {
        let settings = &self.config.depth;
        let unit = self.depth_unit.filter(|_| settings.guide())?;
        let from = settings.weight;
        let weight = log_linear(from, from * DEPTH_FINAL_SHARE, self.progress(step));
        Some(DepthPlan {
            loss: settings.loss,
            weight: weight as f32,
            unit,
        })
    }
}
