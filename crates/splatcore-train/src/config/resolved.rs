//! The settings of a run, each with a value.

use super::columns::ColumnSettings;
use super::depth::DepthSettings;
use super::from_steps::follows_from_steps;
use super::sky::SkySettings;
use super::{
    Appearance, BackendChoice, Background, BatchScaling, Config, DensifyGrowth, DensifyStatistic,
    GrowthRegion, Interval, LineOrder, Moments, Optimizer, PhotoLens, Preset, ResolutionSchedule,
    Strategy, WallTime,
};
use splatcore_core::Pipeline;
use splatcore_core::colour::ColourModel;

/// The settings of a run, each with a value. [`Config`] says what they do; where a field is an
/// `Option`, `None` is a value of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedConfig {
    /// The preset that was named; `None` if none was. Its settings stand in the other fields.
    pub preset: Option<Preset>,
    /// Training steps; with a budget those that are planned, at first a stand-in.
    pub iterations: u32,
    /// The time that the run takes in place of a number of steps.
    pub budget: Option<Budget>,
    /// PSNR of the held-out photos in dB at which the run comes to its end.
    pub quality_target: Option<f64>,
    /// How Gaussians are added and removed.
    pub strategy: Strategy,
    /// Start of all randomness.
    pub seed: u64,
    /// Which photos, and how they are seen.
    pub data: Data,
    /// What computes.
    pub compute: Compute,
    /// When to save and measure.
    pub saving: Saving,
    /// What the scene consists of, at first and at most.
    pub scene: Scene,
    /// Photos of a step.
    pub batch: Batch,
    /// Which Gaussians the optimiser touches in a step.
    pub optimizer: Optimizer,
    /// Whether Adam's moments are corrected for their start at zero.
    pub bias_correction: bool,
    /// Learning rates.
    pub rates: Rates,
    /// What the loss is.
    pub loss: Loss,
    /// How columns are learned.
    pub columns: ColumnSettings,
    /// Whether and how poses are refined.
    pub poses: PoseSettings,
    /// Whether and how intrinsics are refined.
    pub intrinsics: IntrinsicsSettings,
    /// Whether and how depth maps guide the scene.
    pub depth: DepthSettings,
    /// Whether and how a sky is learned.
    pub sky: SkySettings,
    /// Adding Gaussians, and removing them on the way.
    pub densify: Densify,
    /// Removing what the views have no use for.
    pub prune: Prune,
}

/// A run that ends on time: its number of steps, and what follows from it, are planned while it
/// runs ([`ResolvedConfig::planned`]).
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// From the program's start to its end.
    pub time: WallTime,
    /// Those settings that otherwise follow from the number of steps and were given.
    pub(super) fixed: Config,
}

impl Budget {
    /// Whether the setting of this key was given, so that no plan changes it.
    pub fn fixes(&self, key: &str) -> bool {
        self.fixed.gives(key)
    }

    /// The most steps that the run may take, if that was given.
    pub fn max_iterations(&self) -> Option<u32> {
        self.fixed.iterations
    }
}

/// Photos of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// How many, at least 1.
    pub views: u32,
    /// How learning rates follow it.
    pub scaling: BatchScaling,
}

/// Which photos, and how they are seen.
#[derive(Clone, Debug, PartialEq)]
pub struct Data {
    /// Longer side of the photos at most, in pixels; `None` for their own size.
    pub max_size: Option<u32>,
    /// What becomes of photos through a lens.
    pub lens: PhotoLens,
    /// Seconds in which a camera reads a photo, where the dataset does not say it.
    pub readout_time: Option<f64>,
    /// In which order it does.
    pub readout_direction: LineOrder,
    /// Every so many photos one is held out; 0 for none.
    pub test_every: u32,
    /// Colour behind the scene.
    pub background: Background,
    /// At which size photos are learnt from.
    pub resolution: ResolutionSchedule,
    /// With [`ResolutionSchedule::CoarseToFine`]: full size after this step.
    pub coarse_until: u32,
}

/// What computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Compute {
    /// Where.
    pub backend: BackendChoice,
    /// Threads of the CPU backend; `None` for all cores.
    pub threads: Option<usize>,
    /// The same bits from every run.
    pub deterministic: bool,
    /// Which kernels run.
    pub pipeline: Pipeline,
    /// How a card keeps moments.
    pub moments: Moments,
}

/// When to save and measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Saving {
    /// When the state is saved.
    pub checkpoints: Checkpoints,
    /// Held-out photos are measured every so many steps; `None` for the end alone.
    pub eval_every: Option<u32>,
}

/// When the state of a run is saved, besides the end and an interrupt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints {
    /// Every [`crate::trainer::SAVE_EVERY`] of training.
    ByTime,
    /// Every so many steps, at least 1.
    EverySteps(u32),
    /// Not before the end.
    AtEnd,
}

