//! Learned masks: training itself says which Gaussians it can do without (Lee et al. 2024, "Compact
//! 3D Gaussian Representation for Radiance Field", section 3.1, "Gaussian volume mask").
//!
//! Each Gaussian has a mask logit m and is drawn with its scales and its opacity multiplied by M,
//! which is 1 if `sigmoid(m) >= 0.01` and else 0. The loss gains `weight` times the mean of
//! `sigmoid(m)` over all Gaussians. M has no useful derivative, so that of `sigmoid(m)` stands for
//! it (the straight-through estimator):
//!
//! ```text
//! dL/dm = (dL/dM at M = 1  +  weight / n) sigmoid'(m)
//! dL/dM = sum over the 3 axes of dL/d(ln scale)  +  dL/d(ln opacity)
//! ```
//!
//! as scales and opacity are proportional to M. A Gaussian with M = 0 has no splat, hence no
//! gradient but that of the weight, which pulls m further down: it never comes back. A step gives
//! it the opacity [`OFF_OPACITY_LOGIT`] at once, so that nothing else needs to know of masks; the
//! next [`crate::backend::Refine::Adc`] or [`crate::backend::Refine::PruneMasked`] removes it.

/// Every mask logit at the start, as in the authors' code: `sigmoid` of it is 0.73.
pub const START: f32 = 1.0;
/// `ln(0.01 / 0.99)`: a Gaussian whose mask logit is below this is masked.
pub const MIN: f32 = -4.595_12;
/// Opacity logit of a masked Gaussian: an opacity of 1e-13, far below the 1/255 that is drawn.
pub const OFF_OPACITY_LOGIT: f32 = -30.0;

/// Whether a Gaussian with this mask logit is there; one that is not a number is not.
pub fn is_on(logit: f32) -> bool {
    logit >= MIN
}

/// How masks learn in a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MaskPlan {
    /// Weight of the mean of `sigmoid(m)` in the loss; 5e-4 in the paper.
    pub weight: f32,
    /// Adam's learning rate of m; 0.01 in the authors' code.
    pub rate: f32,
}

/// The masks with what Adam knows of them, a number a Gaussian each; empty before the first step
/// that learns any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LearnedMasks {
    /// m, `[n]`.
    pub logits: Vec<f32>,
    /// Adam's first moments, `[n]`.
    pub first: Vec<f32>,
    /// Adam's second moments, `[n]`.
    pub second: Vec<f32>,
}

impl LearnedMasks {
    /// The state in which training starts: every Gaussian is there.
    pub fn fresh(gaussians: usize) -> Self {
        Self {
            logits: vec![START; gaussians],
            first: vec![0.0; gaussians],
            second: vec![0.0; gaussians],
        }
    }

    /// Number of Gaussians.
    pub fn len(&self) -> usize {
        self.logits.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.logits.is_empty()
    }

    /// The three arrays.
    pub fn arrays(&self) -> [&Vec<f32>; 3] {
        [&self.logits, &self.first, &self.second]
    }

    /// Appends the mask of Gaussian `i` with empty moments; nothing without masks.
    pub fn push_copy(&mut self, i: usize) {
        if let Some(&logit) = self.logits.get(i) {
            self.logits.push(logit);
            self.first.push(0.0);
            self.second.push(0.0);
        }
    }

    /// Gives Gaussian `to` the mask of Gaussian `from` with empty moments; nothing without masks.
    pub fn overwrite(&mut self, to: usize, from: usize) {
        if !self.is_empty() {
            self.logits[to] = self.logits[from];
            self.clear_moments(to);
        }
    }

    /// Clears the moments of Gaussian `i`; nothing without masks.
    pub fn clear_moments(&mut self, i: usize) {
        if !self.is_empty() {
            self.first[i] = 0.0;
            self.second[i] = 0.0;
        }
    }

    /// Removes the Gaussians that `keep` does not want; nothing without masks.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        for array in [&mut self.logits, &mut self.first, &mut self.second] {
            let mut rows = 0..;
            array.retain(|_| rows.next().is_some_and(&keep));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gaussians::{logit, sigmoid};
    use crate::semantics::ALPHA_MIN;

    #[test]
    fn the_constants_are_those_of_the_paper() {
        assert!((MIN - logit(0.01)).abs() < 1e-5);
        assert!(is_on(START) && is_on(MIN) && !is_on(MIN - 1e-5) && !is_on(f32::NAN));
        assert!((sigmoid(OFF_OPACITY_LOGIT) as f64) < 1e-6 * ALPHA_MIN);
    }

    #[test]
    fn rows_follow_their_gaussians() {
        let mut masks = LearnedMasks::fresh(3);
        masks.logits = vec![1.0, 2.0, 3.0];
        masks.first = vec![0.1, 0.2, 0.3];
        masks.second = vec![0.4, 0.5, 0.6];
        masks.push_copy(1);
        masks.overwrite(0, 2);
        masks.retain(|i| i != 2);
        assert_eq!(masks.logits, [3.0, 2.0, 2.0]);
        assert_eq!(masks.first, [0.0, 0.2, 0.0]);
        assert_eq!(masks.second, [0.0, 0.5, 0.0]);
        let mut none = LearnedMasks::default();
        none.push_copy(0);
        none.overwrite(0, 1);
        none.clear_moments(0);
        assert!(none.is_empty());
    }
}
