//! Changes of the set of Gaussians.

use super::frame::RenderOptions;
use crate::Region;
use crate::columns::Column;

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
