//! What is done with every setting: layers of them, and which are given.

use super::choices::Appearance;
use super::settings::Config;
use splatcore_core::colour::ColourModel;

/// Calls the macro `$apply` with the name of every setting, in the order of [`Config`]. A name
/// that is missing here does not compile.
macro_rules! with_settings {
    ($apply:ident) => {
        $apply! {
            preset iterations budget quality_target strategy max_gaussians sh_degree max_size lens
            test_every seed background backend threads deterministic pipeline moments antialias
            batch batch_scaling optimizer no_bias_correction resolution_schedule coarse_until
            checkpoint_every eval_every lr_means lr_means_final lr_sh_base lr_sh_rest lr_opacity
            lr_scales lr_rotations lr_final_share lr_exposure lr_exposure_final lr_masks ssim_weight
            appearance exposure exif_exposure refine_poses pose_travel pose_degrees pose_shift
            refine_motion readout_time readout_direction refine_intrinsics intrinsics_limit depths
            depth_kind depth_unit depth_loss depth_weight normals normal_frame normal_weight sky
            sky_masks sky_weight lr_sky opacity_regulariser scale_regulariser learned_masks region
            noise_rate sh_every densify_from densify_until densify_every densify_gradient
            densify_statistic densify_growth prune_floaters max_scale prune_every split_scale
            prune_scale min_opacity opacity_reset_every opacity_reset_to opacity_halving_every
            growth init_opacity init_scale
        }
    };
}

impl Config {
    /// Nothing is given.
    pub const UNSET: Self = {
        macro_rules! unset {
            ($($name:ident)*) => { Self { $($name: None),* } };
        }
        with_settings!(unset)
    };

    /// These settings, and the lower layer's where they say nothing.
    pub fn over(&self, lower: &Self) -> Self {
        let (this, lower) = (self.by_one_name(), lower.by_one_name());
        macro_rules! first {
            ($($name:ident)*) => { Self { $($name: this.$name.or(lower.$name)),* } };
        }
        with_settings!(first)
    }

    /// With the other name of a setting in place of a name that means the same.
    pub(super) fn by_one_name(&self) -> Self {
        let affine = |wanted: bool| Appearance(wanted.then_some(ColourModel::Affine));
        Self {
            appearance: self.appearance.or(self.exposure.map(affine)),
            exposure: None,
            ..self.clone()
        }
    }

    /// Those of the settings whose field's name is to be kept.
    pub(super) fn filtered(&self, keep: impl Fn(&str) -> bool) -> Self {
        let this = self.clone();
        macro_rules! filter {
            ($($name:ident)*) => {
                Self { $($name: this.$name.filter(|_| keep(stringify!($name)))),* }
            };
        }
        with_settings!(filter)
    }

    /// Whether the setting of this key is given.
    pub fn gives(&self, key: &str) -> bool {
        macro_rules! find {
            ($($name:ident)*) => {
                match key.replace('-', "_").as_str() {
                    $(stringify!($name) => self.$name.is_some(),)*
                    _ => false,
                }
            };
        }
        with_settings!(find)
    }
}
