//! A run whose end moves while it runs: on time for a budget, or soon once its quality is reached.
//!
//! Schedules are functions of the share of the run that is done. The share never jumps: from the
//! step of the latest plan on it grows evenly, so that it is 1 at the last step wherever that is.
//! What happened stays; what comes (the end of growth, full-size photos) comes at the same share of
//! the run as by the first plan. Distances in steps (rounds of densification, resets, harmonics)
//! stay those of the first plan.

use crate::config::ResolvedConfig;
use serde::{Deserialize, Serialize};

/// No pruning by views after this share of a run whose end moves.
pub(super) const LAST_PRUNING: f64 = 0.95;

/// How far a run is at which step.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// Steps of the run by the first plan.
    pub first: u32,
    /// Steps of the run by the latest plan.
    pub iterations: u32,
    /// Step of the latest plan.
    pub step: u32,
    /// The share of the run that was done at that step.
    pub done: f64,
    /// The share at which growth ends.
    pub densify_until: f64,
    /// The step at which growth ends, or ended.
    pub until_step: u32,
    /// The step from which on photos have, or had, their full size.
    pub coarse_step: u32,
}

impl Course {
    /// The share of the run that is done at a step.
    pub fn share(&self, step: u32) -> f64 {
        let left = f64::from(self.iterations.saturating_sub(self.step)).max(1.0);
        let passed = f64::from(step.saturating_sub(self.step));
        (self.done + (1.0 - self.done) * passed / left).min(1.0)
    }

    /// The step at which a share of the run will be done that is not done yet.
    pub(super) fn step_at(&self, share: f64) -> u32 {
        let part = ((share - self.done) / (1.0 - self.done).max(1e-9)).clamp(0.0, 1.0);
        let left = f64::from(self.iterations.saturating_sub(self.step));
        self.step + (part * left).round() as u32
    }
}

impl Course {
    /// Of a run whose end was not moved yet.
    pub(super) fn of(config: &ResolvedConfig, step: u32, iterations: u32) -> Self {
        let all = f64::from(iterations.max(1));
        Self {
            first: iterations,
            iterations,
            step,
            done: (f64::from(step) / all).min(1.0),
            densify_until: (f64::from(config.densify.until) / all).min(1.0),
            until_step: config.densify.until,
            coarse_step: config.data.coarse_until,
        }
    }
}
