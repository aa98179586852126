//! The gradient of learned masks (Lee et al. 2024; [`splatcore_core::columns::learned_masks`]).
//! Twin: `splatcore_reference::twin::learned_masks`.

use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;

/// From this opacity logit on, 1 + e^logit is that of this logit: the gradient it is multiplied
/// with is 0 in f32 long before.
const MAX_LOGIT: f32 = 80.0;

/// dL/dm, as a [`super::Gradient`].
pub(super) fn gradient(masks: &[f32], share: f32, logits: &[f32], image: &Gaussians) -> Vec<f32> {
    let of_row = |(i, &mask): (usize, &f32)| {
        // d ln opacity / d logit = 1 - opacity = 1 / (1 + e^logit).
        let odds = logits[i].min(MAX_LOGIT).exp();
        let of_opacity = image.opacity_logits[i] * (1.0 + odds);
        let [x, y, z] = image.log_scales[i];
        let on = sigmoid(mask);
        (x + y + z + of_opacity + share) * (on * (1.0 - on))
    };
    masks.iter().enumerate().map(of_row).collect()
}
