//! Where a splat's alpha reaches 1/255: an ellipse, and the exact interval that it covers of a band
//! of rows.
//!
//! With d = (dx, dy) from the splat's mean, log2 alpha = l + a dx² + b dx dy + c dy². The ellipse
//! log2 alpha >= -log2 255 solved for dx is, for each dy with |dy| <= extent:
//! dx = m dy ± sqrt(q - e dy²), m = -b / 2a, q = t / -a, e = c/a - m², t = l + log2 255.
//! The right end is concave in dy, so over a band of dy its largest value lies at the ellipse's
//! rightmost point or at the band's nearest edge; the left end is its mirror image. This is the
//! exact test of FlashGS, and Speedy-Splat's AccuTile when the bands are rows of tiles.

use crate::simd::Lanes;

/// log2(255).
pub const LOG2_255: f32 = 7.994_353_4;

/// Added to t so that rounding, and reciprocals good to a few units in the last place, never lose a
/// fragment that the blend would keep: a thousandth in log2 alpha and a ten-thousandth of t. Costs
/// about 0.1 % of area.
const MARGIN: (f32, f32) = (1e-3, 1e-4);

/// An ellipse a lane, relative to its centre.
#[derive(Clone, Copy)]
pub struct Ellipse<L> {
    slope: L,
    square: L,
    curve: L,
    /// Half height.
    pub half_height: L,
    /// dy of the rightmost point.
    rightmost: L,
}

impl<L: Lanes> Ellipse<L> {
    /// From the coefficients of log2 alpha (a and c negative).
    #[inline(always)]
    pub fn new(a: L, b: L, c: L, log2_opacity: L) -> Self {
        let t = log2_opacity + L::splat(LOG2_255);
        let t = t
            .mul_add(L::splat(1.0 + MARGIN.1), L::splat(MARGIN.0))
            .max(L::splat(0.0));
        let inverse = (-a).reciprocal();
        let half = b * L::splat(0.5);
        let slope = half * inverse;
        let square = t * inverse;
        // a c - (b/2)² with the product's rounding error given back (Kahan), or needles would lose
        // their sign.
        let product = half * half;
        let error = half.mul_add(half, -product);
        let determinant = a.mul_add(c, -product) - error;
        let curve = (determinant * inverse * inverse).max(L::splat(1e-12));
        let half_height = (square * curve.reciprocal()).sqrt_above();
        let rightmost =
            slope * (square * (curve * slope.mul_add(slope, curve)).reciprocal()).sqrt_above();
        Self {
            slope,
            square,
            curve,
            half_height,
            rightmost,
        }
    }

    /// The ellipse as plain vectors, to be kept elsewhere.
    #[inline(always)]
    pub fn fields(&self) -> [L; 5] {
        [
            self.slope,
            self.square,
            self.curve,
            self.half_height,
            self.rightmost,
        ]
    }

    /// The inverse of [`Ellipse::fields`].
    #[inline(always)]
    pub fn from_fields([slope, square, curve, half_height, rightmost]: [L; 5]) -> Self {
        Self {
            slope,
            square,
            curve,
            half_height,
            rightmost,
        }
    }

    /// Half of the ellipse's width at dy.
    #[inline(always)]
    fn half_chord(&self, dy: L) -> L {
        (self.curve * dy)
            .neg_mul_add(dy, self.square)
            .max(L::splat(0.0))
            .sqrt_above()
    }

    /// Left and right end over the band `low <= dy <= high`; left > right where the band misses the
    /// ellipse.
    #[inline(always)]
    pub fn interval(&self, low: L, high: L) -> (L, L) {
        let bottom = low.max(-self.half_height);
        let top = high.min(self.half_height);
        let hit = top.ge(bottom);
        let dy_right = self.rightmost.max(bottom).min(top);
        let dy_left = (-self.rightmost).max(bottom).min(top);
        let right = self.slope.mul_add(dy_right, self.half_chord(dy_right));
        let left = self.slope.mul_add(dy_left, -self.half_chord(dy_left));
        (
            L::select(hit, left, L::splat(f32::MAX)),
            L::select(hit, right, L::splat(f32::MIN)),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::Portable;
    use splatcore_core::random::Rng;

    fn first(v: Portable) -> f32 {
        let mut out = [0.0; 8];
        v.store(&mut out);
        out[0]
    }

    /// Dense sampling of the ellipse's inside finds nothing outside the interval, and comes close
    /// to both ends.
    #[test]
    fn the_interval_is_tight_and_loses_nothing() {
        let mut rng = Rng::new(3, 0);
        for _ in 0..200 {
            let (sx, sy) = (0.6 + 12.0 * rng.uniform(), 0.6 + 12.0 * rng.uniform());
            let r = 1.9 * rng.uniform() - 0.95;
            let k = std::f32::consts::LOG2_E / (1.0 - r * r);
            let (a, b, c) = (
                -0.5 * k / (sx * sx),
                k * r / (sx * sy),
                -0.5 * k / (sy * sy),
            );
            let l = (0.02 + 0.97 * rng.uniform()).log2();
            let ellipse = Ellipse::new(
                Portable::splat(a),
                Portable::splat(b),
                Portable::splat(c),
                Portable::splat(l),
            );
            let low = 30.0 * rng.uniform() - 15.0;
            let high = low + 4.0;
            let (left, right) = ellipse.interval(Portable::splat(low), Portable::splat(high));
            let (left, right) = (first(left), first(right));
            let (mut seen_left, mut seen_right) = (f32::MAX, f32::MIN);
            for j in 0..=400 {
                let dy = low + (high - low) * j as f32 / 400.0;
                for i in 0..=2000 {
                    let dx = -60.0 + 0.06 * i as f32;
                    if l + a * dx * dx + b * dx * dy + c * dy * dy >= -LOG2_255 {
                        seen_left = seen_left.min(dx);
                        seen_right = seen_right.max(dx);
                    }
                }
            }
            if seen_left <= seen_right {
                assert!(
                    left <= seen_left && seen_right <= right,
                    "{left} {seen_left} {seen_right} {right}"
                );
                assert!(
                    seen_left - left < 0.5 && right - seen_right < 0.5,
                    "{left} {seen_left} {seen_right} {right}"
                );
            } else if left <= right {
                // Only a sliver between the samples may be claimed.
                assert!(right - left < 1.5, "{left} {right}");
            }
        }
    }
}
