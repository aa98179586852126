//! Training that starts from a scene and keeps its set of Gaussians.

use crate::config::{Config, Strategy};

/// Learning rate of the means at the first step: a scene's Gaussians are where they should be, but
/// those that are left must move over what went. A hundredth of that of training is left at the
/// end, as there.
const MEANS: f64 = 1.6e-5;

/// Settings of `steps` steps on a scene of degree `sh_degree` that add and remove no Gaussians, for
/// [`crate::Trainer::new`]. All harmonics learn from the first steps on, photos have their full
/// size, and opacities are not reset; all else is as in training.
pub fn finetuning(steps: u32, sh_degree: u8) -> Config {
    Config {
        iterations: Some(steps),
        strategy: Some(Strategy::Adc),
        sh_degree: Some(sh_degree),
        sh_every: Some(1),
        densify_until: Some(0),
        prune_floaters: Some(0.0),
        checkpoint_every: Some(0),
        lr_means: Some(MEANS),
        lr_means_final: Some(MEANS / 100.0),
        ..Config::UNSET
    }
}
