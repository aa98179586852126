//! Filling in what depends on other settings, and checking values.

use super::layers::scaled_steps;
use super::{Config, ConfigError, DensifyStatistic, Strategy};

impl Config {
    /// The same config with every setting that depends on `iterations` or `strategy` filled in.
    /// What may stay unset means "no limit" or "not at all". Resolving twice changes nothing.
    ///
    /// Steps are INRIA's (3dgs-mcmc's) times `iterations / 30000`, so that a short run passes
    /// through the same phases. Some do not shrink with the run, because they are about evidence
    /// and recovery rather than progress:
    /// - `sh-every` stays 1000 down to 10,000 steps and `densify-from` 500 down to 15,000 (then a
    ///   tenth and a thirtieth of the run), as in 3dgs-mcmc and gsplat, which do not scale them:
    ///   harmonics that come early fit the training views' own colours. docs/measurements/cuda.md
    ///   has the numbers; one view decides them, and they are noisy.
    /// - `densify-every` stays 100: a Gaussian's mean gradient comes from the views that saw it
    ///   since the last round, and fewer than some tens of photos say little. A short run has fewer
    ///   rounds, not hastier ones.
    /// - `opacity-reset-every` is at least 10 rounds: after a reset everything useful needs several
    ///   hundred steps to climb back above `min-opacity`-like values before pruning may judge it.
    ///   Runs of up to 2,000 steps therefore have no reset at all, those of 7,000 have three.
    ///   `prune-every` of an adc run is the same, so that scores are taken right before a reset and
    ///   never soon after one, when nothing makes up much of any photo.
    pub fn resolved(&self) -> Self {
        let (mcmc, steps) = (self.strategy == Strategy::Mcmc, |n| {
            scaled_steps(n, self.iterations)
        });
        let by_strategy = |adc: f64, other: f64| Some(if mcmc { other } else { adc });
        let densify_every = self.densify_every.max(1);
        let reset_every = steps(3000).max(densify_every.saturating_mul(10));
        Self {
            max_gaussians: self.max_gaussians.or(mcmc.then_some(1_000_000)),
            lr_opacity: self.lr_opacity.or(by_strategy(0.025, 0.05)),
            opacity_regulariser: self.opacity_regulariser.or(by_strategy(0.0, 0.01)),
            scale_regulariser: self.scale_regulariser.or(by_strategy(0.0, 0.01)),
            coarse_until: self.coarse_until.or(Some(steps(10_000))),
            sh_every: self
                .sh_every
                .or(Some((self.iterations / 10).clamp(1, 1000))),
            densify_from: self
                .densify_from
                .or(Some((self.iterations / 30).clamp(1, 500))),
            densify_until: self
                .densify_until
                .or(Some(steps(if mcmc { 25_000 } else { 15_000 }))),
            densify_gradient: self.densify_gradient.or(Some(match self.densify_statistic {
                DensifyStatistic::Mean => 2e-4,
                DensifyStatistic::Absolute => 3e-4,
            })),
            prune_floaters: self.prune_floaters.or(by_strategy(0.8, 0.0)),
            max_scale: self.max_scale.or(by_strategy(0.0, 0.25)),
            prune_every: self
                .prune_every
                .or(Some(if mcmc { steps(3000) } else { reset_every })),
            opacity_reset_every: self.opacity_reset_every.or(Some(reset_every)),
            init_opacity: self.init_opacity.or(by_strategy(0.1, 0.5)),
            init_scale: self.init_scale.or(by_strategy(1.0, 0.1)),
            ..self.clone()
        }
    }

