//! `adam`: Kingma and Ba 2015, algorithm 1, dense: a Gaussian without gradient still moves by its
//! moments. Also the two additions of MCMC training (Kheradmand et al. 2024) that touch a step:
//! regularisers and noise.

use super::project::{Shape, sigmoid};
use super::scene::{Group, Scene};
use splatcore_core::backend::{LearningRates, StepPlan};
use splatcore_core::random::normal3;

/// Decay of the first moment.
pub const BETA_1: f64 = 0.9;
/// Decay of the second moment.
pub const BETA_2: f64 = 0.999;
/// Keeps the quotient finite; INRIA's value.
pub const EPSILON: f64 = 1e-15;

/// Updates the moments of one number with a gradient.
pub fn moments(first: &mut f64, second: &mut f64, gradient: f64) {
    *first = BETA_1 * *first + (1.0 - BETA_1) * gradient;
    *second = BETA_2 * *second + (1.0 - BETA_2) * gradient * gradient;
}

/// The step whose bias correction a step takes: its own, or one at which nothing is left to do.
pub fn step_of_correction(plan: &StepPlan) -> u32 {
    match plan.bias_correction {
        true => plan.step,
        false => i32::MAX as u32,
    }
}

/// By how much a number moves at step `step` (from 1), given its moments after the update.
pub fn update(first: f64, second: f64, rate: f64, step: u32) -> f64 {
    let unbiased_first = first / (1.0 - BETA_1.powi(step as i32));
    let unbiased_second = second / (1.0 - BETA_2.powi(step as i32));
    -rate * unbiased_first / (unbiased_second.sqrt() + EPSILON)
}

/// The learning rate of a group.
pub fn rate_of(rates: &LearningRates, group: Group) -> f64 {
    let rate = match group {
        Group::Means => rates.means,
        Group::LogScales => rates.log_scales,
        Group::Rotations => rates.rotations,
        Group::OpacityLogits => rates.opacity_logits,
        Group::ShBase => rates.sh_base,
        Group::ShRest => rates.sh_rest,
    };
    rate as f64
}

/// One step of the whole scene.
pub fn adam(
    scene: &mut Scene,
    first: &mut Scene,
    second: &mut Scene,
    gradient: &Scene,
    rates: &LearningRates,
    step: u32,
) {
    for group in Group::ALL {
        let rate = rate_of(rates, group);
        let numbers = scene.group_mut(group).into_iter();
        let moved = first
            .group_mut(group)
            .into_iter()
            .zip(second.group_mut(group));
        for ((number, (m, v)), g) in numbers.zip(moved).zip(gradient.group(group)) {
            moments(m, v, g);
            *number += update(*m, *v, rate, step);
        }
    }
}

/// Adds the gradients of `opacity_weight` times the mean opacity and `scale_weight` times the mean
/// scale over Gaussians and axes (Kheradmand et al. 2024, section 3.4).
pub fn regularise(scene: &Scene, opacity_weight: f64, scale_weight: f64, gradient: &mut Scene) {
    let n = scene.len() as f64;
    for i in 0..scene.len() {
        let opacity = sigmoid(scene.opacity_logits[i]);
        gradient.opacity_logits[i] += opacity_weight / n * opacity * (1.0 - opacity);
        for k in 0..3 {
            gradient.log_scales[i][k] += scale_weight / (3.0 * n) * scene.log_scales[i][k].exp();
        }
    }
}

/// The value that [`regularise`] differentiates.
pub fn regularisers(scene: &Scene, opacity_weight: f64, scale_weight: f64) -> f64 {
    let n = (scene.len() as f64).max(1.0);
    let opacity: f64 = scene.opacity_logits.iter().map(|&l| sigmoid(l)).sum();
    let scale: f64 = scene.log_scales.iter().flatten().map(|l| l.exp()).sum();
    opacity_weight * opacity / n + scale_weight * scale / (3.0 * n)
}

/// How far exploration moves the mean of Gaussian `i`: `noise * sigmoid(-100 (opacity - 0.005)) *
/// Sigma * n` (Kheradmand et al. 2024, equations 7 and 8), all parameters as they are after the
/// update.
pub fn exploration(scene: &Scene, i: usize, noise: f64, seed: u64, step: u32) -> [f64; 3] {
    let Some(shape) = Shape::new(scene.log_scales[i], scene.rotations[i]) else {
        return [0.0; 3];
    };
    let weight = noise * sigmoid(-100.0 * (sigmoid(scene.opacity_logits[i]) - 0.005));
    let n = normal3(seed, step as u64, i as u64).map(f64::from);
    shape
        .covariance
        .map(|row| weight * (row[0] * n[0] + row[1] * n[1] + row[2] * n[2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: the first step moves by the rate against the gradient's sign, whatever its size.
    #[test]
    fn the_first_step_is_the_rate() {
        for gradient in [1e-9, -3.0, 1e6] {
            let (mut m, mut v) = (0.0, 0.0);
            moments(&mut m, &mut v, gradient);
            let moved = update(m, v, 0.01, 1);
            assert!(
                (moved + 0.01 * gradient.signum()).abs() < 1e-7,
                "{gradient}: {moved}"
            );
        }
    }

    /// Two steps of the textbook recurrence worked out: m = 0.9*0.1*1 + 0.1*2, v = 0.999*0.001*1 +
    /// 0.001*4.
    #[test]
    fn the_second_step_follows_the_recurrence() {
        let (mut m, mut v) = (0.0, 0.0);
        moments(&mut m, &mut v, 1.0);
        moments(&mut m, &mut v, 2.0);
        assert!((m - 0.29).abs() < 1e-15 && (v - 0.004999).abs() < 1e-15);
        let want = -0.5 * (0.29 / 0.19) / (0.004999f64 / 0.001999).sqrt();
        assert!((update(m, v, 0.5, 2) - want).abs() < 1e-12);
    }

    #[test]
    fn regularisers_match_finite_differences() {
        let mut scene = Scene::zeros(3, 0);
        for i in 0..3 {
            scene.opacity_logits[i] = i as f64 - 1.3;
            scene.log_scales[i] = [-1.0, 0.2 * i as f64, -3.0];
        }
        let mut gradient = Scene::zeros(3, 0);
        regularise(&scene, 0.01, 0.02, &mut gradient);
        for group in [Group::OpacityLogits, Group::LogScales] {
            for k in 0..scene.group(group).len() {
                let at = |d: f64| {
                    let mut moved = scene.clone();
                    *moved.group_mut(group)[k] += d;
                    regularisers(&moved, 0.01, 0.02)
                };
                let slope = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((slope - gradient.group(group)[k]).abs() < 1e-11);
            }
        }
    }
}
