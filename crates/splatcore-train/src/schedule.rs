//! What happens at which step: learning rates, SH degree, refinements. Pure functions of the config.
//!
//! `adc` is INRIA's current code (graphdeco-inria/gaussian-splatting, `arguments/__init__.py`, `train.py`),
//! `mcmc` is 3dgs-mcmc, as gsplat also has it. Differences, all deliberate:
//!
//! - INRIA refines between the backward pass and the optimiser's step of the same iteration; replacing the
//!   parameters there drops their gradients, so that this iteration's step does nothing. Here the step comes
//!   first (it is one call to the device), then the refinement: one Adam step more per round.
//! - INRIA also prunes Gaussians that were large on screen (`max_radii2D > 20`), but zeroes that array while
//!   densifying, just before testing it: the test never holds. It is left out.
//! - Steps scale with `iterations` (see [`Config::resolved`]).

use crate::config::{Background, Config, Strategy};
use splatcore_core::backend::{LearningRates, Refine, RenderOptions, StepPlan};
use splatcore_core::semantics::Semantics;

/// Exponential decay: `from` at `t = 0`, `to` at `t = 1`, a straight line on a logarithmic axis; `t` is clamped
/// (INRIA's `get_expon_lr_func` without its delay, which their defaults switch off).
pub fn log_linear(from: f64, to: f64, t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    (from.ln() * (1.0 - t) + to.ln() * t).exp()
}

/// The schedule of one run.
#[derive(Clone, Debug)]
pub struct Schedule {
    config: Config,
    extent: f64,
}

impl Schedule {
    /// For a config (resolved here) and the extent of the training cameras in world units
    /// ([`splatcore_core::camera::extent`]).
    pub fn new(config: &Config, extent: f64) -> Self {
        Self {
            config: config.resolved(),
            extent,
        }
    }

    /// The resolved config.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Learning rates of step `step` (from 1). The means' holds the extent.
    pub fn rates(&self, step: u32) -> LearningRates {
        let c = &self.config;
        let t = step as f64 / c.iterations as f64;
        LearningRates {
            means: (log_linear(c.lr_means, c.lr_means_final, t) * self.extent) as f32,
            log_scales: c.lr_scales as f32,
            rotations: c.lr_rotations as f32,
            opacity_logits: c.lr_opacity.unwrap_or(0.025) as f32,
            sh_base: c.lr_sh_base as f32,
            sh_rest: c.lr_sh_rest as f32,
        }
    }

    /// SH degree in use at step `step`: 0 at first, one more every `sh-every` steps.
    pub fn sh_degree(&self, step: u32) -> u8 {
        let every = self.config.sh_every.unwrap_or(1000).max(1);
        (step / every).min(self.config.sh_degree as u32) as u8
    }

    /// How to render at step `step`.
    pub fn render(&self, step: u32) -> RenderOptions {
        RenderOptions {
            pipeline: self.config.pipeline,
            sh_degree: self.sh_degree(step),
            background: self.config.background.colour(),
            semantics: Semantics::default(),
        }
    }

    /// The plan of step `step` on view `view`.
    pub fn plan(&self, step: u32, view: usize) -> StepPlan {
        let c = &self.config;
        let rates = self.rates(step);
        StepPlan {
            step,
            view,
            render: self.render(step),
            rates,
            ssim_weight: c.ssim_weight as f32,
            opacity_regulariser: c.opacity_regulariser.unwrap_or(0.0) as f32,
            scale_regulariser: c.scale_regulariser.unwrap_or(0.0) as f32,
            statistics: c.strategy == Strategy::Adc && step < self.densify_until(),
            noise: (c.strategy == Strategy::Mcmc && c.noise_rate > 0.0)
                .then_some((c.noise_rate * rates.means as f64) as f32),
            seed: c.seed,
        }
    }

    /// What follows step `step`, in order: densification and pruning when `densify-from < step < densify-until`
    /// and `step` is a multiple of `densify-every`; then, for adc before `densify-until`, the opacity reset at
    /// multiples of `opacity-reset-every`, and once at `densify-from` on a white background (where opaque white
    /// haze costs nothing to the loss). Large Gaussians are pruned only after the first reset interval.
    pub fn refinements(&self, step: u32) -> Vec<Refine> {
        let c = &self.config;
        let (from, until) = (c.densify_from.unwrap_or(500), self.densify_until());
        let reset = c.opacity_reset_every.unwrap_or(3000).max(1);
        let mut refinements = Vec::new();
        if step >= until {
            return refinements;
        }
        if step > from && step.is_multiple_of(c.densify_every.max(1)) {
            let max_gaussians = c.max_gaussians.unwrap_or(usize::MAX);
            refinements.push(match c.strategy {
                Strategy::Adc => Refine::Adc {
                    gradient_threshold: c.densify_gradient as f32,
                    split_scale: (c.split_scale * self.extent) as f32,
                    min_opacity: c.min_opacity as f32,
                    max_scale: (step > reset).then_some((c.prune_scale * self.extent) as f32),
                    max_gaussians,
                    seed: c.seed,
                    step,
                },
                Strategy::Mcmc => Refine::Mcmc {
                    min_opacity: c.min_opacity as f32,
                    growth: c.growth as f32,
                    max_gaussians,
                    seed: c.seed,
                    step,
                },
            });
        }
        let white = c.background == Background::White;
        if c.strategy == Strategy::Adc && (step.is_multiple_of(reset) || (white && step == from)) {
            refinements.push(Refine::ResetOpacity {
                ceiling: c.opacity_reset_to as f32,
            });
        }
        refinements
    }

    /// How many Gaussians there will be in the end if there are `gaussians` after step `step`, as far as that is known:
    /// mcmc grows by the same factor every time; what adc does depends on the photos, it counts as nothing.
    pub fn gaussians_in_the_end(&self, step: u32, gaussians: usize) -> usize {
        let rounds = (step + 1..=self.config.iterations).flat_map(|step| self.refinements(step));
        rounds.fold(gaussians, |count, refine| match refine {
            Refine::Mcmc {
                growth,
                max_gaussians,
                ..
            } => {
                let grown = (count as f64 * (1.0 + growth as f64)) as usize;
                grown.min(max_gaussians).max(count)
            }
            _ => count,
        })
    }

    fn densify_until(&self) -> u32 {
        self.config.densify_until.unwrap_or(15_000)
    }
}

#[cfg(test)]
mod tests;