/// What the scene consists of, at first and at most.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Degree of the spherical harmonics, 0 to 3.
    pub sh_degree: u8,
    /// Steps between increases of the active degree.
    pub sh_every: u32,
    /// Never more Gaussians than this; `None` for no limit.
    pub max_gaussians: Option<usize>,
    /// Filter against aliasing.
    pub antialias: bool,
    /// Opacity of the starting Gaussians.
    pub init_opacity: f64,
    /// Size of the starting Gaussians, in mean distances to their 3 nearest neighbours.
    pub init_scale: f64,
}

/// Learning rates.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// Means at the first step, times the extent of the cameras.
    pub means: f64,
    /// Means at the last step.
    pub means_final: f64,
    /// Base colour.
    pub sh_base: f64,
    /// Higher harmonics.
    pub sh_rest: f64,
    /// Opacity logits.
    pub opacity: f64,
    /// Log scales.
    pub scales: f64,
    /// Rotations.
    pub rotations: f64,
    /// What the rates of colours, opacities, scales and rotations are multiplied by at the last
    /// step.
    pub final_share: f64,
    /// The affine colour model's numbers at the first step.
    pub exposure: f64,
    /// The affine colour model's numbers at the last step.
    pub exposure_final: f64,
}

/// What the loss is.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// Share of structural similarity.
    pub ssim_weight: f64,
    /// The colour model of photos and cameras that is learned.
    pub colour: Option<ColourModel>,
    /// Whether photos' exposures start at what EXIF data say.
    pub exif_exposure: bool,
    /// Weight of the mean opacity.
    pub opacity_regulariser: f64,
    /// Weight of the mean scale.
    pub scale_regulariser: f64,
}

/// Whether and how the photos' poses are refined.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseSettings {
    /// Whether they are.
    pub refine: bool,
    /// How far a pose can go in the whole run, degrees.
    pub travel: f64,
    /// A pose turns by at most so many degrees.
    pub max_degrees: f64,
    /// A pose moves by at most this share of the extent.
    pub max_shift: f64,
    /// In which order the lines of photos were read whose cameras' motion is found; `None` if none
    /// is looked for.
    pub motion: Option<LineOrder>,
}

impl Default for PoseSettings {
    /// Poses stay as they are; if they moved, within the limits that nobody asked to change.
    fn default() -> Self {
        Self {
            refine: false,
            travel: 4.0,
            max_degrees: 5.0,
            max_shift: 0.1,
            motion: None,
        }
    }
}

/// Whether and how the intrinsics of the photos' cameras are refined.
#[derive(Clone, Debug, PartialEq)]
pub struct IntrinsicsSettings {
    /// Whether they are.
    pub refine: bool,
    /// How far each may go: a share of focal length or of the image's sides, or a coefficient.
    pub limit: f64,
}

/// Adding Gaussians, and removing them on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct Densify {
    /// After this step.
    pub from: u32,
    /// Before this step.
    pub until: u32,
    /// Steps between two rounds, at least 1.
    pub every: u32,
    /// adc: gradient norm at which a Gaussian grows.
    pub gradient: f64,
    /// adc: which norm that is.
    pub statistic: DensifyStatistic,
    /// adc: how many grow.
    pub growing: DensifyGrowth,
    /// adc: split above this share of the extent, clone below.
    pub split_scale: f64,
    /// Removed (adc) or moved (mcmc) below this opacity.
    pub min_opacity: f64,
    /// adc: steps between opacity resets, at least 1.
    pub opacity_reset_every: u32,
    /// adc: highest opacity after a reset.
    pub opacity_reset_to: f64,
    /// adc: between halvings of opacities, in place of resets; `None` for resets.
    pub opacity_halving_every: Option<Interval>,
    /// mcmc: growth a round.
    pub growth: f64,
    /// mcmc: random walk, times the means' learning rate; 0 for none.
    pub noise_rate: f64,
    /// Where the set grows.
    pub region: GrowthRegion,
}

/// Removing what the views have no use for.
#[derive(Clone, Debug, PartialEq)]
pub struct Prune {
    /// Steps between two rounds, at least 1.
    pub every: u32,
    /// Removed when nearer than this share of the depth that views show; `None` removes none.
    pub floaters: Option<f64>,
    /// adc: removed above this share of the extent, after the first opacity reset; `None` removes
    /// none.
    pub scale: Option<f64>,
    /// No Gaussian is larger than this share of its distance to the nearest camera; `None` for no
    /// limit.
    pub max_scale: Option<f64>,
}

impl Scene {
    /// The limit as a number, which without a limit nothing reaches.
    pub fn most_gaussians(&self) -> usize {
        self.max_gaussians.unwrap_or(usize::MAX)
    }
}

impl ResolvedConfig {
    /// Whether the set grows by clones and splits to a number that is known in advance.
    pub fn grows_by_budget(&self) -> bool {
        self.strategy.follows_gradients() && self.densify.growing == DensifyGrowth::Budget
    }

    /// The settings one by one, as a file gives them; those without a value are absent, and of a
    /// run with a budget those that follow from the number of steps. [`Config::complete`] makes the
    /// same settings of it.
    pub fn to_settings(&self) -> Config {
        match &self.budget {
            Some(budget) => self
                .all_settings()
                .filtered(|name| !follows_from_steps(name) || budget.fixes(name)),
            None => self.all_settings(),
        }
    }

