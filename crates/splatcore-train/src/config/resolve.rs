//! Which value a setting has: the given one, or the default. No other place has a default.

use super::choices::{
    BackendChoice, Background, BatchScaling, DensifyGrowth, DensifyStatistic, LineOrder, Moments,
    Optimizer, PhotoLens, ResolutionSchedule, Strategy,
};
use super::columns::ColumnSettings;
use super::depth::DepthSettings;
use super::error::ConfigError;
use super::from_steps::{FOLLOWING, follows_from_steps};
use super::interval::Interval;
use super::preset::Preset;
use super::resolved::{
    Batch, Budget, Checkpoints, Compute, Data, Densify, IntrinsicsSettings, Loss, PoseSettings,
    Prune, Rates, ResolvedConfig, Saving, Scene,
};
use super::settings::Config;
use super::sky::SkySettings;
use splatcore_core::Pipeline;

/// Share of structural similarity in the loss, if nobody sets it.
pub const SSIM_WEIGHT: f64 = 0.2;
/// The number of iterations for which the literature states its schedules.
pub const REFERENCE_ITERATIONS: u32 = 30_000;

/// mcmc: Gaussians at most if that is not given.
const BUDGET: usize = 1_000_000;
/// mcmc: in a run with a budget of time that number follows from the steps that fit, by so many
/// Gaussians a step, as in the presets (7,000 steps: 300,000, 30,000: a million).
const PER_STEP: u32 = 40;
/// ... and never fewer than this.
const MIN_BUDGET: usize = 20_000;
/// mcmc: growth a round, and steps between two rounds, in a run of [`Config::complete`]'s reference
/// length (3dgs-mcmc).
const GROWTH: f64 = 0.05;
/// See [`GROWTH`].
const DENSIFY_EVERY: u32 = 100;
/// mcmc: fewest steps between two rounds that a short run gets unasked. Copies lie in one place at
/// first; they need some steps to move apart before they are copied again.
const MIN_DENSIFY_EVERY: u32 = 20;
/// mcmc: least and most growth a round that a run gets unasked. A round adds whole Gaussians, so
/// that a set of fewer than 1000 would not grow at less; at more than 1 every Gaussian would have
/// several copies in its place.
const GROWTH_LIMITS: [f64; 2] = [0.001, 1.0];
/// mcmc: size of the starting Gaussians (3dgs-mcmc).
const INIT_SCALE: f64 = 0.1;
/// mcmc: runs with fewer iterations start with larger Gaussians.
const SMALL_START_ITERATIONS: f64 = 6000.0;

/// splatcore: opacities are halved as often as this in a whole run, if no other interval is given.
const HALVINGS: u32 = 14;

/// splatcore: in runs of fewer iterations means have higher rates, in proportion ...
const HASTE_ITERATIONS: f64 = 7000.0;
/// ... but never higher than so many times (docs/log/training-recipe.md has 2 and 4 times).
const MAX_HASTE: f64 = 4.0;

/// A step of the 30,000-iteration schedule in a run of `iterations`: rounded, at least 1.
pub fn scaled_steps(steps: u32, iterations: u32) -> u32 {
    let scaled = (steps as f64 * iterations as f64 / REFERENCE_ITERATIONS as f64).round();
    (scaled as u32).max(1)
}

impl Config {
    /// Gives every setting its value and checks them all.
    ///
    /// # Errors
    /// The first value that makes no sense, alone or beside another one.
    pub fn resolve(&self) -> Result<ResolvedConfig, ConfigError> {
        let resolved = self.complete();
        resolved.check()?;
        Ok(resolved)
    }

