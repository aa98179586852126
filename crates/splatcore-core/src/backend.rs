//! What a backend offers. The trainer and the commands know backends by these traits only.
//!
//! A [`Backend`] makes renderers and learners; a [`Renderer`] holds an uploaded scene and renders
//! cameras; a [`Learner`] is a renderer that can also take a training step, refine (densify and
//! prune), snapshot and restore. [`Profiled`] and [`Deferred`] are the parts of a learner that only
//! a training loop needs. Everything between a photo going in and a snapshot coming out stays on
//! the device.

use crate::exposure::{Exposure, Exposures};
use crate::pipeline::Blend;
use crate::semantics::Semantics;
use crate::{Camera, Choice, Gaussians, Image, Pipeline, Precision, View};
use std::sync::Arc;

/// What can go wrong in a backend.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A buffer does not fit.
    #[error("{backend} ran out of memory: {buffer} needs {bytes} bytes{}", are_free(*free))]
    OutOfMemory {
        /// Name of the backend.
        backend: &'static str,
        /// What the buffer holds.
        buffer: String,
        /// Its size.
        bytes: u64,
        /// Bytes that were free, where that is known.
        free: Option<u64>,
        /// What its size depends on.
        depends_on: &'static [Choice],
    },
    /// A pipeline or option that this backend does not have.
    #[error("the {backend} backend has no {what}")]
    Unsupported {
        /// Name of the backend.
        backend: &'static str,
        /// What was asked for.
        what: String,
        /// Choices with others of which it could be had.
        depends_on: &'static [Choice],
    },
    /// More than can be counted or held, whatever the memory.
    #[error("{what}")]
    TooLarge {
        /// What is too large, and what is the most.
        what: String,
        /// What its size depends on.
        depends_on: &'static [Choice],
    },
    /// Inputs that contradict each other (an image of another size than its camera, for example).
    #[error("{0}")]
    Input(String),
    /// The device failed.
    #[error("{backend}: {message}")]
    Device {
        /// Name of the backend.
        backend: &'static str,
        /// What it said.
        message: String,
    },
}

fn are_free(bytes: Option<u64>) -> String {
    bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes are free"))
}

/// How to render.
#[derive(Clone, Debug, PartialEq)]
pub struct RenderOptions {
    /// Which kernels run.
    pub pipeline: Pipeline,
    /// Spherical harmonics up to this degree are used, or all that the scene has, whichever is
    /// less.
    pub sh_degree: u8,
    /// Colour behind the scene: image = C + T * background.
    pub background: [f32; 3],
    /// Constants of the rasterizer.
    pub semantics: Semantics,
    /// Also [`Rendered::inverse_depth`]. Only [`Renderer::render`] and what times it look at this.
    /// Blends that have no fourth channel make way for one that has
    /// ([`Blend::with_inverse_depth`]), so the picture may change by roundings.
    pub inverse_depth: bool,
    /// Mip-Splatting's 2D filter (Yu et al. 2024, section 4.2, eq. 10; gsplat's `antialiased`): the
    /// low pass makes a splat larger, and with this fainter by as much, opacity times sqrt(det C /
    /// det (C + 0.3 I)). For scenes trained so.
    pub antialias: bool,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            pipeline: Pipeline::AUTO,
            sh_degree: 3,
            background: [0.0; 3],
            semantics: Semantics::default(),
            inverse_depth: false,
            antialias: false,
        }
    }
}

/// A rendered view.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rendered {
    /// Colour, background included.
    pub image: Image,
    /// What is left of the light behind the last fragment of each pixel, `[height * width]`.
    pub transmittance: Vec<f32>,
    /// If asked for: the sum of 1/z by the weights of the colours, `[height * width]`, z being the
    /// view-space depth of a Gaussian's mean in world units. Nothing lies behind the scene, so 0
    /// where no light was taken. Over what was taken, `1 - transmittance`, it is the expected
    /// inverse depth; [`Rendered::depth`] is the inverse of that.
    pub inverse_depth: Option<Vec<f32>>,
}

impl Rendered {
    /// Depth along the view axis in world units, `[height * width]`: what was taken of the light
    /// over `inverse_depth`, and 0 where nothing was taken. `None` if inverse depth was not asked
    /// for.
    pub fn depth(&self) -> Option<Vec<f32>> {
        let depth = |(&sum, &left): (&f32, &f32)| match 1.0 - left {
            taken if taken > 0.0 && sum > 0.0 => taken / sum,
            _ => 0.0,
        };
        let sums = self.inverse_depth.as_ref()?;
        Some(sums.iter().zip(&self.transmittance).map(depth).collect())
    }
}

