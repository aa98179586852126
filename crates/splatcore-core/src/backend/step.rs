//! What a training step depends on.

use super::frame::RenderOptions;
use crate::colour::ColourPlan;
use crate::columns::ColumnPlans;
use crate::depth::DepthPlan;
use crate::sky::SkyPlan;

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

/// Adam's decays, for steps of one view (Kingma & Ba 2015; Kerbl et al. 2023).
pub const BETAS: [f64; 2] = [0.9, 0.999];

/// Everything that one training step depends on besides the learner's own state.
///
/// The step: render each view of `views`; loss = (1 - `ssim_weight`) L1 + `ssim_weight` (1 - SSIM)
/// over counted pixels, the mean over the views, plus the regularisers; gradients; Adam (`betas`,
/// epsilon 1e-15, bias correction by `step` if asked for); statistics; noise.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPlan {
    /// Number of this step, from 1. Also the exponent of Adam's bias correction.
    pub step: u32,
    /// Whether the moments are divided by 1 - beta^step (Adam's bias correction). Without it early
    /// steps are larger, at most by a factor of 6.5, at step 10 with [`BETAS`].
    pub bias_correction: bool,
    /// Adam's decays of the first and the second moment; [`BETAS`] for steps of one view.
    pub betas: [f64; 2],
    /// Indices into the learner's views, at least one. A view that is there twice counts twice.
    pub views: Vec<usize>,
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
    /// Sparse Adam: a Gaussian without a splat in any of the views is left entirely alone,
    /// parameters and moments, by the optimiser and both regularisers. Statistics and noise
    /// are as without.
    pub sparse_adam: bool,
    /// The views are learnt from at their size divided by this, 1, 2 or 4: camera as
    /// [`crate::Camera::reduced`], photo and mask as [`crate::Photo::reduced`]. The loss is a mean
    /// over pixels, so dL/d(2D mean in NDC) does not depend on the size of the image: statistics of
    /// different scales can be added.
    pub scale: u32,
    /// Collect what densification needs: for each Gaussian in view a norm of dL/d(2D mean) in NDC
    /// units (pixels times half the image side), and how often it was seen; `None` for nothing.
    pub statistics: Option<Statistic>,
    /// MCMC's exploration (Kheradmand et al. 2024, eq. 7): after the update every mean moves by
    /// `noise * sigmoid(-100 (opacity - 0.005)) * Sigma * n`, n standard normal from
    /// [`crate::random::normal3`]`(seed, step, index)`; `None` for no noise. The value is the noise
    /// rate times the means' learning rate.
    pub noise: Option<f32>,
    /// Learns what each photo and each camera made of the scene's colours: the loss compares the
    /// photo with what the model makes of the image ([`crate::colour`]). An Adam of their own
    /// updates the numbers of a view from that view's loss alone. A photo with alpha is put on what
    /// the model makes of the background ([`crate::colour::Entry::of_colour`]). `None` compares the
    /// image as it is.
    pub colour: Option<ColourPlan>,
    /// Learns the sky behind the scene ([`crate::sky`]), from the first step that asks for it on,
    /// by an Adam of its own and the mean of the views' gradients. Gradients of cameras are as if
    /// the sky did not turn with them. `None` leaves what is known of a sky as it is and does not
    /// show it.
    pub sky: Option<SkyPlan>,
    /// Also compares the depths of each view with what its photo knows of them
    /// ([`crate::Photo::depth`]); a view of which nothing is known is learned from as without.
    /// Colours, and how colour models learn, stay as they are. `None` compares no depth.
    pub depth: Option<DepthPlan>,
    /// Learns columns, each from the first step that asks for it on; Gaussians that they say are
    /// drawn no more are so from this step on. Sparse Adam leaves the numbers of unseen Gaussians
    /// alone, too.
    pub columns: ColumnPlans,
    /// Also the gradient of each view's loss by the pose of its camera, for
    /// [`super::Posed::pose_gradients`]; of image and depth, without the regularisers. Changes
    /// nothing else of the step.
    pub pose_gradients: bool,
    /// Also the gradient of each view's loss by its camera's intrinsics, for
    /// [`super::Posed::intrinsics_gradients`]; likewise.
    pub intrinsics_gradients: bool,
    /// Seed of the run, for the noise.
    pub seed: u64,
    /// The views of the steps that follow, one step's after the other, as far as they are known:
    /// photos that are not held are read ahead by it. No bit depends on it.
    pub upcoming: Vec<usize>,
}

impl StepPlan {
    /// A step of these views at their own size that moves nothing and collects nothing: rates of 0,
    /// [`BETAS`] with bias correction, INRIA's weight of SSIM, and none of what else may be learnt.
    /// To be changed with the fields that a step wants.
    pub fn of(step: u32, views: Vec<usize>, render: RenderOptions) -> Self {
        Self {
            step,
            bias_correction: true,
            betas: BETAS,
            views,
            render,
            rates: LearningRates::default(),
            ssim_weight: 0.2,
            opacity_regulariser: 0.0,
            scale_regulariser: 0.0,
            sparse_adam: false,
            scale: 1,
            statistics: None,
            noise: None,
            colour: None,
            sky: None,
            depth: None,
            columns: ColumnPlans::default(),
            pose_gradients: false,
            intrinsics_gradients: false,
            seed: 0,
            upcoming: Vec::new(),
        }
    }
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