    /// Gives every setting its value: the given one, else the preset's, else the default. Values
    /// are not checked. To complete [`ResolvedConfig::to_settings`] changes nothing.
    ///
    /// Default steps are INRIA's (3dgs-mcmc's) times `iterations / 30000`, so that a short run
    /// passes through the same phases. Some do not shrink with the run, because they are about
    /// evidence and recovery rather than progress:
    /// - `sh-every` stays 1000 down to 10,000 steps and `densify-from` 500 down to 15,000 (then a
    ///   tenth and a thirtieth of the run), as in 3dgs-mcmc and gsplat, which do not scale them:
    ///   harmonics that come early fit the training views' own colours. docs/log/cuda.md has
    ///   the numbers; one view decides them, and they are noisy.
    /// - `densify-every` of adc stays 100: a Gaussian's mean gradient comes from the views that saw
    ///   it since the last round, and fewer than some tens of photos say little. A short run has
    ///   fewer rounds, not hastier ones.
    /// - `opacity-reset-every` is at least 10 rounds: after a reset everything useful needs several
    ///   hundred steps to climb back above `min-opacity`-like values before pruning may judge it.
    ///   Runs of up to 2,000 steps therefore have no reset at all, those of 7,000 have three.
    ///   `prune-every` of an adc run is the same, so that floaters are searched for right before a
    ///   reset and never soon after one, when hardly anything is opaque.
    ///
    /// mcmc asks no gradients. Its growth follows the length of the run, counted in reference
    /// lengths: the preset's own iterations, or 30,000. A run of that length grows by 5 % every
    /// 100 steps. In a shorter one the rounds move together, down to 20 steps; from there on, and
    /// in a longer one, `growth` changes instead, so that the set reaches `max-gaussians` at the
    /// same share of the run (by 0.1 to 100 % a round).
    ///
    /// Gaussians that start at a tenth of their distance need ln 10 / `lr-scales`, some 460 steps,
    /// to close the gaps between them. In runs of fewer than 6000 iterations the logarithm of
    /// `init-scale` shrinks in proportion, so that this takes no more than a thirteenth of any run.
    ///
    /// The rates of the means of the default strategy are those of a long run times 7000 /
    /// `iterations` in runs of fewer than 7000, up to four times.
    ///
    /// With a `budget` the number of steps is not known: settings are those of a run of 30,000
    /// until [`ResolvedConfig::planned`] makes those of another number. Those of a preset do not
    /// count then, those that are given bound the run. Runs of more than
    /// 30,000 steps have as many rounds of densification as one of 30,000, or the set would grow
    /// with the time.
    pub fn complete(&self) -> ResolvedConfig {
        self.completed(None)
    }

    /// With a budget, of a run of so many steps.
    fn completed(&self, planned: Option<u32>) -> ResolvedConfig {
        let mut given = match self.preset {
            Some(preset) => self.over(&preset.settings()),
            None => self.clone(),
        };
        let budget = self.budget.map(|time| {
            given.iterations = self.iterations;
            let fixed = given.filtered(follows_from_steps);
            given.iterations = planned;
            Budget { time, fixed }
        });
        let given = Given {
            iterations: given.iterations.unwrap_or(REFERENCE_ITERATIONS),
            reference: self.preset.map_or(REFERENCE_ITERATIONS, Preset::iterations),
            strategy: given.strategy.unwrap_or_default(),
            config: given,
        };
        ResolvedConfig {
            preset: self.preset,
            budget,
            quality_target: given.config.quality_target,
            iterations: given.iterations,
            strategy: given.strategy,
            seed: given.config.seed.unwrap_or(0),
            data: given.data(),
            compute: given.compute(),
            saving: given.saving(),
            scene: given.scene(),
            batch: Batch {
                views: given.config.batch.unwrap_or(1),
                scaling: given.config.batch_scaling.unwrap_or(BatchScaling::None),
            },
            optimizer: given.config.optimizer.unwrap_or(Optimizer::Adam),
            bias_correction: !given.config.no_bias_correction.unwrap_or(false),
            rates: given.rates(),
            loss: given.loss(),
            columns: ColumnSettings::of(&given.config),
            poses: given.poses(),
            intrinsics: IntrinsicsSettings::of(&given.config),
            depth: DepthSettings::of(&given.config),
            sky: SkySettings::of(&given.config),
            densify: given.densify(),
            prune: given.prune(),
        }
    }

    /// The defaults that follow from no other setting.
    pub(super) fn fixed_defaults() -> Self {
        let follows = |name: &str| FOLLOWING.contains(&name);
        let defaults = Self::UNSET.complete().to_settings();
        defaults.filtered(|name| !follows(name))
    }
}