/// What a frame cost, counted rather than timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Gaussians in view.
    pub visible: u64,
    /// (tile, Gaussian) pairs.
    pub pairs: u64,
    /// Fragments, (pixel, Gaussian), whose alpha was computed.
    pub fragments_evaluated: u64,
    /// Fragments that changed their pixel.
    pub fragments_blended: u64,
}

/// Raw times of the stages of one frame, seconds, in the order they ran.
pub type StageTimes = Vec<(&'static str, f64)>;

/// Where a learner's time went since it was last asked, for the breakdown of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Steps of which the stages were timed.
    pub steps: u32,
    /// Times of the stages, sums over those steps.
    pub stages: StageTimes,
    /// Seconds that refinements took, all of them.
    pub refine: f64,
}

impl Profile {
    /// Adds the stages of one step.
    pub fn add_step(&mut self, times: StageTimes) {
        self.steps += 1;
        self.add_stages(times);
    }

    /// Adds another profile.
    pub fn add(&mut self, other: Profile) {
        self.steps += other.steps;
        self.refine += other.refine;
        self.add_stages(other.stages);
    }

    fn add_stages(&mut self, times: StageTimes) {
        for (stage, seconds) in times {
            match self.stages.iter_mut().find(|(name, _)| *name == stage) {
                Some((_, sum)) => *sum += seconds,
                None => self.stages.push((stage, seconds)),
            }
        }
    }
}

/// Makes renderers and learners.
pub trait Backend: Send + Sync {
    /// `cpu` or `cuda`.
    fn name(&self) -> &'static str;
    /// One line: which processor, which instruction set or card, how many threads.
    fn describe(&self) -> String;
    /// Uploads a scene.
    fn renderer(&self, scene: &Gaussians) -> Result<Box<dyn Renderer>, BackendError>;
    /// Uploads a scene and the photos to learn from.
    fn learner(
        &self,
        scene: &Gaussians,
        views: Arc<Vec<View>>,
    ) -> Result<Box<dyn Learner>, BackendError>;
    /// How exact its images are.
    fn precision(&self, blend: Blend) -> Precision {
        blend.precision()
    }
    /// Relative L2 error that gradients of a pipeline may have, for each parameter group.
    fn gradient_tolerance(&self, pipeline: Pipeline) -> f64 {
        pipeline.gradient_tolerance()
    }
    /// Bytes a learner will need for `gaussians` Gaussians besides the photos.
    fn memory_plan(&self, gaussians: usize, sh_degree: u8, largest_view: [u32; 2]) -> MemoryPlan;
}

/// What a learner keeps, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryPlan {
    /// The Gaussians' parameters.
    pub parameters: u64,
    /// The optimiser's two moments.
    pub moments: u64,
    /// Gradients, lists and images of a step.
    pub working: u64,
}

/// An uploaded scene.
pub trait Renderer: Send {
    /// Number of Gaussians now.
    fn count(&self) -> usize;
    /// Renders one view.
    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError>;
    /// Renders one view and leaves the image where it is: what a frame costs, without the way to
    /// the host. A device may still be at work on it when this returns; [`Renderer::finish`] waits.
    fn render_only(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        self.render(camera, options).map(drop)
    }
    /// Waits until all work asked for is done, and returns what went wrong in it.
    fn finish(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
    /// Gradients of a scalar with respect to every parameter, given its gradient with respect to
    /// the rendered image (same size as the camera; `[height * width]` of r, g, b). The result has
    /// the scene's shape; a row of a Gaussian that is not in view is zero.
    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        image_gradient: &Image,
    ) -> Result<Gaussians, BackendError>;
    /// Counts of the view, for `bench`. Slower than rendering.
    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError>;
    /// Renders once, with a backward pass of an all-ones gradient if `backward`, and returns the
    /// time of each stage.
    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        backward: bool,
    ) -> Result<StageTimes, BackendError>;
}

/// Learning rates of one step, per parameter group. The one for the means already holds the scene's
/// extent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LearningRates {
    /// Means, world units.
    pub means: f32,
    /// Log scales.
    pub log_scales: f32,
    /// Quaternions.
    pub rotations: f32,
    /// Opacity logits.
    pub opacity_logits: f32,
    /// Degree-0 coefficients.
    pub sh_base: f32,
    /// All higher coefficients.
    pub sh_rest: f32,
}

