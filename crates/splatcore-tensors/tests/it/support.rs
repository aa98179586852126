//! Numbers from fixed seeds, and finite differences.

use splatcore_core::random::Rng;

/// Random numbers.
pub struct Numbers(Rng);

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(Rng::new(seed, 0))
    }

    /// So many numbers from `low` to `high`.
    pub fn within(&mut self, count: usize, low: f64, high: f64) -> Vec<f64> {
        let mut one = || low + (high - low) * f64::from(self.0.uniform());
        (0..count).map(|_| one()).collect()
    }
}

/// The sum of products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Compares a gradient with finite differences of `loss`, of fourth order with steps of 1e-4, or of
/// `step` in [`check_gradient_by`]. The error may be `tolerance` times the gradient's largest
/// value.
pub fn check_gradient(
    name: &str,
    at: &[f64],
    gradient: &[f64],
    tolerance: f64,
    loss: impl Fn(&[f64]) -> f64,
) {
    check_gradient_by(1e-4, name, at, gradient, tolerance, loss);
}

/// See [`check_gradient`].
pub fn check_gradient_by(
    step: f64,
    name: &str,
    at: &[f64],
    gradient: &[f64],
    tolerance: f64,
    loss: impl Fn(&[f64]) -> f64,
) {
    assert_eq!(at.len(), gradient.len(), "{name}");
    let most = gradient.iter().fold(0.0, |most: f64, v| most.max(v.abs()));
    assert!(most > 0.0, "{name} has no gradient");
    let mut moved = at.to_vec();
    for i in 0..at.len() {
        let mut difference = |steps: f64| {
            moved[i] = at[i] + steps * step;
            let above = loss(&moved);
            moved[i] = at[i] - steps * step;
            let below = loss(&moved);
            moved[i] = at[i];
            above - below
        };
        let found = (8.0 * difference(1.0) - difference(2.0)) / (12.0 * step);
        assert!(
            (found - gradient[i]).abs() <= tolerance * most,
            "{name}[{i}]: {} but finite differences give {found}",
            gradient[i]
        );
    }
}