impl ResolvedConfig {
    /// The settings of this run if it takes `iterations` steps. Without a budget its number of
    /// steps is given, and nothing changes.
    pub fn planned(&self, iterations: u32) -> Self {
        if self.budget.is_none() {
            return self.clone();
        }
        let mut planned = self.to_settings().completed(Some(iterations));
        // A given step may lie behind the end; photos shall have their full size then.
        let coarse = &mut planned.data.coarse_until;
        *coarse = (*coarse).min(iterations);
        planned
    }
}

impl Preset {
    /// The length of run that it is made for.
    fn iterations(self) -> u32 {
        self.row().iterations
    }

    /// The settings that it gives.
    pub fn settings(self) -> Config {
        let row = self.row();
        Config {
            preset: Some(self),
            iterations: Some(row.iterations),
            max_gaussians: row.max_gaussians,
            sh_degree: row.sh_degree,
            ..Config::UNSET
        }
    }
}

/// What is given, and what most other settings follow from.
struct Given {
    config: Config,
    iterations: u32,
    /// Iterations at which mcmc has its authors' growth.
    reference: u32,
    strategy: Strategy,
}

impl Given {
    fn by_strategy<T>(&self, adc: T, mcmc: T) -> T {
        match self.strategy {
            Strategy::Splatcore | Strategy::Adc => adc,
            Strategy::Mcmc => mcmc,
        }
    }

    /// What the default strategy has, and what the published ones have.
    fn own<T>(&self, splatcore: T, published: T) -> T {
        match self.strategy {
            Strategy::Splatcore => splatcore,
            Strategy::Adc | Strategy::Mcmc => published,
        }
    }

    /// A step of the literature's schedule in this run.
    fn steps(&self, steps: u32) -> u32 {
        scaled_steps(steps, self.iterations)
    }

    fn data(&self) -> Data {
        let c = &self.config;
        Data {
            max_size: c.max_size,
            lens: c.lens.unwrap_or(PhotoLens::Undistort),
            readout_time: c.readout_time,
            readout_direction: c.readout_direction.unwrap_or(LineOrder::TopToBottom),
            test_every: c.test_every.unwrap_or(8),
            background: c.background.unwrap_or(Background::Black),
            resolution: c
                .resolution_schedule
                .unwrap_or(self.own(ResolutionSchedule::CoarseToFine, ResolutionSchedule::Full)),
            coarse_until: c.coarse_until.unwrap_or(self.steps(10_000)),
        }
    }

    fn compute(&self) -> Compute {
        let c = &self.config;
        Compute {
            backend: c.backend.unwrap_or(BackendChoice::Auto),
            threads: c.threads,
            deterministic: c.deterministic.unwrap_or(false),
            pipeline: c.pipeline.unwrap_or(Pipeline::AUTO),
            moments: c.moments.unwrap_or(Moments::Compact),
        }
    }

    fn saving(&self) -> Saving {
        Saving {
            checkpoints: match self.config.checkpoint_every {
                None => Checkpoints::ByTime,
                Some(0) => Checkpoints::AtEnd,
                Some(steps) => Checkpoints::EverySteps(steps),
            },
            eval_every: self.config.eval_every,
        }
    }

    fn scene(&self) -> Scene {
        let c = &self.config;
        Scene {
            sh_degree: c.sh_degree.unwrap_or(3),
            sh_every: c.sh_every.unwrap_or((self.iterations / 10).clamp(1, 1000)),
            max_gaussians: c
                .max_gaussians
                .or(self.by_strategy(None, Some(self.most()))),
            antialias: c.antialias.unwrap_or(false),
            init_opacity: c.init_opacity.unwrap_or(self.by_strategy(0.1, 0.5)),
            init_scale: c.init_scale.unwrap_or(self.init_scale()),
        }
    }

