//! `densify`: how the set of Gaussians changes.
//!
//! Adaptive density control: Kerbl et al. 2023, section 5.2, and its code. MCMC: Kheradmand et al.
//! 2024, equation 9 and supplement.

use super::project::sigmoid;
use super::scene::Scene;

/// A split child's scales are the parent's divided by this: 0.8 times the number of children, 2.
pub const SPLIT_DIVISOR: f64 = 1.6;

/// What adaptive density control does to a Gaussian before pruning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// Stays.
    Keep,
    /// Small, with a large gradient: a second one in the same place.
    Clone,
    /// Large, with a large gradient: replaced by two smaller ones, drawn from it.
    Split,
}

/// The mean statistic since the last refinement; 0 for a Gaussian never seen.
pub fn mean_gradient(sum: f64, seen: u32) -> f64 {
    if seen == 0 { 0.0 } else { sum / seen as f64 }
}

/// Which Gaussians grow. Each growth adds one Gaussian, so at most `max_gaussians - n` of them
/// happen, those with the largest mean gradients first, ties by index.
pub fn growth(
    scene: &Scene,
    mean_gradients: &[f64],
    gradient_threshold: f64,
    split_scale: f64,
    max_gaussians: usize,
) -> Vec<Growth> {
    let mut candidates: Vec<usize> = (0..scene.len())
        .filter(|&i| mean_gradients[i] >= gradient_threshold)
        .collect();
    candidates.sort_by(|&a, &b| {
        mean_gradients[b]
            .total_cmp(&mean_gradients[a])
            .then(a.cmp(&b))
    });
    candidates.truncate(max_gaussians.saturating_sub(scene.len()));
    let mut decisions = vec![Growth::Keep; scene.len()];
    for i in candidates {
        decisions[i] = if largest_scale(scene.log_scales[i]) > split_scale {
            Growth::Split
        } else {
            Growth::Clone
        };
    }
    decisions
}

/// Whether a Gaussian may grow or be drawn in a run about a region: its mean lies between two
/// corners of a box along the axes of the world, or on a face.
pub fn is_within(mean: [f64; 3], low: [f64; 3], high: [f64; 3]) -> bool {
    (0..3).all(|axis| (low[axis]..=high[axis]).contains(&mean[axis]))
}

/// The largest standard deviation, world units.
pub fn largest_scale(log_scales: [f64; 3]) -> f64 {
    log_scales
        .into_iter()
        .map(f64::exp)
        .fold(f64::NEG_INFINITY, f64::max)
}

/// Whether a Gaussian is removed: too transparent, or larger than `max_scale`.
pub fn is_pruned(
    opacity_logit: f64,
    log_scales: [f64; 3],
    min_opacity: f64,
    max_scale: Option<f64>,
) -> bool {
    sigmoid(opacity_logit) < min_opacity
        || max_scale.is_some_and(|most| largest_scale(log_scales) > most)
}

/// Opacity of each of `copies` Gaussians in one place that together are as opaque as one of
/// `opacity`: (1 - new)^copies = 1 - opacity.
pub fn shared_opacity(opacity: f64, copies: usize) -> f64 {
    1.0 - (1.0 - opacity).powf(1.0 / copies as f64)
}

/// Factor on the scales of `copies` Gaussians so that together they keep the integral along a ray
/// through the centre (equation 9): o / sum over i = 1..N, k = 0..i-1 of C(i-1, k) (-1)^k new^(k+1)
/// / sqrt(k + 1).
pub fn shared_scale_factor(opacity: f64, copies: usize) -> f64 {
    let new = shared_opacity(opacity, copies);
    let mut sum = 0.0;
    for i in 1..=copies {
        let mut binomial = 1.0;
        for k in 0..i {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum += binomial * sign * new.powi(k as i32 + 1) / ((k + 1) as f64).sqrt();
            binomial *= (i - 1 - k) as f64 / (k + 1) as f64;
        }
    }
    opacity / sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The opaque stack that equation 9 is about: 1 - (1 - new g(x))^N, g = exp(-x²/2), integrates
    /// over a line to what one Gaussian of the old opacity and scale does.
    #[test]
    fn copies_keep_centre_and_integral() {
        for opacity in [0.1, 0.6, 0.95] {
            for copies in [1, 2, 3, 7, 20] {
                let new = shared_opacity(opacity, copies);
                assert!((1.0 - (1.0 - new).powi(copies as i32) - opacity).abs() < 1e-12);
                let factor = shared_scale_factor(opacity, copies);
                let step = 1e-3;
                let integral: f64 = (-12_000..=12_000)
                    .map(|i| {
                        let x = i as f64 * step;
                        step * (1.0 - (1.0 - new * (-x * x / 2.0).exp()).powi(copies as i32))
                    })
                    .sum();
                let one = opacity * std::f64::consts::TAU.sqrt();
                assert!(
                    (factor * integral / one - 1.0).abs() < 1e-6,
                    "{opacity} {copies}: {factor}"
                );
            }
        }
    }

    #[test]
    fn the_largest_gradients_grow_first() {
        let mut scene = Scene::zeros(4, 0);
        scene.log_scales[2] = [1.0; 3];
        let gradients = [0.5, 0.1, 0.9, 0.7];
        let all = growth(&scene, &gradients, 0.2, 1.5, 100);
        assert_eq!(
            all,
            [Growth::Clone, Growth::Keep, Growth::Split, Growth::Clone]
        );
        let two = growth(&scene, &gradients, 0.2, 1.5, 6);
        assert_eq!(
            two,
            [Growth::Keep, Growth::Keep, Growth::Split, Growth::Clone]
        );
        assert_eq!(growth(&scene, &gradients, 0.2, 1.5, 3), [Growth::Keep; 4]);
    }

    #[test]
    fn pruning_looks_at_opacity_and_size() {
        assert!(is_pruned(-6.0, [0.0; 3], 0.005, None));
        assert!(!is_pruned(-5.0, [0.0; 3], 0.005, None));
        assert!(is_pruned(0.0, [0.0, 0.8, 0.0], 0.005, Some(2.0)));
        assert!(!is_pruned(0.0, [0.0, 0.6, 0.0], 0.005, Some(2.0)));
    }
}
