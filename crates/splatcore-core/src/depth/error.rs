//! How wrong the depths of an image are.

use super::DepthMap;
use crate::backend::Rendered;

/// Errors of depths against known ones, over pixels or over views.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthError {
    /// Mean of |z - known| / known (Eigen et al. 2014).
    pub absolute_relative: f64,
    /// Root of the mean of (z - known)², world units.
    pub root_mean_square: f64,
}

impl DepthError {
    /// Of a frame of this size ([`Rendered::depth`]) where the map knows the depth; a pixel where
    /// nothing was drawn has depth 0. `None` if nothing is known, or the frame has no depth.
    pub fn of(rendered: &Rendered, map: &DepthMap) -> Option<Self> {
        let depth = rendered.depth()?;
        let size = [rendered.image.width, rendered.image.height];
        let (mut relative, mut square, mut count) = (0.0, 0.0, 0u64);
        for (z, inverse) in depth.iter().zip(map.in_size(size)) {
            if inverse > 0.0 {
                let known = 1.0 / f64::from(inverse);
                let off = f64::from(*z) - known;
                relative += off.abs() / known;
                square += off * off;
                count += 1;
            }
        }
        (count > 0).then(|| Self {
            absolute_relative: relative / count as f64,
            root_mean_square: (square / count as f64).sqrt(),
        })
    }

    /// The mean over views; `None` of none.
    pub fn mean(all: &[Self]) -> Option<Self> {
        let mean = |value: fn(&Self) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
        (!all.is_empty()).then(|| Self {
            absolute_relative: mean(|e| e.absolute_relative),
            root_mean_square: mean(|e| e.root_mean_square),
        })
    }
}