    fn rates(&self) -> Rates {
        let c = &self.config;
        Rates {
            means: c.lr_means.unwrap_or(1.6e-4 * self.haste()),
            means_final: c.lr_means_final.unwrap_or(1.6e-6 * self.haste()),
            sh_base: c.lr_sh_base.unwrap_or(2.5e-3),
            sh_rest: c.lr_sh_rest.unwrap_or(2.5e-3 / 20.0),
            opacity: c.lr_opacity.unwrap_or(self.by_strategy(0.025, 0.05)),
            scales: c.lr_scales.unwrap_or(5e-3),
            rotations: c.lr_rotations.unwrap_or(1e-3),
            final_share: c.lr_final_share.unwrap_or(self.own(0.1, 1.0)),
            exposure: c.lr_exposure.unwrap_or(0.01),
            exposure_final: c.lr_exposure_final.unwrap_or(0.001),
        }
    }

    /// By how much more means move a step than in a run of the reference length: those of a short
    /// run have as far to go.
    fn haste(&self) -> f64 {
        let factor = HASTE_ITERATIONS / f64::from(self.iterations.max(1));
        self.own(factor.clamp(1.0, MAX_HASTE), 1.0)
    }

    fn loss(&self) -> Loss {
        let c = &self.config;
        let regulariser = self.by_strategy(0.0, 0.01);
        Loss {
            ssim_weight: c.ssim_weight.unwrap_or(SSIM_WEIGHT),
            colour: c.by_one_name().appearance.unwrap_or_default().0,
            exif_exposure: c.exif_exposure.unwrap_or(false),
            opacity_regulariser: c.opacity_regulariser.unwrap_or(regulariser),
            scale_regulariser: c.scale_regulariser.unwrap_or(regulariser),
        }
    }

    fn poses(&self) -> PoseSettings {
        let c = &self.config;
        let default = PoseSettings::default();
        PoseSettings {
            refine: c.refine_poses.unwrap_or(default.refine),
            travel: c.pose_travel.unwrap_or(default.travel),
            max_degrees: c.pose_degrees.unwrap_or(default.max_degrees),
            max_shift: c.pose_shift.unwrap_or(default.max_shift),
            motion: c.refine_motion,
        }
    }

    fn densify(&self) -> Densify {
        let c = &self.config;
        let statistic = c.densify_statistic.unwrap_or(DensifyStatistic::Mean);
        let gradient = match statistic {
            DensifyStatistic::Mean => 2e-4,
            DensifyStatistic::Absolute => 3e-4,
        };
        let until = self.steps(match self.growing() {
            DensifyGrowth::Threshold => self.by_strategy(15_000, 25_000),
            DensifyGrowth::Budget => self.by_strategy(24_000, 25_000),
        });
        Densify {
            from: c
                .densify_from
                .unwrap_or((self.iterations / 30).clamp(1, 500)),
            until: c.densify_until.unwrap_or(until),
            every: self.densify_every(),
            gradient: c.densify_gradient.unwrap_or(gradient),
            statistic,
            growing: self.growing(),
            split_scale: c.split_scale.unwrap_or(0.01),
            min_opacity: c.min_opacity.unwrap_or(0.005),
            opacity_reset_every: c.opacity_reset_every.unwrap_or(self.reset_every()),
            opacity_reset_to: c.opacity_reset_to.unwrap_or(0.01),
            opacity_halving_every: c
                .opacity_halving_every
                .or(self.own(Some(Interval::Steps(self.halving_every())), None))
                .filter(|every| every.steps(1) > 0),
            growth: c.growth.unwrap_or(self.growth()),
            noise_rate: c.noise_rate.unwrap_or(5e5),
            region: c.region.unwrap_or_default(),
        }
    }

    fn growing(&self) -> DensifyGrowth {
        let given = self.config.densify_growth;
        given.unwrap_or(self.own(DensifyGrowth::Budget, DensifyGrowth::Threshold))
    }

    /// The run's length in reference lengths.
    fn length(&self) -> f64 {
        f64::from(self.iterations) / f64::from(self.reference.max(1))
    }

    fn init_scale(&self) -> f64 {
        let length = f64::from(self.iterations) / SMALL_START_ITERATIONS;
        let mcmc = if length < 1.0 {
            INIT_SCALE.powf(length)
        } else {
            INIT_SCALE
        };
        self.by_strategy(1.0, mcmc)
    }

