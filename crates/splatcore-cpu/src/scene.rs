//! The scene as kernels read it: flat arrays.

use splatcore_core::Gaussians;
use splatcore_core::columns::Values;

/// Views of the scene's arrays as flat f32.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// `[n][3]`
    pub means: &'a [f32],
    /// `[n][3]`
    pub log_scales: &'a [f32],
    /// `[n][4]`
    pub rotations: &'a [f32],
    /// `[n]`
    pub opacity_logits: &'a [f32],
    /// `[n][stride]`
    pub sh: &'a [f32],
    /// Floats of spherical harmonics a Gaussian.
    pub sh_stride: usize,
    /// Degree in use, at most the stored one.
    pub sh_degree: u8,
    /// Columns of the Gaussians.
    pub columns: Values<'a>,
}

impl<'a> Scene<'a> {
    /// Borrows Gaussians, using harmonics up to `sh_degree`.
    pub fn new(gaussians: &'a Gaussians, sh_degree: u8) -> Self {
        Self::with_columns(gaussians, Values::default(), sh_degree)
    }

    /// As [`Scene::new`], with these columns.
    pub fn with_columns(gaussians: &'a Gaussians, columns: Values<'a>, sh_degree: u8) -> Self {
        Self {
            columns,
            means: gaussians.means.as_flattened(),
            log_scales: gaussians.log_scales.as_flattened(),
            rotations: gaussians.rotations.as_flattened(),
            opacity_logits: &gaussians.opacity_logits,
            sh: gaussians.sh.as_flattened(),
            sh_stride: 3 * gaussians.coefficients(),
            sh_degree: sh_degree.min(gaussians.sh_degree),
        }
    }
}