/// Everything that one training step depends on besides the learner's own state.
///
/// The step: render view `view`; loss = (1 - `ssim_weight`) L1 + `ssim_weight` (1 - SSIM) over
/// counted pixels, plus the regularisers; gradients; Adam (beta 0.9 and 0.999, epsilon 1e-15, bias
/// correction by `step`); statistics; noise.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPlan {
    /// Number of this step, from 1. Also the exponent of Adam's bias correction.
    pub step: u32,
    /// Index into the learner's views.
    pub view: usize,
    /// Kernels, background, active SH degree.
    pub render: RenderOptions,
    /// Rates of this step.
    pub rates: LearningRates,
    /// INRIA's lambda_dssim.
    pub ssim_weight: f32,
    /// Added to the loss: this times the mean opacity (MCMC's regulariser; 0 for none).
    pub opacity_regulariser: f32,
    /// Added to the loss: this times the mean scale, over Gaussians and axes (MCMC; 0 for none).
    pub scale_regulariser: f32,
    /// Pull of the harmonics above degree 0 towards 0, as decoupled weight decay (Loshchilov &
    /// Hutter 2019): before the update every such coefficient in use loses `rates.sh_rest` times
    /// this of itself (0 for none).
    pub sh_regulariser: f32,
    /// Sparse Adam: a Gaussian without a splat in this view is left entirely alone, parameters and
    /// moments, by the optimiser and all three regularisers. Statistics and noise are as without.
    pub sparse_adam: bool,
    /// The view is learnt from at its size divided by this, 1, 2 or 4: camera as
    /// [`Camera::reduced`], photo and mask as [`crate::Photo::reduced`]. Gradients of a mean over
    /// pixels by NDC do not depend on the number of pixels, so statistics of all scales may be
    /// added up.
    pub scale: u32,
    /// Collect what densification needs: for each Gaussian in view a norm of dL/d(2D mean) in NDC
    /// units (pixels times half the image side), and how often it was seen; `None` for nothing.
    pub statistics: Option<Statistic>,
    /// MCMC's exploration (Kheradmand et al. 2024, eq. 7): after the update every mean moves by
    /// `noise * sigmoid(-100 (opacity - 0.005)) * Sigma * n`, n standard normal from
    /// [`crate::random::normal3`]`(seed, step, index)`; `None` for no noise. The value is the noise
    /// rate times the means' learning rate.
    pub noise: Option<f32>,
    /// Learns how this view's photo was exposed, with this rate: the loss is of `A image + b` with
    /// the view's own transform (see [`crate::exposure`]), which is updated by its own Adam; a
    /// photo with alpha stands on what the transform makes of the background
    /// ([`crate::exposure::of_colour`]). `None` compares the image as it is.
    pub exposure: Option<f32>,
    /// Seed of the run, for the noise.
    pub seed: u64,
}

/// Which norm of the gradient of a Gaussian's 2D mean adaptive density control looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Statistic {
    /// Of the sum over the pixels, in which opposite pulls cancel (Kerbl et al. 2023).
    #[default]
    Mean,
    /// Of the sums of absolute values, component by component, so that a Gaussian pulled apart from
    /// both sides shows (AbsGS, Ye et al. 2024). The paper takes absolute values a pixel; here they
    /// are taken of the sum over each tile of 16x16 pixels: gradients are summed in matrix products
    /// over a tile's pixels, and a pixel's own is never there. So pulls cancel within a tile and
    /// not between tiles. A method without a row of sums for each (tile, Gaussian) pair cannot tell
    /// the tiles apart and refuses it.
    Absolute,
}

/// How Gaussians are scored over several of the learner's views, after FastGS (Ren et al. 2025,
/// arXiv:2511.04283, multi-view consistent densification).
///
/// A pixel is *bad* in a view if its L1 error (mean over the channels), min-max normalised over the
/// view's counted pixels, is above `error_threshold`. FastGS counts the bad pixels in a Gaussian's
/// footprint; here a pixel counts by the Gaussian's blending weight in it, which is the gradient of
/// the colour for an image gradient of 1 at bad pixels: the backward pass is the counter, and a
/// footprint behind an opaque surface counts nothing. Exact numbers: [`Scores`].
///
/// What is compared is what a step compares: the view at its size divided by `scale`, the picture
/// through the photo's own exposure, a transparent photo on the background. Anything else would
/// call bad what training could not yet learn: beside full-size photos, all fine detail in a scene
/// that has seen quarters of them; beside photos that are darker than others, whatever is bright.
/// Weights are counted in pixels of the photos' full size whatever the scale, so that a threshold
/// means the same area of a photo in every phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Scoring {
    /// So many views, drawn by [`crate::random::draw_views`] from `seed` and `step`; all if there
    /// are fewer.
    pub views: usize,
    /// How they are rendered.
    pub render: RenderOptions,
    /// As [`StepPlan::scale`]; a pixel of the reduced photo counts `scale * scale` pixels.
    pub scale: u32,
    /// Whether pictures go through their photos' own transforms of colours
    /// ([`StepPlan::exposure`]), as far as any were learned.
    pub exposure: bool,
    /// From 0 to 1.
    pub error_threshold: f32,
    /// Of the run.
    pub seed: u64,
    /// Of this refinement.
    pub step: u32,
}

