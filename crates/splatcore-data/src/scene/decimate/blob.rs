//! Gaussians as moments, what two of them become as one, and how much of an image that changes.

use splatcore_core::Gaussians;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::linear::{eigen, quaternion_from_rotation};
use std::f64::consts::PI;

/// The basis function of degree 0.
const C0: f64 = 0.282_094_791_773_878_14;
/// Larger log scales are cut, so that no square overflows.
const MAX_LOG_SCALE: f64 = 30.0;
/// The opacity of a merged Gaussian is cut here: its logit must be finite.
const MAX_OPACITY: f64 = 0.9999;
/// The constant part of a colour's dot product, for three channels of 0.5 and for opacity itself,
/// which hides what is behind as much as one channel does.
const CONSTANT: f64 = 3.0 * 0.25 + 1.0;

/// A Gaussian's moments.
#[derive(Clone, Copy, Debug)]
pub struct Blob {
    pub mean: [f64; 3],
    /// Covariance: xx, yy, zz, xy, xz, yz.
    pub covariance: [f64; 6],
    pub opacity: f64,
    /// The dot product of its colour with itself, by [`colour_dot`].
    pub colour: f64,
}

/// What two Gaussians become, and at what cost.
pub struct Merged {
    pub blob: Blob,
    /// The share of the first in the mean of colours.
    pub share: f64,
    /// The square error that merging causes in images along the three axes, in units of area.
    pub cost: f64,
}

/// The two axes of the image plane of each view, and their covariance.
const VIEWS: [[usize; 3]; 3] = [[0, 1, 3], [0, 2, 4], [1, 2, 5]];

/// The covariance of a Gaussian in one view: two variances and their covariance.
type Flat = [f64; 3];

fn determinant([a, b, c]: Flat) -> f64 {
    (a * b - c * c).max(0.0)
}

/// The integral of the product of two falloffs of height 1: 2π √(|A||B|/|A+B|) exp(-dᵀ(A+B)⁻¹d/2).
fn overlap(a: Flat, b: Flat, d: [f64; 2]) -> f64 {
    let sum: Flat = std::array::from_fn(|i| a[i] + b[i]);
    let total = determinant(sum);
    if total <= 0.0 {
        return 0.0;
    }
    let square = (sum[1] * d[0] * d[0] - 2.0 * sum[2] * d[0] * d[1] + sum[0] * d[1] * d[1]) / total;
    if square > 60.0 {
        return 0.0;
    }
    2.0 * PI * (determinant(a) * determinant(b) / total).sqrt() * (-0.5 * square).exp()
}

