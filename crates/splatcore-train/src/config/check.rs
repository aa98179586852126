//! Which values are accepted.

use super::choices::{DepthKind, Depths};
use super::{ConfigError, ResolvedConfig};

const AT_LEAST_1: &str = "must be at least 1";

/// Fails with the problem unless the value is sound.
fn require(
    sound: bool,
    key: &'static str,
    value: &dyn ToString,
    problem: &'static str,
) -> Result<(), ConfigError> {
    sound.then_some(()).ok_or_else(|| ConfigError::Value {
        key,
        value: value.to_string(),
        problem: problem.into(),
        instead: None,
    })
}

/// Fails with the problem at the first value that is not sound.
fn require_all(
    values: &[(&'static str, f64)],
    sound: impl Fn(f64) -> bool,
    problem: &'static str,
) -> Result<(), ConfigError> {
    values
        .iter()
        .try_for_each(|(key, value)| require(sound(*value), key, value, problem))
}

impl ResolvedConfig {
    /// Checks every value, and that they do not contradict each other.
    ///
    /// # Errors
    /// The first value that makes no sense, alone or beside another one, with what is expected
    /// instead.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_counts()?;
        self.check_readout()?;
        self.check_numbers()?;
        self.check_depth()?;
        self.check_sky()?;
        self.check_together()
    }

    fn check_counts(&self) -> Result<(), ConfigError> {
        let (data, scene) = (&self.data, &self.scene);
        let iterations = self.iterations;
        require(iterations >= 1, "iterations", &iterations, AT_LEAST_1)?;
        if let Some(most) = self.budget.as_ref().and_then(|b| b.max_iterations()) {
            require(most >= 1, "iterations", &most, AT_LEAST_1)?;
        }
        let degree = scene.sh_degree;
        require(degree <= 3, "sh-degree", &degree, "must be 0, 1, 2 or 3")?;
        require(
            data.test_every != 1,
            "test-every",
            &data.test_every,
            "would hold out every photo and leave none to train on; write 8, or 0 to hold out none",
        )?;
        require(
            i64::try_from(self.seed).is_ok(),
            "seed",
            &self.seed,
            "must be below 2^63 (config files hold no larger numbers)",
        )?;
        for (key, value) in [
            ("batch", Some(u64::from(self.batch.views))),
            ("densify-every", Some(u64::from(self.densify.every))),
            ("max-size", data.max_size.map(u64::from)),
            ("max-gaussians", scene.max_gaussians.map(|n| n as u64)),
            ("threads", self.compute.threads.map(|n| n as u64)),
            ("sh-every", Some(u64::from(scene.sh_every))),
            (
                "opacity-reset-every",
                Some(u64::from(self.densify.opacity_reset_every)),
            ),
            ("prune-every", Some(u64::from(self.prune.every))),
        ] {
            if let Some(value) = value {
                require(value >= 1, key, &value, AT_LEAST_1)?;
            }
        }
        match self.saving.eval_every {
            Some(every) => require(
                every >= 1,
                "eval-every",
                &every,
                "must be at least 1; leave it out to measure only at the end",
            ),
            None => Ok(()),
        }
    }

    fn check_readout(&self) -> Result<(), ConfigError> {
        require_all(
            &[("readout-time", self.data.readout_time.unwrap_or(0.0))],
            |seconds| (0.0..=0.5).contains(&seconds),
            "must be seconds, 0 to 0.5 (a phone reads a photo in 0.01 to 0.03)",
        )
    }

    fn check_poses(&self) -> Result<(), ConfigError> {
        require_all(
            &[
                ("pose-degrees", self.poses.max_degrees),
                ("pose-travel", self.poses.travel),
            ],
            |value| value > 0.0 && value <= 180.0,
            "must be above 0, at most 180",
        )?;
        require_all(
            &[("pose-shift", self.poses.max_shift)],
            |value| value.is_finite() && value > 0.0,
            "must be above 0",
        )
    }

    fn check_columns(&self) -> Result<(), ConfigError> {
        require_all(
            &self.columns.numbers(),
            |value| value.is_finite() && value >= 0.0,
            "must be 0 or more, and finite",
        )
    }

    fn check_depth(&self) -> Result<(), ConfigError> {
        let (from, normals) = (&self.depth.from, &self.depth.normals.from);
        require(
            *normals != Depths::Points,
            "normals",
            normals,
            "points have no normals; write ./points for a folder of that name",
        )?;
        let kind = self.depth.kind;
        require(
            *from != Depths::Points || kind == DepthKind::Metric,
            "depth-kind",
            &format!("{kind:?}").to_lowercase(),
            "must be metric with --depths points, whose depths are in units of the world",
        )?;
        require_all(
            &[
                ("depth-weight", self.depth.weight),
                ("normal-weight", self.depth.normals.weight),
            ],
            |value| value.is_finite() && value >= 0.0,
            "must be 0 or more, and finite",
        )?;
        require_all(
            &[("depth-unit", self.depth.unit.unwrap_or(1.0))],
            |value| value.is_finite() && value > 0.0,
            "must be above 0",
        )
    }

    fn check_sky(&self) -> Result<(), ConfigError> {
        require_all(
            &[("sky-weight", self.sky.weight)],
            |value| value.is_finite() && value >= 0.0,
            "must be 0 or more, and finite",
        )?;
        require_all(
            &[("lr-sky", self.sky.rate)],
            |value| value.is_finite() && value > 0.0,
            "must be above 0",
        )
    }

    fn check_numbers(&self) -> Result<(), ConfigError> {
        let (rates, loss) = (&self.rates, &self.loss);
        let (densify, prune) = (&self.densify, &self.prune);
        require_all(
            &[
                ("lr-means", rates.means),
                ("lr-means-final", rates.means_final),
                ("lr-exposure", rates.exposure),
                ("lr-exposure-final", rates.exposure_final),
            ],
            |value| value.is_finite() && value > 0.0,
            "must be above 0 (it decays exponentially)",
        )?;
        require_all(
            &[
                ("lr-sh-base", rates.sh_base),
                ("lr-sh-rest", rates.sh_rest),
                ("lr-opacity", rates.opacity),
                ("lr-scales", rates.scales),
                ("lr-rotations", rates.rotations),
                ("opacity-regulariser", loss.opacity_regulariser),
                ("scale-regulariser", loss.scale_regulariser),
                ("noise-rate", densify.noise_rate),
                ("densify-gradient", densify.gradient),
                ("split-scale", densify.split_scale),
                ("prune-scale", prune.scale.unwrap_or(0.0)),
                ("growth", densify.growth),
                ("max-scale", prune.max_scale.unwrap_or(0.0)),
            ],
            |value| value.is_finite() && value >= 0.0,
            "must be 0 or more, and finite",
        )?;
        require_all(
            &[
                ("lr-final-share", rates.final_share),
                ("ssim-weight", loss.ssim_weight),
            ],
            |value| (0.0..=1.0).contains(&value),
            "must be from 0 to 1",
        )?;
        require_all(
            &[
                ("min-opacity", densify.min_opacity),
                ("prune-floaters", prune.floaters.unwrap_or(0.0)),
            ],
            |value| (0.0..1.0).contains(&value),
            "must be from 0 to below 1",
        )?;
        require_all(
            &[
                ("opacity-reset-to", densify.opacity_reset_to),
                ("init-opacity", self.scene.init_opacity),
            ],
            |value| value > 0.0 && value < 1.0,
            "must be above 0 and below 1",
        )?;
        require_all(
            &[("quality-target", self.quality_target.unwrap_or(1.0))],
            |value| value > 0.0 && value < crate::evaluate::MAX_PSNR,
            "must be above 0 and below 100 dB",
        )?;
        self.check_poses()?;
        self.check_columns()?;
        require_all(
            &[("intrinsics-limit", self.intrinsics.limit)],
            |value| value > 0.0 && value <= 0.5,
            "must be above 0, at most 0.5",
        )?;
        require_all(
            &[("init-scale", self.scene.init_scale)],
            |value| value.is_finite() && value > 0.0,
            "must be above 0",
        )
    }
}
