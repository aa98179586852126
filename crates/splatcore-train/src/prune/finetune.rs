//! Training that starts from a scene and keeps its set of Gaussians.

use crate::config::{Config, Strategy};

/// Learning rate of the means at the first step: a scene's Gaussians are where they should be, but
/// those that are left must move over what went. A hundredth of that of training is left at the
/// end, as there.
const MEANS: f64 = 1.6e-5;
/// Share of the steps, in hundredths, that [`settling`] takes where there is something to settle.
const SETTLING_PERCENT: u64 = 30;

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

/// Settings of `steps` steps, behind those of [`finetuning`], on a scene whose scales, rotations
/// and harmonics above degree 0 a file has rounded: they stay as they are, so that the file can
/// hold them again, and means, opacities and base colours make up for what rounding did.
pub fn settling(steps: u32, sh_degree: u8) -> Config {
    Config {
        lr_scales: Some(0.0),
        lr_rotations: Some(0.0),
        lr_sh_rest: Some(0.0),
        ..finetuning(steps, sh_degree)
    }
}

/// How many of `steps` steps are for [`finetuning`], and how many for [`settling`].
pub fn shared_out(steps: u32) -> [u32; 2] {
    let settling = (u64::from(steps) * SETTLING_PERCENT / 100) as u32;
    [steps - settling, settling]
}
