//! `learned_masks`: a mask for each Gaussian, learned in the step that updates it (Lee et al. 2024;
//! [`splatcore_core::learned_masks`]). Twin: `splatcore_reference::twin::learned_masks`.

use crate::adam::{Correction, Group, adam};
use crate::frame::ROWS;
use crate::shared::Disjoint;
use crate::simd::Level;
use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::learned_masks::{MaskPlan, OFF_OPACITY_LOGIT, is_on};
use std::ops::Range;

/// From this opacity logit on, 1 + e^logit is that of this logit: the gradient it is multiplied
/// with is 0 in f32 long before.
const MAX_LOGIT: f32 = 80.0;

/// The masks of all Gaussians as slices that threads share by disjoint rows.
pub(crate) struct MaskRows<'a> {
    logits: Disjoint<'a, f32>,
    first: Disjoint<'a, f32>,
    second: Disjoint<'a, f32>,
    plan: MaskPlan,
}

impl<'a> MaskRows<'a> {
    /// Of the arrays of the masks' column: logits, first and second moments.
    pub fn new([logits, first, second]: [&'a mut [f32]; 3], plan: MaskPlan) -> Self {
        Self {
            logits: Disjoint::new(logits),
            first: Disjoint::new(first),
            second: Disjoint::new(second),
            plan,
        }
    }

    /// dL/dm of `rows` Gaussians from row `first` on, of `count` in all, given the image's
    /// gradients with respect to log scales and opacity logits, and these logits.
    ///
    /// # Safety
    /// No one may change these rows meanwhile.
    pub unsafe fn gradients(
        &self,
        (first, rows): (usize, usize),
        count: usize,
        opacity_logits: &[f32],
        image: &Gaussians,
    ) -> [f32; ROWS] {
        // SAFETY: the caller's promise.
        let masks = unsafe { self.logits.get(first, rows) };
        let share = self.plan.weight / count as f32;
        let mut gradients = [0.0; ROWS];
        for (i, &logit) in masks.iter().enumerate() {
            // d ln opacity / d logit = 1 - opacity = 1 / (1 + e^logit).
            let odds = opacity_logits[i].min(MAX_LOGIT).exp();
            let of_opacity = image.opacity_logits[i] * (1.0 + odds);
            let [x, y, z] = image.log_scales[i];
            let on = sigmoid(logit);
            gradients[i] = (x + y + z + of_opacity + share) * (on * (1.0 - on));
        }
        gradients
    }

    /// Adam for the masks of the Gaussians from row `first` on that are `taken`.
    ///
    /// # Safety
    /// No one else may use these rows.
    pub unsafe fn learn(
        &self,
        (level, correction): (Level, Correction),
        taken: &[Range<usize>],
        first: usize,
        gradients: &[f32],
    ) {
        let rows = gradients.len();
        // SAFETY: the caller's promise.
        let [logits, of_first, of_second] = unsafe {
            [&self.logits, &self.first, &self.second].map(|array| array.get(first, rows))
        };
        let mut group = Group::plain(logits, of_first, of_second, gradients, 1, self.plan.rate);
        for rows in taken {
            adam(level, &mut group.rows(rows), correction);
        }
    }

    /// Fades the masked among the Gaussians from row `first` on that are `taken`, given the opacity
    /// logits of all and the two moments of these: nothing draws them from now on, and nothing
    /// brings them back.
    ///
    /// # Safety
    /// No one may change these rows of the masks meanwhile.
    pub unsafe fn fade(
        &self,
        taken: &[Range<usize>],
        first: usize,
        opacity_logits: &mut [f32],
        [of_first, of_second]: [&mut [f32]; 2],
    ) {
        // SAFETY: the caller's promise.
        let masks = unsafe { self.logits.get(first, opacity_logits.len()) };
        for i in taken
            .iter()
            .cloned()
            .flatten()
            .filter(|&i| !is_on(masks[i]))
        {
            opacity_logits[i] = OFF_OPACITY_LOGIT;
            (of_first[i], of_second[i]) = (0.0, 0.0);
        }
    }
}
