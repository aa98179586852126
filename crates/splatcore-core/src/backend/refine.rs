//! Changes of the set of Gaussians, and the scores that some of them ask for.

use super::frame::RenderOptions;
use crate::Region;
use crate::colour::ColourModel;
use crate::columns::Column;

/// How Gaussians are scored over several of the learner's views, after FastGS (Ren et al. 2025,
/// arXiv:2511.04283, multi-view consistent densification).
///
/// A pixel is *bad* in a view if its L1 error (mean over the channels), min-max normalised over the
/// view's counted pixels, is above `error_threshold`. FastGS counts the bad pixels in a Gaussian's
/// footprint; here a pixel counts by the Gaussian's blending weight in it, which is the gradient of
/// the colour for an image gradient of 1 at bad pixels: the backward pass is the counter, and a
/// footprint behind an opaque surface counts nothing. Exact numbers: [`Scores`].
///
/// What is compared is what a step compares: the view at its size divided by `scale`, the image
/// through the photo's own colour model, a transparent photo on the background. Anything else would
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
    /// As [`super::StepPlan::scale`]; a pixel of the reduced photo counts `scale * scale` pixels.
    pub scale: u32,
    /// The colour model that images go through as in a step ([`super::StepPlan::colour`]), as far
    /// as its numbers were learned.
    pub colour: Option<ColourModel>,
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

/// Growth only where views agree that the image is bad.
#[derive(Clone, Debug, PartialEq)]
pub struct Consistency {
    /// Which views, and what is bad.
    pub scoring: Scoring,
    /// A Gaussian grows only if its weights in bad pixels add up to at least this much a view, in
    /// pixels.
    pub min_bad: f32,
}

/// So many grow in a round of adaptive density control that the set gains `share` of what `count`
/// Gaussians lack to `max_gaussians`, rounded up.
pub fn budget_room(share: f32, count: usize, max_gaussians: usize) -> usize {
    let lacking = max_gaussians.saturating_sub(count);
    ((lacking as f64 * share as f64).ceil() as usize).min(lacking)
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
        /// Pruned below this opacity. What a column says is drawn no more
        /// ([`crate::columns::Learns`]) is, unless this is 0.
        min_opacity: f32,
        /// Pruned when the largest scale exceeds this (world units).
        max_scale: Option<f32>,
        /// Never grow beyond this many; the largest gradients go first.
        max_gaussians: usize,
        /// What else growth asks for.
        consistency: Option<Consistency>,
        /// `None`: all at or above the threshold grow. A share: whatever their gradients, so many
        /// that the set gains this share of what it lacks to its limit ([`budget_room`]) are drawn
        /// without replacement, in proportion to the sum of their gradient norms since the last
        /// refinement ([`crate::random::draw_key`]). What no view saw is not drawn.
        budget: Option<f32>,
        /// Only Gaussians with their mean in it grow; `None`: all may.
        region: Option<Region>,
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
    /// Removes the Gaussians that a column which learns says are drawn no more
    /// ([`crate::columns::Learns`]); statistics stay with those that are left. If the column does
    /// not exist or does not learn it removes none.
    PruneByColumn(Column),
    /// Computes a column for the learner's cameras; from then on the learner renders through it.
    /// One that learns stays as it is.
    ComputeColumn(Column),
    /// Caps every log scale at what [`crate::scale_limit`] says for the learner's cameras; moments
    /// stay.
    LimitScales {
        /// Of the distance from the nearest camera; above 0.
        share: f32,
        /// What is no larger stays, world units; 0 or above.
        floor: f32,
    },
    /// Caps every opacity (filtered, where there is a filter) at `ceiling` and clears the opacity's
    /// moments.
    ResetOpacity {
        /// 0.01 in INRIA's code.
        ceiling: f32,
    },
    /// Multiplies every opacity by `factor`, but lowers none below `floor` and raises none; clears
    /// all moments.
    FadeOpacity {
        /// From 0 to 1.
        factor: f32,
        /// From 0 to 1.
        floor: f32,
    },
    /// MCMC (Kheradmand et al. 2024): Gaussians at or below `min_opacity` move onto ones drawn with
    /// probability proportional to opacity, then the set grows by `growth` in the same way; sources
    /// and copies share opacity and scale so that the image changes least (eq. 9); moments of the
    /// sources are cleared.
    Mcmc {
        /// Dead at or below.
        min_opacity: f32,
        /// 0.05 grows by 5 %.
        growth: f32,
        /// Never grow beyond this many.
        max_gaussians: usize,
        /// Only Gaussians with their mean in it are drawn, nobody if there are none; `None`: all
        /// may be.
        region: Option<Region>,
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
