//! What happens at which step: learning rates, SH degree, refinements. Pure functions of the
//! resolved config.
//!
//! `adc` is INRIA's current code (graphdeco-inria/gaussian-splatting, `arguments/__init__.py`,
//! `train.py`), `mcmc` is 3dgs-mcmc, as gsplat also has it. Differences, all deliberate:
//!
//! - INRIA refines between the backward pass and the optimiser's step of the same iteration;
//!   replacing the parameters there drops their gradients, so that this iteration's step does
//!   nothing. Here the step comes first (it is one call to the device), then the refinement: one
//!   Adam step more per round.
//! - INRIA also prunes Gaussians that were large on screen (`max_radii2D > 20`), but zeroes that
//!   array while densifying, just before testing it: the test never holds. It is left out.
//! - Steps scale with `iterations` (see [`crate::Config::complete`]).

mod colour;
mod columns;
mod course;
mod depth;
mod depth_unit;
mod exposures;
mod growth;
mod moments;
mod pruning;
mod region;
mod replan;
mod sky;

pub use course::Course;
pub(crate) use exposures::starting_exposures;
pub use growth::worth;

use crate::config::{
    Background, BatchScaling, DensifyGrowth, DensifyStatistic, Optimizer, ResolutionSchedule,
    ResolvedConfig, Strategy,
};
use crate::{intrinsics, motion, poses};
use splatcore_core::backend::{LearningRates, Refine, RenderOptions, Statistic, StepPlan};
use splatcore_core::colour::camera_count;
use splatcore_core::random::uniform_at;
use splatcore_core::ranked::median;
use splatcore_core::semantics::Semantics;
use splatcore_core::{Region, View};

/// Where colours of backgrounds are among a step's random numbers; the small numbers are Gaussians.
const BACKGROUND: u64 = u64::MAX;

/// Exponential decay: `from` at `t = 0`, `to` at `t = 1`, a straight line on a logarithmic axis;
/// `t` is clamped (INRIA's `get_expon_lr_func` without its delay, which their defaults switch off).
pub fn log_linear(from: f64, to: f64, t: f64) -> f64 {
    let t = t.clamp(0.0, 1.0);
    (from.ln() * (1.0 - t) + to.ln() * t).exp()
}

/// Of a photo no more pixels count for the number of Gaussians: the same few views tell no more of
/// them apart however many pixels they have.
const MAX_PIXELS_A_PHOTO: u64 = 430_000;

/// Halving of opacities.
const HALVING: Refine = Refine::FadeOpacity {
    factor: 0.5,
    floor: 1.0 / 128.0,
};

/// The angle of a pixel in the middle of a photo, radians: the median of the photos, infinite for
/// none.
fn median_pixel(views: &[&View]) -> f64 {
    let angle = |view: &&View| 2.0 / (view.camera.fx + view.camera.fy);
    median(views.iter().map(angle)).unwrap_or(f64::INFINITY)
}

/// The schedule of one run.
#[derive(Clone, Debug)]
pub struct Schedule {
    config: ResolvedConfig,
    extent: f64,
    /// Steps in which every photo is seen once.
    epoch: u32,
    /// Photos that are trained on, if most have more pixels than count.
    large_photos: Option<usize>,
    /// Pixels of all photos that count for the number of Gaussians.
    pixels: u64,
    /// How many cameras took the photos.
    cameras: u32,
    /// What a pixel of most photos covers in the middle, radians.
    pixel: f64,
    /// A depth of about the scene's size, if depths of photos are known.
    depth_unit: Option<f32>,
    /// Where the set of Gaussians grows; `None` for everywhere.
    region: Option<Region>,
    /// How far the middle camera is from the place at which all look; `None` if they look at no one
    /// place.
    distance: Option<f64>,
    /// Of a run whose end was moved while it ran.
    course: Option<Course>,
}

impl Schedule {
    /// For a config, checked ([`ResolvedConfig::check`]), and the extent of the training cameras in
    /// world units
    /// ([`splatcore_core::camera::extent`]).
    pub fn new(config: &ResolvedConfig, extent: f64) -> Self {
        Self {
            config: config.clone(),
            extent,
            epoch: 1,
            large_photos: None,
            pixels: 0,
            cameras: 1,
            pixel: f64::INFINITY,
            depth_unit: None,
            region: None,
            distance: None,
            course: None,
        }
    }

