//! Which settings follow from others, and which of them from the number of steps.

/// Settings that [`super::Config::complete`] derives from the number of steps where they are not
/// given. The limit of Gaussians is among them for runs with a budget alone.
const FROM_STEPS: [&str; 14] = [
    "iterations",
    "coarse_until",
    "max_gaussians",
    "sh_every",
    "densify_from",
    "densify_until",
    "densify_every",
    "opacity_reset_every",
    "opacity_halving_every",
    "prune_every",
    "growth",
    "init_scale",
    "lr_means",
    "lr_means_final",
];

/// Whether the field of this name is one of them.
pub(super) fn follows_from_steps(name: &str) -> bool {
    FROM_STEPS.contains(&name)
}

/// Settings whose defaults follow from `iterations`, `strategy` or another setting. Their help says
/// how.
pub(super) const FOLLOWING: [&str; 23] = [
    "lr_means",
    "lr_means_final",
    "resolution_schedule",
    "lr_final_share",
    "densify_growth",
    "opacity_halving_every",
    "prune_scale",
    "coarse_until",
    "lr_opacity",
    "opacity_regulariser",
    "scale_regulariser",
    "sh_every",
    "densify_from",
    "densify_until",
    "densify_every",
    "densify_gradient",
    "prune_floaters",
    "max_scale",
    "prune_every",
    "opacity_reset_every",
    "growth",
    "init_opacity",
    "init_scale",
];
