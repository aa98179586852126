//! From rounds to a verdict.
//!
//! The interval of the median is made of order statistics: the k-th smallest and the k-th largest
//! of n numbers hold the median between them with probability 1 - 2 P(B(n, 1/2) < k), whatever the
//! noise is like (David & Nagaraja, Order Statistics, 2003, section 7.1). A bootstrap would promise
//! as much only for many rounds.

use crate::gates::{Ratio, Verdict};
use serde::{Deserialize, Serialize};

/// When to look at the rounds so far, and how sure to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Plan {
    /// Numbers of rounds after which the verdict may fall, ascending.
    pub looks: Vec<usize>,
    /// Probability that a candidate as fast as the baseline is called different, over all looks.
    pub error: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            looks: vec![8, 16, 32],
            error: 0.05,
        }
    }
}

impl Plan {
    /// The error that each look may add: the sum over the looks is an upper bound of the whole
    /// (Bonferroni), however they depend on each other.
    fn error_of_a_look(&self) -> f64 {
        self.error / self.looks.len().max(1) as f64
    }

    /// Rounds until the last look.
    pub fn most(&self) -> usize {
        self.looks.last().copied().unwrap_or(0)
    }
}

/// Where a comparison stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Standing {
    /// More rounds are wanted.
    Open,
    /// The verdict's ratio.
    Settled(Ratio),
}

/// Whether the verdict falls after these rounds, each the logarithm of a ratio of times.
pub fn settle(rounds: &[f64], plan: &Plan) -> Standing {
    if !plan.looks.contains(&rounds.len()) {
        return Standing::Open;
    }
    let Some(ratio) = interval(rounds, plan.error_of_a_look()) else {
        return Standing::Open;
    };
    match ratio.high < 1.0 || ratio.low > 1.0 || rounds.len() >= plan.most() {
        true => Standing::Settled(ratio),
        false => Standing::Open,
    }
}

/// The median ratio with its interval, which misses with a probability of at most `error`; `None`
/// if there are too few rounds for any.
pub fn interval(rounds: &[f64], error: f64) -> Option<Ratio> {
    let mut sorted = rounds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // P(B(n, 1/2) < k + 1) = P(at most k of n), summed up from k = 0.
    let mut below = 0.0;
    let mut outcomes = 0.5f64.powi(n as i32);
    let mut outside = None;
    for k in 0..n.div_ceil(2) {
        below += outcomes;
        if 2.0 * below > error {
            break;
        }
        outside = Some(k);
        outcomes *= (n - k) as f64 / (k + 1) as f64;
    }
    let k = outside?;
    let middle = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    Some(Ratio {
        ratio: middle.exp(),
        low: sorted[k].exp(),
        high: sorted[n - 1 - k].exp(),
    })
}

impl From<Ratio> for Verdict {
    fn from(ratio: Ratio) -> Self {
        if ratio.high < 1.0 {
            Verdict::Faster(ratio)
        } else if ratio.low > 1.0 {
            Verdict::Slower(ratio)
        } else {
            Verdict::Unclear(ratio)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;

    /// The verdict of an experiment whose candidate takes `ratio` times as long, with noise of
    /// `spread` and a heavy tail: one round in twenty is disturbed.
    fn experiment(seed: u64, ratio: f64, spread: f64) -> Verdict {
        let mut rng = Rng::new(seed, 7);
        let plan = Plan::default();
        let mut rounds = Vec::new();
        loop {
            let disturbed = rng.uniform() < 0.05;
            let scale = if disturbed { 20.0 * spread } else { spread };
            rounds.push(ratio.ln() + scale * f64::from(rng.normal()));
            if let Standing::Settled(ratio) = settle(&rounds, &plan) {
                return ratio.into();
            }
        }
    }

    #[test]
    fn a_baseline_is_rarely_called_different_from_itself() {
        const RUNS: u64 = 2000;
        let different = (0..RUNS).filter(|&seed| {
            let verdict = experiment(seed, 1.0, 0.004);
            !matches!(verdict, Verdict::Unclear(_))
        });
        let share = different.count() as f64 / RUNS as f64;
        assert!(share <= 0.05, "{share}");
        // A test that never says anything would pass the line above.
        assert!(share > 0.001, "{share}");
    }

    #[test]
    fn one_per_cent_is_found() {
        const RUNS: u64 = 400;
        let found = (0..RUNS)
            .filter(|&seed| matches!(experiment(seed, 1.01, 0.006), Verdict::Slower(_)))
            .count();
        assert!(found as f64 >= 0.9 * RUNS as f64, "{found} of {RUNS}");
        let found = (0..RUNS)
            .filter(|&seed| matches!(experiment(seed, 0.99, 0.006), Verdict::Faster(_)))
            .count();
        assert!(found as f64 >= 0.9 * RUNS as f64, "{found} of {RUNS}");
    }

    #[test]
    fn intervals_are_those_of_the_binomial_distribution() {
        let numbers: Vec<f64> = (1..=10).map(|i| f64::from(i) / 100.0).collect();
        // 2 P(B(10, 1/2) <= 1) = 0.0215, of <= 2 0.109: the second and the ninth.
        let ratio = interval(&numbers, 0.05).unwrap();
        assert!((ratio.low - 0.02f64.exp()).abs() < 1e-12);
        assert!((ratio.high - 0.09f64.exp()).abs() < 1e-12);
        assert!((ratio.ratio - 0.055f64.exp()).abs() < 1e-12);
        // 2 / 32 > 0.05: five numbers have no such interval.
        assert_eq!(interval(&numbers[..5], 0.05), None);
        assert!(interval(&numbers[..6], 0.05).is_some());
        assert_eq!(interval(&[], 0.05), None);
    }
}
