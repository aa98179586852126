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
//! it the opacity [`super::OFF_OPACITY_LOGIT`] at once, so that nothing else needs to know of
//! masks. The next [`crate::backend::Refine::Adc`] removes it, as its opacity is below any
//! threshold but 0; [`crate::backend::Refine::PruneByColumn`] removes it by its mask.
//!
//! Sparse Adam leaves the masks of unseen Gaussians alone. dL/dM is of the image alone, as the
//! regularisers are of the Gaussians that are stored.

use super::entry::{Entry, Learns, Rule};

/// Every mask logit at the start, as in the authors' code: `sigmoid` of it is 0.73.
pub const START: f32 = 1.0;
/// `ln(0.01 / 0.99)`: a Gaussian whose mask logit is below this is masked.
pub const MIN: f32 = -4.595_12;

pub(super) const ENTRY: Entry = Entry {
    name: "learned masks",
    width: 1,
    arrays: &[
        ("mask.logits", Rule::Copied),
        ("mask.first", Rule::Zeroed),
        ("mask.second", Rule::Zeroed),
    ],
    learns: Some(LEARNS),
};

const LEARNS: Learns = Learns {
    start: START,
    min: MIN,
};

/// Whether a Gaussian with this mask logit is there; one that is not a number is not.
pub fn is_on(logit: f32) -> bool {
    LEARNS.draws(logit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::OFF_OPACITY_LOGIT;
    use crate::gaussians::{logit, sigmoid};
    use crate::semantics::ALPHA_MIN;

    #[test]
    fn the_constants_are_those_of_the_paper() {
        assert!((MIN - logit(0.01)).abs() < 1e-5);
        assert!(is_on(START) && is_on(MIN) && !is_on(MIN - 1e-5) && !is_on(f32::NAN));
        assert!((sigmoid(OFF_OPACITY_LOGIT) as f64) < 1e-6 * ALPHA_MIN);
    }
}