    /// Checks every value, and that they do not contradict each other.
    ///
    /// # Errors
    /// The first value that makes no sense, alone or beside another one, with what is expected
    /// instead.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let check =
            |sound: bool, key: &'static str, value: &dyn ToString, problem: &'static str| {
                sound.then_some(()).ok_or_else(|| ConfigError::Value {
                    key,
                    value: value.to_string(),
                    problem,
                })
            };
        let at_least_1 = "must be at least 1";
        check(
            self.iterations >= 1,
            "iterations",
            &self.iterations,
            at_least_1,
        )?;
        check(
            self.sh_degree <= 3,
            "sh-degree",
            &self.sh_degree,
            "must be 0, 1, 2 or 3",
        )?;
        check(
            self.test_every != 1,
            "test-every",
            &self.test_every,
            "would hold out every photo and leave none to train on; write 8, or 0 to hold out none",
        )?;
        check(
            i64::try_from(self.seed).is_ok(),
            "seed",
            &self.seed,
            "must be below 2^63 (config files hold no larger numbers)",
        )?;
        check(
            self.densify_every >= 1,
            "densify-every",
            &self.densify_every,
            at_least_1,
        )?;
        for (key, value) in [
            ("max-size", self.max_size.map(u64::from)),
            ("max-gaussians", self.max_gaussians.map(|n| n as u64)),
            ("threads", self.threads.map(|n| n as u64)),
            ("sh-every", self.sh_every.map(u64::from)),
            (
                "opacity-reset-every",
                self.opacity_reset_every.map(u64::from),
            ),
            ("prune-every", self.prune_every.map(u64::from)),
            ("score-views", Some(self.score_views as u64)),
        ] {
            if let Some(value) = value {
                check(value >= 1, key, &value, at_least_1)?;
            }
        }
        if let Some(every) = self.eval_every {
            check(
                every >= 1,
                "eval-every",
                &every,
                "must be at least 1; leave it out to measure only at the end",
            )?;
        }
        for (key, value) in [
            ("lr-means", self.lr_means),
            ("lr-means-final", self.lr_means_final),
            ("lr-exposure", self.lr_exposure),
            ("lr-exposure-final", self.lr_exposure_final),
        ] {
            check(
                value.is_finite() && value > 0.0,
                key,
                &value,
                "must be above 0 (it decays exponentially)",
            )?;
        }
        for (key, value) in [
            ("lr-sh-base", Some(self.lr_sh_base)),
            ("lr-sh-rest", Some(self.lr_sh_rest)),
            ("lr-opacity", self.lr_opacity),
            ("lr-scales", Some(self.lr_scales)),
            ("lr-rotations", Some(self.lr_rotations)),
            ("opacity-regulariser", self.opacity_regulariser),
            ("scale-regulariser", self.scale_regulariser),
            ("sh-regulariser", Some(self.sh_regulariser)),
            ("noise-rate", Some(self.noise_rate)),
            ("densify-gradient", self.densify_gradient),
            ("score-threshold", Some(self.score_threshold)),
            ("prune-importance", Some(self.prune_importance)),
            ("split-scale", Some(self.split_scale)),
            ("prune-scale", Some(self.prune_scale)),
            ("growth", Some(self.growth)),
            ("max-scale", self.max_scale),
        ] {
            if let Some(value) = value {
                check(
                    value.is_finite() && value >= 0.0,
                    key,
                    &value,
                    "must be 0 or more, and finite",
                )?;
            }
        }
        check(
            (0.0..=1.0).contains(&self.ssim_weight),
            "ssim-weight",
            &self.ssim_weight,
            "must be from 0 to 1",
        )?;
        for (key, value) in [
            ("score-error", self.score_error),
            ("prune-bad-share", self.prune_bad_share),
        ] {
            check(
                (0.0..=1.0).contains(&value),
                key,
                &value,
                "must be from 0 to 1",
            )?;
        }
        for (key, value) in [
            ("min-opacity", Some(self.min_opacity)),
            ("prune-floaters", self.prune_floaters),
        ] {
            if let Some(value) = value {
                check(
                    (0.0..1.0).contains(&value),
                    key,
                    &value,
                    "must be from 0 to below 1",
                )?;
            }
        }
        for (key, value) in [
            ("opacity-reset-to", Some(self.opacity_reset_to)),
            ("init-opacity", self.init_opacity),
        ] {
            if let Some(value) = value {
                check(
                    value > 0.0 && value < 1.0,
                    key,
                    &value,
                    "must be above 0 and below 1",
                )?;
            }
        }
        if let Some(scale) = self.init_scale {
            check(
                scale.is_finite() && scale > 0.0,
                "init-scale",
                &scale,
                "must be above 0",
            )?;
        }
        self.check_together()
    }
}