    /// mcmc: Gaussians at most if that is not given; in a run with a budget so many a step.
    fn most(&self) -> usize {
        let most = (self.iterations as usize).saturating_mul(PER_STEP as usize);
        match self.config.budget {
            Some(_) => most.clamp(MIN_BUDGET, BUDGET),
            None => BUDGET,
        }
    }

    fn densify_every(&self) -> u32 {
        if self.config.budget.is_some() && self.iterations > REFERENCE_ITERATIONS {
            let every = scaled_steps(DENSIFY_EVERY, self.iterations);
            return self.config.densify_every.unwrap_or(every);
        }
        let scaled = (f64::from(DENSIFY_EVERY) * self.length()).round() as u32;
        let mcmc = scaled.clamp(MIN_DENSIFY_EVERY, DENSIFY_EVERY);
        let default = self.by_strategy(DENSIFY_EVERY, mcmc);
        self.config.densify_every.unwrap_or(default)
    }

    /// Growth a round that gives the growth of the reference run at the same share of this run.
    fn growth(&self) -> f64 {
        let every = f64::from(self.densify_every()) / f64::from(DENSIFY_EVERY);
        // Of the reference run, in the share of a round of this one.
        let rounds = every / self.length();
        match self.strategy {
            Strategy::Mcmc if rounds != 1.0 => {
                let [least, most] = GROWTH_LIMITS;
                (GROWTH.ln_1p() * rounds).exp_m1().max(least).min(most)
            }
            _ => GROWTH,
        }
    }

    /// Steps between halvings of opacities unless they are given: whole rounds of densification, at
    /// least two, as what is halved needs some hundred steps.
    fn halving_every(&self) -> u32 {
        let round = self.densify_every().max(1);
        let rounds = f64::from(self.iterations) / f64::from(HALVINGS) / f64::from(round);
        round.saturating_mul((rounds.round() as u32).max(2))
    }

    /// Steps between opacity resets unless they are given.
    fn reset_every(&self) -> u32 {
        let ten_rounds = self.densify_every().max(1).saturating_mul(10);
        self.steps(3000).max(ten_rounds)
    }

    fn prune(&self) -> Prune {
        let c = &self.config;
        let every = self.by_strategy(self.reset_every(), self.steps(3000));
        let none_if_0 = |share: f64| (share != 0.0).then_some(share);
        Prune {
            every: c.prune_every.unwrap_or(every),
            floaters: none_if_0(c.prune_floaters.unwrap_or(self.by_strategy(0.8, 0.0))),
            scale: none_if_0(c.prune_scale.unwrap_or(self.own(0.0, 0.1))),
            max_scale: none_if_0(c.max_scale.unwrap_or(match self.strategy {
                Strategy::Splatcore | Strategy::Mcmc => 0.25,
                Strategy::Adc => 0.0,
            })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What help shows as the default is the default of every run.
    #[test]
    fn only_the_listed_defaults_follow_from_other_settings() {
        let fixed = Config::fixed_defaults();
        for (strategy, iterations, statistic) in [
            (Strategy::Splatcore, 7000, DensifyStatistic::Mean),
            (Strategy::Adc, 30_000, DensifyStatistic::Mean),
            (Strategy::Adc, 3000, DensifyStatistic::Absolute),
            (Strategy::Mcmc, 7000, DensifyStatistic::Mean),
        ] {
            let chosen = Config {
                strategy: Some(strategy),
                iterations: Some(iterations),
                densify_statistic: Some(statistic),
                ..Config::UNSET
            };
            let mut settings = chosen.complete().to_settings();
            assert_eq!(settings, chosen.over(&fixed).over(&settings));
            // An adc run has no limit, which is an absent value.
            settings.max_gaussians = None;
            let following = settings.filtered(|name| FOLLOWING.contains(&name));
            assert_eq!(chosen.over(&fixed).over(&following), settings);
            for name in FOLLOWING {
                assert!(following.gives(name) && !fixed.gives(name), "{name}");
            }
        }
    }
}
