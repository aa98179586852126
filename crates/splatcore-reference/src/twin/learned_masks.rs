//! Learned masks (Lee et al. 2024, section 3.1) in f64: see
//! [`splatcore_core::columns::learned_masks`].
//!
//! A Gaussian is drawn with its scales and its opacity multiplied by M, which is 1 or 0; the
//! derivative with respect to M is passed on to the mask logit m as if M were sigmoid(m).

use super::project::sigmoid;
use super::scene::Scene;

/// The Gaussians with scales and opacities multiplied by M, a number above 0 each.
pub fn masked(scene: &Scene, factors: &[f64]) -> Scene {
    let mut masked = scene.clone();
    for (i, factor) in factors.iter().enumerate() {
        masked.log_scales[i] = masked.log_scales[i].map(|s| s + factor.ln());
        let opacity = factor * sigmoid(scene.opacity_logits[i]);
        masked.opacity_logits[i] = (opacity / (1.0 - opacity)).ln();
    }
    masked
}

/// dL/dm of every Gaussian, given the image's gradients of the Gaussians at M = 1.
pub fn gradients(scene: &Scene, image: &Scene, mask_logits: &[f64], weight: f64) -> Vec<f64> {
    let share = weight / scene.len() as f64;
    (0..scene.len())
        .map(|i| {
            let opacity = sigmoid(scene.opacity_logits[i]);
            let of_scales: f64 = image.log_scales[i].iter().sum();
            let of_opacity = image.opacity_logits[i] / (1.0 - opacity);
            let on = sigmoid(mask_logits[i]);
            (of_scales + of_opacity + share) * on * (1.0 - on)
        })
        .collect()
}

/// What `weight` adds to the loss.
pub fn regulariser(mask_logits: &[f64], weight: f64) -> f64 {
    let sum: f64 = mask_logits.iter().map(|&m| sigmoid(m)).sum();
    weight * sum / (mask_logits.len() as f64).max(1.0)
}
