//! From rounds to a verdict.
//!
//! The interval of the median is made of order statistics: the k-th smallest and the k-th largest
//! of n numbers hold the median between them with probability 1 - 2 P(B(n, 1/2) < k), whatever the
//! noise is like (David & Nagaraja, Order Statistics, 2003, section 7.1). A bootstrap would promise
//! as much only for many rounds.
//!
//! It speaks of the two processes that were timed. Two processes of the same kernels differ by
//! tenths of a per cent for as long as they live. So each end of the interval is moved outwards by
//! a margin, which the baseline timed against itself in several processes gives.

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

    /// What is wrong with it, in words.
    ///
    /// # Errors
    /// If a verdict could not fall, or would mean nothing.
    pub fn check(&self) -> Result<(), String> {
        let ascending = self.looks.windows(2).all(|two| two[0] < two[1]);
        if self.looks.first().is_none_or(|&first| first == 0) || !ascending {
            let looks = &self.looks;
            return Err(format!(
                "timing.looks is {looks:?}; give numbers of rounds from 1, ascending"
            ));
        }
        if !(self.error > 0.0 && self.error < 1.0) {
            let error = self.error;
            return Err(format!("timing.error is {error}; give one between 0 and 1"));
        }
        Ok(())
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

/// Processes of the baseline that are timed against one of its own, to know how much they differ.
pub const PROCESSES: usize = 8;

/// Rounds that each of these is timed for.
pub const ROUNDS: usize = 8;

/// How far the median of a comparison may lie from its true value because processes differ, as the
/// logarithm of a ratio. `rounds` are those of [`PROCESSES`] comparisons of the baseline with
/// itself, [`ROUNDS`] each; 0 for another number of rounds.
///
/// Their medians have the mean 0, so that the next one lies within the result with a probability of
/// 0.95 if they are normal: Student's t with eight degrees of freedom.
pub fn margin(rounds: &[f64]) -> f64 {
    const T: f64 = 2.306;
    if rounds.len() != PROCESSES * ROUNDS {
        return 0.0;
    }
    let squares = rounds.chunks(ROUNDS).map(|one| median(one).powi(2));
    T * (squares.sum::<f64>() / PROCESSES as f64).sqrt()
}

/// The baseline against itself, from the rounds that [`margin`] takes: how far a comparison may be
/// off. `None` if there are too few rounds.
pub fn noise(rounds: &[f64]) -> Option<Ratio> {
    interval(rounds, 0.05).map(|ratio| ratio.widened(margin(rounds)))
}

/// The middle of numbers; not a number if there are none.
fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    match n {
        0 => f64::NAN,
        _ => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}

/// Whether the verdict falls after these rounds, each the logarithm of a ratio of times. The margin
/// is that of [`margin`].
pub fn settle(rounds: &[f64], plan: &Plan, margin: f64) -> Standing {
    if !plan.looks.contains(&rounds.len()) {
        return Standing::Open;
    }
    let Some(ratio) = interval(rounds, plan.error_of_a_look()) else {
        return Standing::Open;
    };
    let ratio = ratio.widened(margin);
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
    Some(Ratio {
        ratio: median(rounds).exp(),
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
            if let Standing::Settled(ratio) = settle(&rounds, &plan, 0.0) {
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

    /// Rounds of a pair of processes that differs by `bias`. The middle half of the rounds has the
    /// width that was measured on a card for frames of 0.16 ms (docs/results/lab.md).
    fn rounds(rng: &mut Rng, count: usize, bias: f64) -> Vec<f64> {
        let round = |_| bias + 0.002 * f64::from(rng.normal());
        (0..count).map(round).collect()
    }

    #[test]
    fn processes_that_differ_are_no_gain() {
        const RUNS: u64 = 1000;
        const SPREAD: f64 = 0.0018;
        let plan = Plan::default();
        let (mut plain, mut widened, mut slower) = (0, 0, 0);
        for seed in 0..RUNS {
            let mut rng = Rng::new(seed, 8);
            let bias = |_| SPREAD * f64::from(rng.normal());
            let biases: Vec<f64> = (0..=PROCESSES).map(bias).collect();
            let (own, others) = biases.split_first().unwrap();
            let of_baseline: Vec<f64> = others
                .iter()
                .flat_map(|&bias| rounds(&mut rng, ROUNDS, bias))
                .collect();
            let timed = rounds(&mut rng, plan.most(), *own);
            let different = |margin, shift: f64| {
                let shifted: Vec<f64> = timed.iter().map(|round| round + shift).collect();
                let looks = plan.looks.iter().map(|&look| &shifted[..look]);
                let mut settled = looks.filter_map(|rounds| match settle(rounds, &plan, margin) {
                    Standing::Settled(ratio) => Some(Verdict::from(ratio)),
                    Standing::Open => None,
                });
                !matches!(settled.next(), None | Some(Verdict::Unclear(_)))
            };
            plain += u64::from(different(0.0, 0.0));
            widened += u64::from(different(margin(&of_baseline), 0.0));
            slower += u64::from(different(margin(&of_baseline), 0.01));
        }
        let share = |count: u64| count as f64 / RUNS as f64;
        assert!(share(plain) > 0.15, "{plain}: the processes do not differ");
        assert!(share(widened) <= 0.05, "{widened} of {RUNS}");
        assert!(share(slower) >= 0.9, "{slower} of {RUNS}");
    }

    #[test]
    fn a_margin_needs_all_processes() {
        let rounds = [0.01, -0.01].repeat(PROCESSES * ROUNDS / 2);
        assert_eq!(margin(&rounds), 0.0, "medians of 0");
        assert_eq!(margin(&rounds[1..]), 0.0);
        let one = vec![0.002; PROCESSES * ROUNDS];
        assert!((margin(&one) - 2.306 * 0.002).abs() < 1e-12);
        let noise = noise(&one).unwrap();
        assert!(noise.low < 1.0 && noise.high > 1.006, "{noise}");
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
