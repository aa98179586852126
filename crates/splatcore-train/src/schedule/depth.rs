//! What a step learns from maps of depths and normals, and from masks of the sky.

use super::{Schedule, log_linear};
use crate::config::{DEPTH_FINAL_SHARE, Depths};
use splatcore_core::depth::DepthPlan;

/// Normals count after this share of the run: those of a scene that is not formed yet are noise.
const NORMALS_FROM: f64 = 0.1;

impl Schedule {
    /// The plan of step `step`, if depths guide the run and any are known, or normals, or masks of
    /// the sky: the weights of the former two fall exponentially.
    pub(super) fn depth(&self, step: u32) -> Option<DepthPlan> {
        let settings = &self.config.depth;
        let unit = self.depth_unit.filter(|_| settings.guide());
        let sky_weight = match self.config.sky.masks {
            Some(_) => self.config.sky.weight as f32,
            None => 0.0,
        };
        let normal_weight = self.normal_weight(step) as f32;
        if unit.is_none() && sky_weight == 0.0 && normal_weight == 0.0 {
            return None;
        }
        let from = settings.weight;
        let weight = log_linear(from, from * DEPTH_FINAL_SHARE, self.progress(step));
        Some(DepthPlan {
            loss: settings.loss,
            weight: unit.map_or(0.0, |_| weight as f32),
            unit: unit.unwrap_or(1.0),
            sky_weight,
            normal_weight,
        })
    }

    fn normal_weight(&self, step: u32) -> f64 {
        let (normals, progress) = (&self.config.depth.normals, self.progress(step));
        let from = normals.weight;
        if normals.from == Depths::None || from == 0.0 || progress < NORMALS_FROM {
            return 0.0;
        }
        let passed = (progress - NORMALS_FROM) / (1.0 - NORMALS_FROM);
        log_linear(from, from * DEPTH_FINAL_SHARE, passed)
    }
}