/// What [`Scoring`] finds, for each Gaussian. Weights are blending weights (alpha times
/// transmittance), pixels are those of all scored views, in units of a pixel of the photos' full
/// size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scores {
    /// Views that were scored.
    pub views: usize,
    /// Sum of the weights in bad pixels, `[n]`.
    pub bad: Vec<f32>,
    /// Sum of the weights in all pixels, ignored ones too, `[n]`.
    pub weight: Vec<f32>,
    /// The largest sum of weights in one view, `[n]`.
    pub largest: Vec<f32>,
}

/// Growth only where views agree that the picture is bad.
#[derive(Clone, Debug, PartialEq)]
pub struct Consistency {
    /// Which views, and what is bad.
    pub scoring: Scoring,
    /// A Gaussian grows only if its weights in bad pixels add up to at least this much a view, in
    /// pixels.
    pub min_bad: f32,
}

/// A change of the set of Gaussians. Deterministic: the same state and the same values give the
/// same result.
#[derive(Clone, Debug, PartialEq)]
pub enum Refine {
    /// Adaptive density control (Kerbl et al. 2023, section 5): clone small and split large
    /// Gaussians whose mean gradient is at least the threshold, then prune; clears the statistics.
    Adc {
        /// On the mean NDC gradient norm.
        gradient_threshold: f32,
        /// A Gaussian whose largest scale exceeds this is split, else cloned (world units).
        split_scale: f32,
        /// Pruned below this opacity.
        min_opacity: f32,
        /// Pruned when the largest scale exceeds this (world units).
        max_scale: Option<f32>,
        /// Never grow beyond this many; the largest gradients go first.
        max_gaussians: usize,
        /// What else growth asks for.
        consistency: Option<Consistency>,
        /// Of the run.
        seed: u64,
        /// Of this refinement.
        step: u32,
    },
    /// Removes Gaussians that several views say are of no use; statistics stay with those that are
    /// left.
    Prune {
        /// Which views, and what is bad.
        scoring: Scoring,
        /// Removed when [`Scores::largest`] is below this: in no view does it make up so many
        /// pixels.
        min_importance: f32,
        /// Removed when more than this share of its weight is in bad pixels: [`Scores::bad`] /
        /// [`Scores::weight`]. Not above 1, so 1 removes none.
        max_bad_share: f32,
    },
    /// Removes floaters: Gaussians that some of the learner's views see hang in front of what their
    /// pictures show, and none sees as part of it ([`crate::floaters`]); statistics stay with those
    /// that are left. Without views it removes none.
    PruneFloaters {
        /// How the views are rendered; inverse depth need not be asked for.
        render: RenderOptions,
        /// A Gaussian is a part of what a pixel shows if its depth is at least this share of the
        /// pixel's.
        depth_share: f32,
    },
    /// Gives every Gaussian Mip-Splatting's 3D filter for the learner's cameras
    /// ([`crate::smoothing`]); from then on the learner renders through it.
    SmoothingFilter,
    /// Caps every log scale at what [`crate::scale_limit`] says for the learner's cameras; moments
    /// stay.
    LimitScales {
        /// Of the distance from the nearest camera; above 0.
        share: f32,
    },
    /// Caps every opacity (filtered, where there is a filter) at `ceiling` and clears the opacity's
    /// moments.
    ResetOpacity {
        /// 0.01 in INRIA's code.
        ceiling: f32,
    },
    /// MCMC (Kheradmand et al. 2024): Gaussians at or below `min_opacity` move onto ones drawn with
    /// probability proportional to opacity, then the set grows by `growth` in the same way; sources
    /// and copies share opacity and scale so that the picture changes least (eq. 9); moments of the
    /// sources are cleared.
    Mcmc {
        /// Dead at or below.
        min_opacity: f32,
        /// 0.05 grows by 5 %.
        growth: f32,
        /// Never grow beyond this many.
        max_gaussians: usize,
        /// Of the run.
        seed: u64,
        /// Of this refinement.
        step: u32,
    },
}

