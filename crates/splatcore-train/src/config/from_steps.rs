//! Which settings follow from the number of steps.

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