/// The mean over all directions of the product of two colours, and of opacity: colours are
/// 0.5 + Σ coefficient · basis, and the basis is orthonormal over the sphere.
pub fn colour_dot(a: &[[f32; 3]], b: &[[f32; 3]]) -> f64 {
    // Lanes of their own: one sum would wait for itself.
    const LANES: usize = 8;
    let (x, y) = (a.as_flattened(), b.as_flattened());
    let mut lanes = [0.0f32; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let rest = xs.remainder().iter().zip(ys.remainder());
    let mut dot: f32 = rest.map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for lane in 0..LANES {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    dot += lanes.iter().sum::<f32>();
    let base: f32 = (0..3).map(|c| a[0][c] + b[0][c]).sum();
    CONSTANT + 0.5 * C0 * f64::from(base) + C0 * C0 * f64::from(dot)
}

impl Blob {
    pub fn of(gaussians: &Gaussians, i: usize) -> Self {
        let axes = axes(gaussians.rotations[i]);
        let variances = gaussians.log_scales[i].map(|log| {
            let log = f64::from(log).clamp(-MAX_LOG_SCALE, MAX_LOG_SCALE);
            (2.0 * log).exp()
        });
        let entry = |r: usize, c: usize| -> f64 {
            (0..3).map(|k| axes[r][k] * variances[k] * axes[c][k]).sum()
        };
        let sh = gaussians.sh_of(i);
        Self {
            mean: gaussians.means[i].map(f64::from),
            covariance: [
                entry(0, 0),
                entry(1, 1),
                entry(2, 2),
                entry(0, 1),
                entry(0, 2),
                entry(1, 2),
            ],
            opacity: f64::from(sigmoid(gaussians.opacity_logits[i])),
            colour: colour_dot(sh, sh),
        }
    }

    fn flat(&self, view: usize) -> Flat {
        VIEWS[view].map(|entry| self.covariance[entry])
    }

    /// The area under the falloff, added up over the views.
    fn area(&self) -> f64 {
        (0..3)
            .map(|view| 2.0 * PI * determinant(self.flat(view)).sqrt())
            .sum()
    }

    /// The Gaussian with the moments of two; `dot` is the dot product of their colours.
    ///
    /// Weights are opacity times projected area, the light that each contributes. Mean, covariance
    /// and colour are the mixture's. The opacity keeps what the two cover: the integral of
    /// 1 - (1 - α₁G₁)(1 - α₂G₂) over an image is α₁A₁ + α₂A₂ - α₁α₂∫G₁G₂, and the merged one covers
    /// αA.
    pub fn merge(&self, other: &Self, dot: f64) -> Merged {
        let areas = [self.area(), other.area()];
        let masses = [self.opacity * areas[0], other.opacity * areas[1]];
        let total = masses[0] + masses[1];
        let share = if total > 0.0 { masses[0] / total } else { 0.5 };
        let rest = 1.0 - share;
        let d: [f64; 3] = std::array::from_fn(|c| other.mean[c] - self.mean[c]);
        let spread = |r: usize, c: usize| share * rest * d[r] * d[c];
        let spreads = [
            spread(0, 0),
            spread(1, 1),
            spread(2, 2),
            spread(0, 1),
            spread(0, 2),
            spread(1, 2),
        ];
        let mut blob = Blob {
            mean: std::array::from_fn(|c| self.mean[c] + rest * d[c]),
            covariance: std::array::from_fn(|i| {
                share * self.covariance[i] + rest * other.covariance[i] + spreads[i]
            }),
            opacity: 0.0,
            colour: share * share * self.colour
                + 2.0 * share * rest * dot
                + rest * rest * other.colour,
        };
        let mut between = [0.0; 3];
        for view in 0..3 {
            let [x, y, _] = VIEWS[view];
            between[view] = overlap(self.flat(view), other.flat(view), [d[x], d[y]]);
        }
        let common: f64 = between.iter().sum();
        let covered = total - self.opacity * other.opacity * common;
        let area = blob.area();
        blob.opacity = if area > 0.0 {
            covered / area
        } else {
            self.opacity.max(other.opacity)
        };
        blob.opacity = blob.opacity.clamp(0.0, MAX_OPACITY);
        let cost = self.cost(other, &blob, [share, rest], dot, between);
        Merged { blob, share, cost }
    }

    /// The integral of the square of α₁c₁G₁ + α₂c₂G₂ - αcG over the three views.
    fn cost(
        &self,
        other: &Self,
        merged: &Self,
        shares: [f64; 2],
        dot: f64,
        between: [f64; 3],
    ) -> f64 {
        let (a, b, m) = (self.opacity, other.opacity, merged.opacity);
        // Dot products with the merged colour, which is the mean by the shares.
        let with_a = shares[0] * self.colour + shares[1] * dot;
        let with_b = shares[0] * dot + shares[1] * other.colour;
        let mut cost = 0.0;
        for view in 0..3 {
            let flats = [self.flat(view), other.flat(view), merged.flat(view)];
            let own = flats.map(|flat| PI * determinant(flat).sqrt());
            let [x, y, _] = VIEWS[view];
            let to = |from: &Self| [merged.mean[x] - from.mean[x], merged.mean[y] - from.mean[y]];
            cost += a * a * self.colour * own[0]
                + b * b * other.colour * own[1]
                + m * m * merged.colour * own[2]
                + 2.0 * a * b * dot * between[view]
                - 2.0 * a * m * with_a * overlap(flats[0], flats[2], to(self))
                - 2.0 * b * m * with_b * overlap(flats[1], flats[2], to(other));
        }
        cost.max(0.0)
    }

    /// Writes the moments as a Gaussian's parameters.
    pub fn store(&self, gaussians: &mut Gaussians, i: usize) {
        let [xx, yy, zz, xy, xz, yz] = self.covariance;
        let (variances, rows) = eigen([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]);
        gaussians.means[i] = self.mean.map(|v| v as f32);
        gaussians.log_scales[i] = variances.map(|v| {
            let least = (-2.0 * MAX_LOG_SCALE).exp();
            (0.5 * v.max(least).ln()) as f32
        });
        // The columns of the rotation are the axes.
        let turn = std::array::from_fn(|i| std::array::from_fn(|k| rows[k][i]));
        gaussians.rotations[i] = quaternion_from_rotation(&turn).map(|v| v as f32);
        let alpha = self.opacity.clamp(1e-7, MAX_OPACITY);
        gaussians.opacity_logits[i] = (alpha / (1.0 - alpha)).ln() as f32;
    }
}

/// The rotation matrix of a quaternion w, x, y, z, by rows.
fn axes(wxyz: [f32; 4]) -> [[f64; 3]; 3] {
    let still = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    rotation_from_quaternion(wxyz.map(f64::from)).unwrap_or(still)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    fn random(seed: u64) -> Gaussians {
        let mut rng = Rng::new(seed, 0);
        let mut g = Gaussians::zeros(2, 1);
        for i in 0..2 {
            g.means[i] = std::array::from_fn(|_| rng.normal());
            g.log_scales[i] = std::array::from_fn(|_| 0.4 * rng.normal());
            g.rotations[i] = std::array::from_fn(|_| rng.normal());
            g.opacity_logits[i] = rng.normal();
        }
        g.sh.iter_mut()
            .for_each(|c| *c = std::array::from_fn(|_| 0.5 * rng.normal()));
        g
    }

    /// α c G of a blob on the plane of a view, by the densities' definition.
    fn falloff(blob: &Blob, view: usize, at: [f64; 2]) -> f64 {
        let [x, y, _] = VIEWS[view];
        let [a, b, c] = blob.flat(view);
        let d = [at[0] - blob.mean[x], at[1] - blob.mean[y]];
        let det = a * b - c * c;
        let square = (b * d[0] * d[0] - 2.0 * c * d[0] * d[1] + a * d[1] * d[1]) / det;
        blob.opacity * (-0.5 * square).exp()
    }

    /// Sums over a grid in place of the closed forms, for cost and covered area.
    #[test]
    fn cost_and_cover_are_the_integrals_that_they_claim_to_be() {
        for seed in 0..5 {
            let g = random(seed);
            let (a, b) = (Blob::of(&g, 0), Blob::of(&g, 1));
            let merged = a.merge(&b, colour_dot(g.sh_of(0), g.sh_of(1)));
            let m = merged.blob;
            let mix = |k: usize, c: usize| {
                merged.share * f64::from(g.sh_of(0)[k][c])
                    + (1.0 - merged.share) * f64::from(g.sh_of(1)[k][c])
            };
            // A colour as the vector whose dot products are the means over all directions.
            let vector = |value: &dyn Fn(usize, usize) -> f64| -> Vec<f64> {
                let base = (0..3).map(|c| 0.5 + C0 * value(0, c));
                let higher = (1..4).flat_map(|k| (0..3).map(move |c| (k, c)));
                let higher: Vec<f64> = higher.map(|(k, c)| C0 * value(k, c)).collect();
                base.chain(higher).chain([1.0]).collect()
            };
            let colours = [
                vector(&|k, c| f64::from(g.sh_of(0)[k][c])),
                vector(&|k, c| f64::from(g.sh_of(1)[k][c])),
                vector(&mix),
            ];
            let (mut cost, mut covered, mut cover) = (0.0, 0.0, 0.0);
            let step = 0.05;
            for view in 0..3 {
                for i in -300..300 {
                    for j in -300..300 {
                        let at = [f64::from(i) * step, f64::from(j) * step];
                        let f = [&a, &b, &m].map(|blob| falloff(blob, view, at));
                        covered += 1.0 - (1.0 - f[0]) * (1.0 - f[1]);
                        cover += f[2];
                        for k in 0..colours[0].len() {
                            let [x, y, z] = [0, 1, 2].map(|n| f[n] * colours[n][k]);
                            cost += (x + y - z).powi(2);
                        }
                    }
                }
            }
            let area = step * step;
            assert!(
                (cost * area / merged.cost - 1.0).abs() < 1e-3,
                "{} {}",
                cost * area,
                merged.cost
            );
            if m.opacity < MAX_OPACITY {
                assert!((cover / covered - 1.0).abs() < 1e-3, "{cover} {covered}");
            }
        }
    }

    #[test]
    fn moments_become_parameters_and_moments_again() {
        for seed in 0..50 {
            let mut g = random(seed);
            let blob = Blob::of(&g, 0);
            blob.store(&mut g, 0);
            let again = Blob::of(&g, 0);
            for (a, b) in blob.covariance.iter().zip(again.covariance) {
                assert!((a - b).abs() < 1e-5, "{seed}: {a} {b}");
            }
            assert!((blob.opacity - again.opacity).abs() < 1e-6);
        }
    }

    #[test]
    fn twins_merge_at_no_cost_but_that_of_opacity() {
        let mut g = random(3);
        g.copy_row(1, &random(3), 0);
        g.opacity_logits = vec![-4.0; 2];
        let (a, b) = (Blob::of(&g, 0), Blob::of(&g, 1));
        let merged = a.merge(&b, a.colour);
        assert!((merged.share - 0.5).abs() < 1e-12);
        // Under each other the two cover 2α - α²/2 times the area of one.
        let alpha = a.opacity;
        assert!((merged.blob.opacity - (2.0 * alpha - 0.5 * alpha * alpha)).abs() < 1e-9);
        assert!(merged.cost < 1e-3 * alpha * alpha * a.area());
    }
}
