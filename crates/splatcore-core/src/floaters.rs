//! Floaters: Gaussians that hang in the air before what the photos show.
//!
//! Where few photos look, and those from nearly one place, any depth explains them. What the scene
//! cannot say otherwise (that these photos are brighter than others, say) is then said by faint
//! Gaussians between camera and surface, and from the side they stand before everything. They show
//! in the depth of an image: it lies behind them, in every view that sees their place. SparseGS
//! (Xiong et al. 2023, floater pruning) prunes what lies before the depth of the image in pixels
//! where two kinds of depth disagree; here each Gaussian is judged by its own mean, and by all
//! views together, so that nothing is lost that is a surface for any of them.
//!
//! A view looks at the pixel that the mean of a Gaussian projects to. The pixel's depth is that of
//! [`crate::backend::Rendered::depth`]: the inverse of the expected 1/z.

/// A Gaussian deeper than this times the depth of its pixel is hidden: the view says nothing of it.
pub const HIDDEN: f32 = 1.05;

/// What a view says of a Gaussian whose mean projects into a pixel at depth `z`: `Some(true)` that
/// it is part of what is seen there, its depth being at least `share` of the pixel's, `Some(false)`
/// that it hangs before it; `None` that it is hidden, or that the pixel is empty. `transmittance`
/// and `inverse_depth` are the pixel's of [`crate::backend::Rendered`].
pub fn belongs(z: f32, transmittance: f32, inverse_depth: f32, share: f32) -> Option<bool> {
    let taken = 1.0 - transmittance;
    // z over the depth of the pixel, times `taken`.
    let ratio = z * inverse_depth;
    let seen = taken > 0.0 && ratio > 0.0 && ratio <= HIDDEN * taken;
    seen.then_some(ratio >= share * taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_decides_between_surface_floater_and_hidden() {
        // A transmittance of a half behind depth 4.
        let at = |z: f32| belongs(z, 0.5, 0.125, 0.8);
        assert_eq!(at(4.0), Some(true));
        assert_eq!(at(3.3), Some(true));
        assert_eq!(at(3.1), Some(false));
        assert_eq!(at(4.1), Some(true));
        assert_eq!(at(4.3), None);
        assert_eq!(belongs(1.0, 1.0, 0.0, 0.8), None);
        assert_eq!(belongs(f32::NAN, 0.5, 0.125, 0.8), None);
    }
}