    fn all_settings(&self) -> Config {
        self.most_settings()
            .over(&self.columns.to_settings())
            .over(&self.poses.to_settings())
            .over(&self.intrinsics.to_settings())
            .over(&self.depth.to_settings())
            .over(&self.sky.to_settings())
    }

    /// All but those of groups that list their own.
    fn most_settings(&self) -> Config {
        let Self {
            data,
            compute,
            saving,
            scene,
            rates,
            loss,
            prune,
            ..
        } = self;
        Config {
            preset: self.preset,
            iterations: match &self.budget {
                Some(budget) => budget.max_iterations(),
                None => Some(self.iterations),
            },
            budget: self.budget.as_ref().map(|budget| budget.time),
            quality_target: self.quality_target,
            strategy: Some(self.strategy),
            max_gaussians: scene.max_gaussians,
            sh_degree: Some(scene.sh_degree),
            max_size: data.max_size,
            lens: Some(data.lens),
            readout_time: data.readout_time,
            readout_direction: data.readout_time.map(|_| data.readout_direction),
            test_every: Some(data.test_every),
            seed: Some(self.seed),
            background: Some(data.background),
            backend: Some(compute.backend),
            threads: compute.threads,
            deterministic: Some(compute.deterministic),
            pipeline: Some(compute.pipeline),
            moments: Some(compute.moments),
            antialias: Some(scene.antialias),
            batch: Some(self.batch.views),
            batch_scaling: Some(self.batch.scaling),
            optimizer: Some(self.optimizer),
            no_bias_correction: Some(!self.bias_correction),
            resolution_schedule: Some(data.resolution),
            coarse_until: Some(data.coarse_until),
            checkpoint_every: match saving.checkpoints {
                Checkpoints::ByTime => None,
                Checkpoints::EverySteps(steps) => Some(steps),
                Checkpoints::AtEnd => Some(0),
            },
            eval_every: saving.eval_every,
            lr_means: Some(rates.means),
            lr_means_final: Some(rates.means_final),
            lr_sh_base: Some(rates.sh_base),
            lr_sh_rest: Some(rates.sh_rest),
            lr_opacity: Some(rates.opacity),
            lr_scales: Some(rates.scales),
            lr_rotations: Some(rates.rotations),
            lr_final_share: Some(rates.final_share),
            lr_exposure: Some(rates.exposure),
            lr_exposure_final: Some(rates.exposure_final),
            ssim_weight: Some(loss.ssim_weight),
            appearance: Some(Appearance(loss.colour)),
            exif_exposure: Some(loss.exif_exposure),
            opacity_regulariser: Some(loss.opacity_regulariser),
            scale_regulariser: Some(loss.scale_regulariser),
            sh_every: Some(scene.sh_every),
            prune_floaters: Some(prune.floaters.unwrap_or(0.0)),
            max_scale: Some(prune.max_scale.unwrap_or(0.0)),
            prune_every: Some(prune.every),
            prune_scale: Some(prune.scale.unwrap_or(0.0)),
            init_opacity: Some(scene.init_opacity),
            init_scale: Some(scene.init_scale),
            ..self.densify.to_settings()
        }
    }
}

impl PoseSettings {
    /// These settings one by one.
    fn to_settings(&self) -> Config {
        Config {
            refine_poses: Some(self.refine),
            pose_travel: Some(self.travel),
            pose_degrees: Some(self.max_degrees),
            pose_shift: Some(self.max_shift),
            refine_motion: self.motion,
            ..Config::UNSET
        }
    }
}

impl IntrinsicsSettings {
    /// The given settings, and the others' defaults.
    pub(super) fn of(config: &Config) -> Self {
        Self {
            refine: config.refine_intrinsics.unwrap_or(false),
            limit: config.intrinsics_limit.unwrap_or(0.05),
        }
    }

    /// These settings one by one.
    fn to_settings(&self) -> Config {
        Config {
            refine_intrinsics: Some(self.refine),
            intrinsics_limit: Some(self.limit),
            ..Config::UNSET
        }
    }
}

impl Densify {
    /// These settings one by one.
    fn to_settings(&self) -> Config {
        Config {
            region: Some(self.region),
            noise_rate: Some(self.noise_rate),
            densify_from: Some(self.from),
            densify_until: Some(self.until),
            densify_every: Some(self.every),
            densify_gradient: Some(self.gradient),
            densify_statistic: Some(self.statistic),
            densify_growth: Some(self.growing),
            split_scale: Some(self.split_scale),
            min_opacity: Some(self.min_opacity),
            opacity_reset_every: Some(self.opacity_reset_every),
            opacity_reset_to: Some(self.opacity_reset_to),
            opacity_halving_every: Some(self.opacity_halving_every.unwrap_or(Interval::Steps(0))),
            growth: Some(self.growth),
            ..Config::UNSET
        }
    }
}