    /// Of a run on these photos, of which `usable` are shown: they say how long an epoch is, how
    /// many Gaussians the run is worth, and how often each camera is seen.
    pub fn with_photos<'a>(self, views: impl IntoIterator<Item = &'a View>, usable: usize) -> Self {
        let views: Vec<&View> = views.into_iter().collect();
        let batch = self.config.batch.views.max(1);
        let pixels = |view: &&View| u64::from(view.camera.width) * u64::from(view.camera.height);
        let large = views.iter().map(pixels).filter(|&n| n > MAX_PIXELS_A_PHOTO);
        let large = large.count();
        Self {
            epoch: u32::try_from(usable).unwrap_or(u32::MAX).div_ceil(batch),
            large_photos: (2 * large > views.len()).then_some(usable),
            pixels: (views.iter().map(pixels).map(|n| n.min(MAX_PIXELS_A_PHOTO))).sum(),
            cameras: camera_count(views.iter().copied()).max(1) as u32,
            pixel: median_pixel(&views),
            depth_unit: depth_unit::unit_of(&views),
            ..self
        }
    }

    /// The config.
    pub fn config(&self) -> &ResolvedConfig {
        &self.config
    }

    /// Learning rates of step `step` (from 1). The means' holds the extent.
    pub fn rates(&self, step: u32) -> LearningRates {
        let rates = &self.config.rates;
        let means = log_linear(rates.means, rates.means_final, self.progress(step));
        let batch = self.batch_power().sqrt();
        let share = batch * self.share_of_rates(step);
        LearningRates {
            means: (batch * means * self.extent) as f32,
            log_scales: (share * rates.scales) as f32,
            rotations: (share * rates.rotations) as f32,
            opacity_logits: (share * rates.opacity) as f32,
            sh_base: (share * rates.sh_base) as f32,
            sh_rest: (share * rates.sh_rest) as f32,
        }
    }

    /// The number of photos of a step if rates follow it, else 1.
    fn batch_power(&self) -> f64 {
        match self.config.batch.scaling {
            BatchScaling::None => 1.0,
            BatchScaling::Sqrt => self.config.batch.views.into(),
        }
    }

    /// What the rates but for the means' are multiplied by: 1 until densification ends, from there
    /// on a straight line to `lr-final-share` at the last step.
    fn share_of_rates(&self, step: u32) -> f64 {
        let c = &self.config;
        let t = match &self.course {
            None => {
                let from = c.densify.until.min(c.iterations);
                let left = f64::from(c.iterations - from).max(1.0);
                f64::from(step.saturating_sub(from)) / left
            }
            Some(course) => {
                let from = course.densify_until;
                ((course.share(step) - from) / (1.0 - from).max(1e-9)).clamp(0.0, 1.0)
            }
        };
        1.0 - (1.0 - c.rates.final_share) * t
    }

    /// From 0 to 1 at the last step.
    fn progress(&self, step: u32) -> f64 {
        match &self.course {
            None => step as f64 / self.config.iterations as f64,
            Some(course) => course.share(step),
        }
    }

    /// Whether step `step` tells how the photos' poses should change.
    pub fn refines_poses(&self, step: u32) -> bool {
        self.config.poses.refine
            && (poses::FROM..=poses::UNTIL).contains(&self.progress(step))
            && !self.is_hazy(step)
    }

    /// After step `step`, so many rounds ([`crate::motion`]) should have looked for the motions of
    /// cameras.
    pub fn motion_rounds(&self, step: u32) -> u32 {
        let share = (self.progress(step) - motion::FROM) / (motion::UNTIL - motion::FROM);
        match self.config.poses.motion.is_some() && share >= 0.0 && !self.is_hazy(step) {
            true => 1 + (share.min(1.0) * f64::from(motion::ROUNDS - 1)) as u32,
            false => 0,
        }
    }

    /// Whether step `step` tells how the intrinsics of the photos' cameras should change.
    pub fn refines_intrinsics(&self, step: u32) -> bool {
        self.config.intrinsics.refine
            && (intrinsics::FROM[1]..=intrinsics::UNTIL).contains(&self.progress(step))
            && !self.is_hazy(step)
    }

    /// The rates of the intrinsics at step `step`: so that numbers whose gradients all agree go to
    /// their limits.
    pub fn intrinsics_rates(&self, step: u32) -> intrinsics::Rates {
        let moves = f64::from(self.config.iterations) / f64::from(poses::EVERY);
        let mean = (intrinsics::FINAL_SHARE - 1.0) / intrinsics::FINAL_SHARE.ln();
        intrinsics::FROM.map(|from| {
            let share = intrinsics::UNTIL - from;
            let t = (self.progress(step) - from) / share;
            let first = self.config.intrinsics.limit / (mean * (share * moves).max(1.0));
            match t >= 0.0 {
                true => log_linear(first, first * intrinsics::FINAL_SHARE, t),
                false => 0.0,
            }
        })
    }

    /// Whether adc has just reset all opacities.
    fn is_hazy(&self, step: u32) -> bool {
        let densify = &self.config.densify;
        let resets = self.config.strategy == Strategy::Adc
            && densify.opacity_halving_every.is_none()
            && step > densify.opacity_reset_every
            && step < densify.until + densify.opacity_reset_every;
        let since = f64::from(step % densify.opacity_reset_every);
        let haze = poses::AFTER_RESET * f64::from(densify.opacity_reset_every);
        resets && since < haze
    }

    /// The poses' rate at step `step`, radians: so that a photo whose gradients all agree goes as
    /// far as the setting says in the whole run; in short runs less far, as no move is larger than
    /// [`poses::PIXELS_A_MOVE`], or a part of it where a photo is seen fewer than
    /// [`poses::AVERAGED`] times.
    pub fn pose_rate(&self, step: u32) -> f64 {
        let share = poses::UNTIL - poses::FROM;
        let seen = share * f64::from(self.config.iterations) / f64::from(self.epoch);
        // Of a rate that falls exponentially, in the middle.
        let mean = (poses::FINAL_SHARE - 1.0) / poses::FINAL_SHARE.ln();
        let travel = self.config.poses.travel;
        let wanted = travel.to_radians() / (mean * seen.max(1.0));
        let known = (seen / poses::AVERAGED).min(1.0);
        let first = wanted.min(known * travel * poses::PIXELS_A_MOVE * self.pixel);
        let t = (self.progress(step) - poses::FROM) / share;
        log_linear(first, first * poses::FINAL_SHARE, t)
    }

    /// By what share of how far off its points are a photo's pose moves at most at step `step`.
    pub fn pose_share(&self, step: u32) -> f64 {
        let first = self.config.poses.travel * poses::PIXELS_A_MOVE;
        let t = (self.progress(step) - poses::FROM) / (poses::UNTIL - poses::FROM);
        log_linear(first, first * poses::FINAL_SHARE, t)
    }

    /// SH degree in use at step `step`: 0 at first, one more every `sh-every` steps.
    pub fn sh_degree(&self, step: u32) -> u8 {
        let scene = &self.config.scene;
        (step / scene.sh_every).min(scene.sh_degree as u32) as u8
    }

    /// What the photos' sides are divided by at step `step`: from coarse to fine 4 in the first
    /// half of `coarse-until`, 2 in the second, then 1.
    pub fn scale(&self, step: u32) -> u32 {
        let until = self.config.data.coarse_until;
        match self.config.data.resolution {
            ResolutionSchedule::CoarseToFine if step <= until / 2 => 4,
            ResolutionSchedule::CoarseToFine if step <= until => 2,
            _ => 1,
        }
    }

    /// What is behind the scene while it learns at step `step`: the config's colour, or if that is
    /// random one of the 2^24 of 8 bits, a function of seed and step.
    fn background(&self, step: u32) -> [f32; 3] {
        match self.config.data.background {
            Background::Random => [0, 1, 2].map(|channel| {
                let value = uniform_at(self.config.seed, step.into(), BACKGROUND, channel);
                (value * 256.0).floor() / 255.0
            }),
            fixed => fixed.colour(),
        }
    }

    /// How to render at step `step`, but for what is behind the scene if that is random.
    pub fn render(&self, step: u32) -> RenderOptions {
        RenderOptions {
            pipeline: self.config.compute.pipeline,
            sh_degree: self.sh_degree(step),
            background: self.config.data.background.colour(),
            sky: None,
            semantics: Semantics::default(),
            inverse_depth: false,
            antialias: self.config.scene.antialias,
            interpolate: false,
        }
    }

    /// The plan of step `step` on these views.
    pub fn plan(&self, step: u32, views: Vec<usize>) -> StepPlan {
        let c = &self.config;
        let (loss, densify) = (&c.loss, &c.densify);
        let rates = self.rates(step);
        StepPlan {
            step,
            betas: self.betas(),
            views,
            render: RenderOptions {
                background: self.background(step),
                ..self.render(step)
            },
            rates: self.slowed(rates, step),
            ssim_weight: loss.ssim_weight as f32,
            opacity_regulariser: loss.opacity_regulariser as f32,
            scale_regulariser: loss.scale_regulariser as f32,
            bias_correction: c.bias_correction,
            sparse_adam: c.optimizer == Optimizer::SparseAdam,
            scale: self.scale(step),
            statistics: (c.strategy.follows_gradients() && step < densify.until).then_some(
                match densify.statistic {
                    DensifyStatistic::Mean => Statistic::Mean,
                    DensifyStatistic::Absolute => Statistic::Absolute,
                },
            ),
            noise: (c.strategy == Strategy::Mcmc && densify.noise_rate > 0.0)
                .then_some((densify.noise_rate * rates.means as f64) as f32),
            colour: self.colour(step),
            sky: self.sky(step),
            depth: self.depth(step),
            columns: c.columns.plans(),
            pose_gradients: self.refines_poses(step),
            intrinsics_gradients: self.refines_intrinsics(step),
            seed: c.seed,
            upcoming: Vec::new(),
        }
    }

    /// What follows step `step`, in order: pruning of floaters, then by scores, at multiples of
    /// `prune-every` after `densify-from`, if asked for, to the end of the run but for its last
    /// step, with the opacities as they were learnt; densification and pruning when `densify-from <
    /// step < densify-until` and `step` is a multiple of `densify-every`; then, for adc before
    /// `densify-until`, the opacity reset at multiples of `opacity-reset-every`, and once at
    /// `densify-from` on a white background (where opaque white haze costs nothing to the loss);
    /// then the Gaussians go that columns say are drawn no more, where no round of adc removes
    /// them; then the limit on scales and the columns that are computed. Large Gaussians are pruned
    /// only after the first reset interval.
    pub fn refinements(&self, step: u32) -> Vec<Refine> {
        let mut refinements = Vec::new();
        refinements.extend(self.floaters(step));
        refinements.extend(self.rounds(step));
        refinements.extend(self.pruning_by_columns(step));
        refinements.extend(self.scale_limit(step));
        refinements.extend(self.computed_columns(step));
        refinements
    }

    /// What follows step `step` before `densify-until`: a round of the strategy's own, a reset of
    /// opacities. Each clears moments.
    fn rounds(&self, step: u32) -> impl Iterator<Item = Refine> {
        let before = (step < self.config.densify.until)
            .then(|| [self.densification(step), self.reset(step)]);
        before.into_iter().flatten().flatten()
    }

    /// A round of the strategy's own, if step `step`, before `densify-until`, has one.
    fn densification(&self, step: u32) -> Option<Refine> {
        let c = &self.config;
        let densify = &c.densify;
        if step <= densify.from || !step.is_multiple_of(densify.every) {
            return None;
        }
        let max_gaussians = self.limit();
        Some(match c.strategy {
            Strategy::Splatcore | Strategy::Adc => Refine::Adc {
                gradient_threshold: densify.gradient as f32,
                split_scale: (densify.split_scale * self.extent) as f32,
                min_opacity: densify.min_opacity as f32,
                max_scale: (c.prune.scale)
                    .filter(|_| step > densify.opacity_reset_every)
                    .map(|scale| (scale * self.extent) as f32),
                max_gaussians,
                budget: (densify.growing == DensifyGrowth::Budget)
                    .then(|| self.share_of_budget(step)),
                region: self.region,
                seed: c.seed,
                step,
            },
            Strategy::Mcmc => Refine::Mcmc {
                min_opacity: densify.min_opacity as f32,
                growth: densify.growth as f32,
                max_gaussians,
                region: self.region,
                seed: c.seed,
                step,
            },
        })
    }

    /// The share of what the set lacks to its limit that it gains in the round of step `step`: the
    /// same number in each of the rounds that are left, this one among them.
    fn share_of_budget(&self, step: u32) -> f32 {
        let densify = &self.config.densify;
        let last = densify.until.min(self.config.iterations).saturating_sub(1) / densify.every;
        let left = last.saturating_sub(step / densify.every) + 1;
        1.0 / left as f32
    }

    /// adc's reset of opacities, or their halving in its place, if step `step`, before
    /// `densify-until`, has one.
    fn reset(&self, step: u32) -> Option<Refine> {
        let c = &self.config;
        if !c.strategy.follows_gradients() {
            return None;
        }
        if let Some(every) = c.densify.opacity_halving_every {
            let every = every.steps(self.epoch).max(1);
            return step.is_multiple_of(every).then_some(HALVING);
        }
        let white = c.data.background == Background::White && step == c.densify.from;
        let due = step.is_multiple_of(c.densify.opacity_reset_every) || white;
        due.then_some(Refine::ResetOpacity {
            ceiling: c.densify.opacity_reset_to as f32,
        })
    }

    /// From the end of densification on, every `densify-every` steps, and after the last: scales
    /// grow with every step. Limits from the start cost half a decibel, as few Gaussians must cover
    /// everything then. With the default strategy what is no larger than the scene stays, as far as
    /// the cameras say how large that is: without noise such Gaussians are plain walls.
    fn scale_limit(&self, step: u32) -> Option<Refine> {
        let c = &self.config;
        let share = c.prune.max_scale? as f32;
        let due = step >= c.densify.until && step.is_multiple_of(c.densify.every);
        let floor = match c.strategy {
            Strategy::Splatcore => self.distance?.max(self.extent) as f32,
            Strategy::Adc | Strategy::Mcmc => 0.0,
        };
        let due = share > 0.0 && (due || step == c.iterations);
        due.then_some(Refine::LimitScales { share, floor })
    }
}

#[cfg(test)]
mod tests;
