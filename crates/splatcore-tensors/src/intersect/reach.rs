//! Whether a splat may count at a pixel of a rectangle.

use super::tiles::Tiles;
use crate::error::{check_len, check_maybe};
use crate::{Real, Result};
use splatcore_core::semantics::ALPHA_MIN;

/// By what a tile of a splat's box is left out if the splat counts at none of its pixels, as
/// [`crate::rasterize`] decides it.
#[derive(Clone, Copy, Debug)]
pub struct Reach<'a, F> {
    /// Inverse covariances (00, 01, 11), `[M, 3]`.
    pub conics: &'a [F],
    /// `[M]`; or `[B, N]` if `cameras` is not 0, for splats `[B, C, N]`.
    pub opacities: &'a [F],
    /// C of opacities `[B, N]`, else 0.
    pub cameras: usize,
    /// `[M]`: what opacities are multiplied by.
    pub factors: Option<&'a [F]>,
}

impl<F: Real> Reach<'_, F> {
    pub(super) fn check(&self, m: usize) -> Result {
        check_len("conics", self.conics, &[m, 3])?;
        check_len("opacities", self.opacities, &[m / self.cameras.max(1)])?;
        check_maybe("compensations", self.factors, &[m])
    }

    /// Of a splat at its mean; the images have `per_image` splats each.
    pub(super) fn of(&self, splat: usize, mean: &[F], per_image: usize) -> Ellipse<F> {
        let row = match self.cameras {
            0 => splat,
            cameras => splat / (per_image * cameras) * per_image + splat % per_image,
        };
        let factor = self.factors.map_or(F::one(), |factors| factors[splat]);
        let opacity = self.opacities[row] * factor;
        Ellipse {
            mean: [mean[0], mean[1]],
            conic: [0, 1, 2].map(|k| self.conics[3 * splat + k]),
            limit: (opacity / F::of(ALPHA_MIN)).ln() + F::of(SLACK),
        }
    }
}

/// Added to the largest sigma at which a splat counts, for the rounding of exp and ln.
const SLACK: f64 = 1e-3;
/// Times the terms of sigma, which can be far larger than their sum: for the rounding of the sum.
const TERMS_SLACK: f64 = 1e-6;

/// A splat, and the largest sigma at which it counts.
pub(super) struct Ellipse<F> {
    mean: [F; 2],
    conic: [F; 3],
    limit: F,
}

impl<F: Real> Ellipse<F> {
    /// Whether the splat may count at a pixel of a tile. Sigma is convex: it is least at the mean,
    /// or on an edge of the rectangle of pixel centres that faces the mean.
    pub fn may_count(&self, tiles: &Tiles, column: u32, row: u32) -> bool {
        let [a, b, c] = self.conic;
        // Other conics are no ellipses.
        if !(a > F::zero() && c > F::zero() && a * c > b * b) {
            return true;
        }
        let half = F::of(0.5);
        let last = F::of(f64::from(tiles.size.saturating_sub(1)));
        let span = |tile: u32, mean: F| {
            let first = F::of(f64::from(tile) * f64::from(tiles.size)) + half - mean;
            [first, first + last]
        };
        let (x, y) = (span(column, self.mean[0]), span(row, self.mean[1]));
        let clamp = |at: F, [first, last]: [F; 2]| at.max(first).min(last);
        let sigma = |dx: F, dy: F| half * (a * dx * dx + c * dy * dy) + b * dx * dy;
        // The point nearest to the mean, axis by axis; then along each of its edges the best one.
        let near = [clamp(F::zero(), x), clamp(F::zero(), y)];
        let on_x = sigma(near[0], clamp(-b * near[0] / c, y));
        let on_y = sigma(clamp(-b * near[1] / a, x), near[1]);
        let far = [x, y].map(|[first, last]| (-first).max(last));
        let terms = a * far[0] * far[0] + c * far[1] * far[1];
        let (least, limit) = (on_x.min(on_y), self.limit + F::of(TERMS_SLACK) * terms);
        // Where either is not a number, the pixels decide.
        least <= limit || least.is_nan() || limit.is_nan()
    }
}
