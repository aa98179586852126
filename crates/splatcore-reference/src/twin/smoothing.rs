//! The 3D filter of Mip-Splatting (Yu et al. 2024, section 4.1, eq. 8): every Gaussian convolved
//! with one of its own.
//!
//! Sigma becomes Sigma + f² I and the opacity sqrt(|Sigma| / |Sigma + f² I|) of what it was. A
//! Gaussian of scales sqrt(s² + f²) and the lower opacity is rendered in its place; gradients come
//! back through these two formulas.

use super::project::sigmoid;
use super::scene::Scene;

/// The convolved Gaussians; `filters` holds ln f of each.
pub fn smooth(scene: &Scene, filters: &[f64]) -> Scene {
    let mut smooth = scene.clone();
    for (i, filter) in filters.iter().enumerate() {
        let (scales, factor) = convolved(scene.log_scales[i], *filter);
        smooth.log_scales[i] = scales.map(f64::ln);
        let opacity = factor * sigmoid(scene.opacity_logits[i]);
        smooth.opacity_logits[i] = (opacity / (1.0 - opacity)).ln();
    }
    smooth
}

/// Turns gradients with respect to the convolved Gaussians into those of the ones they were made
/// of.
pub fn smooth_backward(scene: &Scene, filters: &[f64], gradient: &mut Scene) {
    for (i, filter) in filters.iter().enumerate() {
        let (scales, factor) = convolved(scene.log_scales[i], *filter);
        let before = sigmoid(scene.opacity_logits[i]);
        let after = factor * before;
        // d logit' / d ln opacity' = 1 / (1 - opacity').
        let d_ln_opacity = gradient.opacity_logits[i] / (1.0 - after);
        gradient.opacity_logits[i] = d_ln_opacity * (1.0 - before);
        for k in 0..3 {
            // d ln s' / d ln s, and the factor is the product of s / s'.
            let own = (2.0 * scene.log_scales[i][k]).exp() / (scales[k] * scales[k]);
            gradient.log_scales[i][k] =
                own * gradient.log_scales[i][k] + (1.0 - own) * d_ln_opacity;
        }
    }
}

/// The scales after the convolution, and what the opacity is multiplied by.
fn convolved(log_scales: [f64; 3], filter: f64) -> ([f64; 3], f64) {
    let scales = log_scales.map(|s| ((2.0 * s).exp() + (2.0 * filter).exp()).sqrt());
    let factor = (0..3).map(|k| log_scales[k].exp() / scales[k]).product();
    (scales, factor)
}
