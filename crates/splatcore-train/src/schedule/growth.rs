//! How many Gaussians a run will have.

use super::Schedule;
use crate::config::{DensifyGrowth, Strategy};
use splatcore_core::backend::Refine;

/// adc by a threshold, before anything is known: the set grows by this factor until growth ends.
const UNKNOWN_GROWTH: f64 = 2.0;
/// adc by a threshold: of what it grew a step lately, so much on average until growth ends.
const SLOWING: f64 = 0.6;

/// Growth by a budget without a limit: a run of so many steps on photos of so many pixels in all
/// ends with so many Gaussians. Half the steps or half the pixels pay for 0.7 of them, more steps
/// for no more (docs/log/training-recipe.md).
const USUAL: (f64, f64, f64) = (1e6, 30_000.0, 1e8);
/// ... where of large photos no more steps count than these for each: what such a photo shows is
/// learned by then, and more Gaussians fit the noise of its pixels. Smaller photos, which are
/// mostly reduced, have less of it.
const STEPS_A_LARGE_PHOTO: f64 = 170.0;
/// ... and never with more than this, which take 2 GB on a card. Who has more memory can say so.
const MAX_USUAL: f64 = 4e6;

/// Gaussians that so many steps on photos of so many pixels in all are worth.
pub fn worth(steps: f64, pixels: f64) -> f64 {
    let (gaussians, most, usual) = USUAL;
    let share = steps.min(most) / most * pixels / usual;
    (gaussians * share.sqrt()).min(MAX_USUAL)
}

impl Schedule {
    /// Most Gaussians of the run: what is given; without that, if growth is by a budget, what steps
    /// and photos are worth.
    pub(crate) fn limit(&self) -> usize {
        let c = &self.config;
        match c.scene.max_gaussians {
            None if c.grows_by_budget() && self.pixels > 0 => {
                let steps = f64::from(c.iterations);
                let steps = match self.large_photos {
                    Some(photos) => steps.min(STEPS_A_LARGE_PHOTO * photos as f64),
                    None => steps,
                };
                worth(steps, self.pixels as f64).ceil() as usize
            }
            _ => c.scene.most_gaussians(),
        }
    }

    /// How many Gaussians there will be in the end if there are `gaussians` after step `step`, as
    /// far as that is known: mcmc grows by the same factor every time; what adc does depends on the
    /// photos, it counts as nothing.
    pub fn gaussians_in_the_end(&self, step: u32, gaussians: usize) -> usize {
        let c = &self.config;
        if c.strategy.follows_gradients() {
            return match c.grows_by_budget() && c.densify.until > 0 {
                true => self.limit().max(gaussians),
                false => gaussians,
            };
        }
        let every = c.densify.every;
        let from = (step / every).max(c.densify.from / every);
        let until = c.iterations.min(c.densify.until);
        let mut count = gaussians;
        for round in from.saturating_add(1)..=until / every {
            let before = count;
            for refine in self.refinements(round * every) {
                if let Refine::Mcmc {
                    growth,
                    max_gaussians,
                    ..
                } = refine
                {
                    let grown = (count as f64 * (1.0 + growth as f64)) as usize;
                    count = grown.min(max_gaussians).max(count);
                }
            }
            // However many rounds are left: what does not grow now never will.
            if count == before {
                break;
            }
        }
        count
    }

    /// About how many Gaussians there will be at step `at` if there are `gaussians` after step
    /// `step`; `trend` is what the set grew by in a step lately, if that is known.
    pub(crate) fn gaussians_at(
        &self,
        at: u32,
        (step, gaussians): (u32, usize),
        trend: Option<f64>,
    ) -> f64 {
        let (c, densify) = (&self.config, &self.config.densify);
        let until = densify.until.min(c.iterations);
        let (from, to) = (step.max(densify.from).min(until), at.min(until));
        let (now, limit) = (gaussians as f64, self.limit() as f64);
        let (passed, all) = (
            f64::from(to.saturating_sub(from)),
            f64::from(until - from).max(1.0),
        );
        let grown = match (c.strategy, densify.growing) {
            (Strategy::Mcmc, _) => {
                let rounds = to / densify.every - (from / densify.every).min(to / densify.every);
                now * (1.0 + densify.growth).powf(rounds.into())
            }
            (_, DensifyGrowth::Budget) => now + (limit - now).max(0.0) * passed / all,
            (_, DensifyGrowth::Threshold) => match trend {
                Some(trend) => now + (SLOWING * trend * passed).max(0.0),
                None => now * (1.0 + (UNKNOWN_GROWTH - 1.0) * passed / all),
            },
        };
        grown.min(limit).max(now)
    }
}
