//! The 2D filter of Mip-Splatting (Yu et al. 2024, section 4.2, eq. 10): `project` widens every
//! splat by 0.3 px², which must not make it brighter as well.
//!
//! With C the projected covariance and C' = C + 0.3 I, the opacity is multiplied by sqrt(det C /
//! det C'), so that the integral over the image stays what it was. The ratio has a floor, below
//! which the factor is constant.

use super::blend_backward::SplatGradient;
use super::matrix::inverse_symmetric;
use super::project::{Splat, sigmoid};
use super::scene::Scene;
use splatcore_core::semantics::{COMPENSATION_MIN, LOW_PASS};

/// Makes a splat of [`super::project`] fainter by what the low pass made it larger.
pub fn compensate(splat: &mut Splat) {
    let [a, b, c] = splat.covariance;
    let before = (a - LOW_PASS) * (c - LOW_PASS) - b * b;
    let ratio = (before / (a * c - b * b)).max(COMPENSATION_MIN);
    splat.compensation = ratio.sqrt();
    splat.opacity *= splat.compensation;
}

/// The factor's part of the gradient with respect to the covariance: d ln sqrt(det C / det C') =
/// (C^-1 - C'^-1) / 2, times dL/d ln opacity. Zero without the filter and at its floor.
pub fn covariance_gradient(splat: &Splat, gradient: &SplatGradient) -> [[f64; 2]; 2] {
    if splat.compensation == 1.0 || splat.compensation <= COMPENSATION_MIN.sqrt() {
        return [[0.0; 2]; 2];
    }
    let [a, b, c] = splat.covariance;
    let with = inverse_symmetric([a, b, c]);
    let without = inverse_symmetric([a - LOW_PASS, b, c - LOW_PASS]);
    let scale = 0.5 * gradient.opacity * splat.opacity;
    std::array::from_fn(|i| std::array::from_fn(|j| scale * (without[i][j] - with[i][j])))
}

/// dL/d logit: the factor does not depend on it.
pub fn logit_gradient(scene: &Scene, splat: &Splat, gradient: &SplatGradient) -> f64 {
    gradient.opacity * splat.opacity * (1.0 - sigmoid(scene.opacity_logits[splat.index]))
}
