//! Every check, and the run of them all.

use super::outcome::Outcome;
use super::{
    batches, colour, depth, depth_gradients, depth_guide, determinism, errors, forward, gradients,
    intrinsics, learned_masks, lenses, photos_elsewhere, poses, refine, shutters, sky, smoothing,
    step, step_options, strips, visibility,
};
use splatcore_core::backend::Backend;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

/// A check with its name.
pub type Check = (&'static str, fn(&dyn Backend) -> Outcome);

/// Every check.
pub const CHECKS: &[Check] = &[
    ("images match the twin", forward::images_match_the_twin),
    (
        "inverse depth matches the twin",
        depth::inverse_depth_matches_the_twin,
    ),
    ("counts match the twin", forward::counts_match_the_twin),
    ("strips are counted", strips::strips_are_counted),
    (
        "visibility matches the twin",
        visibility::visibility_matches_the_twin,
    ),
    (
        "tile counts match the twin",
        visibility::tile_counts_match_the_twin,
    ),
    (
        "weights are gradients of colours",
        visibility::weights_are_gradients_of_colours,
    ),
    (
        "gradients match the twin",
        gradients::gradients_match_the_twin,
    ),
    (
        "depth gradients match the twin",
        depth_gradients::depth_gradients_match_the_twin,
    ),
    ("runs are bit-equal", determinism::runs_are_bit_equal),
    (
        "buffers are not remembered",
        determinism::buffers_are_not_remembered,
    ),
    (
        "snapshots go on bit for bit",
        determinism::snapshots_go_on_bit_for_bit,
    ),
    ("a step matches the twin", step::a_step_matches_the_twin),
    ("statistics match the twin", step::statistics_match_the_twin),
    ("a rim is not in view", step::a_rim_is_not_in_view),
    (
        "regularisers match the twin",
        step::regularisers_match_the_twin,
    ),
    (
        "ignored pixels change nothing",
        step_options::ignored_pixels_change_nothing,
    ),
    ("noise matches the twin", step::noise_matches_the_twin),
    (
        "a batch is the mean of its views",
        batches::a_batch_is_the_mean_of_its_views,
    ),
    ("masks learn in batches", batches::masks_learn_in_batches),
    (
        "sparse batches take what any view shows",
        batches::sparse_batches_take_what_any_view_shows,
    ),
    (
        "batches go on bit for bit",
        batches::batches_go_on_bit_for_bit,
    ),
    (
        "wrong batches are errors",
        batches::wrong_batches_are_errors,
    ),
    ("a sky is behind images", sky::a_sky_is_behind_images),
    (
        "a sky learns like the twin's",
        sky::a_sky_learns_like_the_twins,
    ),
    ("a sky goes on bit for bit", sky::a_sky_goes_on_bit_for_bit),
    (
        "filters follow the cameras",
        smoothing::filters_follow_the_cameras,
    ),
    (
        "filtered pictures match the twin",
        smoothing::filtered_pictures_match_the_twin,
    ),
    (
        "an antialiased step matches the twin",
        smoothing::an_antialiased_step_matches_the_twin,
    ),
    (
        "images through lenses match the twin",
        lenses::images_match_the_twin,
    ),
    (
        "gradients through lenses match the twin",
        lenses::gradients_match_the_twin,
    ),
    (
        "steps through lenses match the twin",
        lenses::steps_match_the_twin,
    ),
    ("floaters go through lenses", lenses::floaters_go),
    (
        "filters follow cameras with lenses",
        lenses::filters_follow_the_cameras,
    ),
    ("other lenses are refused", lenses::other_lenses_are_refused),
    (
        "images of rolling shutters match the twin",
        shutters::images_match_the_twin,
    ),
    (
        "gradients of rolling shutters match the twin",
        shutters::gradients_match_the_twin,
    ),
    (
        "steps of rolling shutters match the twin",
        shutters::steps_match_the_twin,
    ),
    (
        "rolling shutters along rays are refused",
        shutters::rays_are_refused,
    ),
    (
        "pose gradients match the twin",
        poses::pose_gradients_match_the_twin,
    ),
    (
        "pose gradients leave the step alone",
        poses::pose_gradients_leave_the_step_alone,
    ),
    (
        "intrinsics gradients match the twin",
        intrinsics::intrinsics_gradients_match_the_twin,
    ),
    (
        "intrinsics gradients leave the step alone",
        intrinsics::intrinsics_gradients_leave_the_step_alone,
    ),
    (
        "moved cameras are the cameras",
        poses::moved_cameras_are_the_cameras,
    ),
    (
        "guided steps match the twin",
        depth_guide::guided_steps_match_the_twin,
    ),
    (
        "steps with normals match the twin",
        depth_guide::steps_with_normals_match_the_twin,
    ),
    (
        "guided poses match the twin",
        depth_guide::guided_poses_match_the_twin,
    ),
    (
        "unknown depths change nothing",
        depth_guide::unknown_depths_change_nothing,
    ),
    (
        "sparse adam leaves the unseen alone",
        step_options::sparse_adam_leaves_the_unseen_alone,
    ),
    (
        "reduced views are smaller views",
        step_options::reduced_views_are_smaller_views,
    ),
    (
        "alpha stands on the background",
        step_options::alpha_stands_on_the_background,
    ),
    (
        "colour models match the twin",
        colour::colour_models_match_the_twin,
    ),
    (
        "no colour model leaves no trace",
        colour::no_colour_model_leaves_no_trace,
    ),
    (
        "colour models go on bit for bit",
        colour::colour_models_go_on_bit_for_bit,
    ),
    (
        "learned masks match the twin",
        learned_masks::learned_masks_match_the_twin,
    ),
    ("masked Gaussians go", learned_masks::masked_gaussians_go),
    ("adc clones and splits", refine::adc_clones_and_splits),
    (
        "adc prunes and respects the limit",
        refine::adc_prunes_and_respects_the_limit,
    ),
    ("floaters go", refine::floaters_go),
    (
        "scales keep to their limit",
        refine::scales_keep_to_their_limit,
    ),
    ("opacity reset caps", refine::opacity_reset_caps),
    ("opacity fades", refine::opacity_fades),
    (
        "photos may be elsewhere",
        photos_elsewhere::steps_are_those_of_held_photos,
    ),
    (
        "a photo that is gone stops a step",
        photos_elsewhere::a_photo_that_is_gone_stops_a_step,
    ),
    ("adc draws by the budget", refine::adc_draws_by_the_budget),
    (
        "filters stay with their Gaussians",
        refine::filters_stay_with_their_gaussians,
    ),
    (
        "opacity reset caps filtered opacities",
        refine::opacity_reset_caps_filtered_opacities,
    ),
    (
        "masks stay with their Gaussians",
        refine::masks_stay_with_their_gaussians,
    ),
    ("mcmc relocates", refine::mcmc_relocates),
    ("mcmc grows", refine::mcmc_grows),
    (
        "growth stays in the region",
        refine::growth_stays_in_the_region,
    ),
    (
        "contradictions are errors",
        errors::contradictions_are_errors,
    ),
];

/// Outcome of one check.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// Name of the check.
    pub name: &'static str,
    /// What it said.
    pub outcome: Outcome,
    /// How long it took, in seconds.
    pub seconds: f64,
}

/// Runs every check. A panic is a failed check.
pub fn all(backend: &dyn Backend) -> Vec<CaseResult> {
    let run = |&(name, check): &Check| {
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| check(backend)))
            .unwrap_or_else(|_| Err("it panicked, see above".into()));
        CaseResult {
            name,
            outcome,
            seconds: start.elapsed().as_secs_f64(),
        }
    };
    CHECKS.iter().map(run).collect()
}