/// What a refinement did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RefineReport {
    /// Copies made of small Gaussians.
    pub cloned: usize,
    /// Large Gaussians replaced by two.
    pub split: usize,
    /// Removed.
    pub pruned: usize,
    /// Dead ones moved.
    pub relocated: usize,
    /// New ones added by growth.
    pub added: usize,
    /// Gaussians afterwards.
    pub count: usize,
}

/// All that a learner knows and a checkpoint must hold. Moments have the scene's shape.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnerState {
    /// Parameters.
    pub gaussians: Gaussians,
    /// Adam's first moments.
    pub first: Gaussians,
    /// Adam's second moments.
    pub second: Gaussians,
    /// Sum of NDC gradient norms (see [`Statistic`]) since the last refinement, `[n]`.
    pub gradient_sum: Vec<f32>,
    /// Times seen since the last refinement, `[n]`.
    pub seen: Vec<u32>,
    /// Transforms of the views' colours; empty if no step learned any.
    pub exposures: Exposures,
    /// Log standard deviations of the 3D filter ([`crate::smoothing`]), `[n]`; empty if there is
    /// none.
    pub smoothing: Vec<f32>,
}

impl LearnerState {
    /// The state in which training starts: moments and statistics zero.
    pub fn fresh(gaussians: Gaussians) -> Self {
        let (n, degree) = (gaussians.len(), gaussians.sh_degree);
        Self {
            gaussians,
            first: Gaussians::zeros(n, degree),
            second: Gaussians::zeros(n, degree),
            gradient_sum: vec![0.0; n],
            seen: vec![0; n],
            exposures: Exposures::default(),
            smoothing: Vec::new(),
        }
    }
}

/// A scene that learns. It also tells where its time goes ([`Profiled`]) and may put work off
/// ([`Deferred`]).
pub trait Learner: Renderer + Profiled + Deferred {
    /// Takes one step. A device may take it later: an error may be of a step before.
    fn step(&mut self, plan: &StepPlan) -> Result<(), BackendError>;
    /// The loss of the last step. May wait for the device: call it rarely.
    fn last_loss(&mut self) -> Result<f64, BackendError>;
    /// Changes the set of Gaussians, and waits for what comes of it.
    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError>;
    /// The Gaussians alone, for evaluation and export; with the 3D filter, if there is one, in
    /// scales and opacities.
    fn scene(&mut self) -> Result<Gaussians, BackendError>;
    /// Transforms of the views' colours, in the order of the views; none if no step learned any.
    fn exposures(&mut self) -> Result<Vec<Exposure>, BackendError> {
        Ok(self.snapshot()?.exposures.parameters)
    }
    /// Everything, for a checkpoint.
    fn snapshot(&mut self) -> Result<LearnerState, BackendError>;
    /// Goes on from a snapshot, bit for bit.
    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError>;
}

/// Where a learner's time goes.
pub trait Profiled {
    /// Takes one step as [`Learner::step`] does, waits for it, and returns the time of each stage,
    /// or of the whole where a backend does not tell them apart.
    fn timed_step(&mut self, plan: &StepPlan) -> Result<StageTimes, BackendError>;
    /// Takes one step as [`Learner::step`] does, without waiting for it, and notes the times of its
    /// stages for [`Profiled::take_profile`] where the backend can.
    fn profiled_step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.timed_step(plan).map(drop)
    }
    /// What has been noted since the last call: stages of profiled steps, time of refinements. May
    /// wait for the device.
    fn take_profile(&mut self) -> Result<Profile, BackendError> {
        Ok(Profile::default())
    }
}

/// Work that a learner puts off, and what came of it. A learner that does everything at once has
/// nothing to say but [`Deferred::queue_refine`].
pub trait Deferred {
    /// Queues a refinement, which does what [`Learner::refine`] does. Returns its report if it is
    /// known now; otherwise [`Deferred::take_reports`] delivers it later. An error may be of a step
    /// or a refinement before.
    fn queue_refine(&mut self, refine: &Refine) -> Result<Option<RefineReport>, BackendError>;
    /// Reports of queued refinements, in order, as far as they are known by now and since the last
    /// call. All of them are known after whatever waits for the device.
    fn take_reports(&mut self) -> Vec<RefineReport> {
        Vec::new()
    }
    /// Views of the steps that were asked for and not taken for want of memory, in their order,
    /// since the last call.
    fn take_skipped_views(&mut self) -> Vec<usize> {
        Vec::new()
    }
    /// A hint that the set will grow to so many Gaussians: a backend may make room for them at
    /// once, if memory is plenty, so that nothing has to be moved later. Changes nothing but time.
    fn reserve(&mut self, gaussians: usize) -> Result<(), BackendError> {
        let _ = gaussians;
        Ok(())
    }
}
