//! Several strategies side by side; each proposal goes to the one that found new bests lately.
//!
//! The choice is the bandit of OpenTuner (Ansel et al., "OpenTuner: an extensible framework for
//! program autotuning", PACT 2014, section 4.2.2): the area under the curve of an arm's successes,
//! which weighs late ones more (Fialho et al., "Analyzing bandit-based adaptive operator selection
//! mechanisms", 2010), plus a term for arms that were used little.

use super::genetic::Genetic;
use super::local::LocalSearch;
use super::space::{Config, Space};
use super::tpe::Tpe;
use super::trials::Trials;
use splatcore_core::random::Rng;

/// Settings of the portfolio. Its arms are TPE, local search and the genetic algorithm, with
/// settings of their own.
#[derive(Clone, Debug, PartialEq)]
pub struct Portfolio {
    /// The weight of exploration (OpenTuner's C).
    pub exploration: f64,
    /// Trials that count, the latest.
    pub window: usize,
    /// The first arm.
    pub tpe: Tpe,
    /// The second arm.
    pub local: LocalSearch,
    /// The third arm.
    pub genetic: Genetic,
}

impl Default for Portfolio {
    fn default() -> Self {
        Self {
            exploration: 0.05,
            window: 500,
            tpe: Tpe::default(),
            local: LocalSearch::default(),
            genetic: Genetic::default(),
        }
    }
}

const ARMS: usize = 3;

impl Portfolio {
    pub(super) fn next(&self, space: &Space, known: &Trials<'_>, rng: &mut Rng) -> Option<Config> {
        match self.arm(known) {
            0 => self.tpe.next(space, known, rng),
            1 => self.local.next(space, known, rng),
            _ => self.genetic.next(space, known, rng),
        }
    }

    /// The arm for the next proposal. The arms of the proposals before follow from the trials, so
    /// they are found again by going through them.
    fn arm(&self, known: &Trials<'_>) -> usize {
        // (arm, new best?) of each trial.
        let mut uses: Vec<(usize, bool)> = Vec::with_capacity(known.list.len());
        let mut best = f64::INFINITY;
        for trial in known.list {
            let arm = self.best_arm(&uses);
            uses.push((arm, trial.time() < best));
            best = best.min(trial.time());
        }
        self.best_arm(&uses)
    }

    fn best_arm(&self, uses: &[(usize, bool)]) -> usize {
        let uses = &uses[uses.len().saturating_sub(self.window)..];
        let mut counts = [0usize; ARMS];
        let mut areas = [0usize; ARMS];
        for &(arm, found) in uses {
            counts[arm] += 1;
            areas[arm] += counts[arm] * usize::from(found);
        }
        let score = |arm: usize| {
            let count = counts[arm];
            if count == 0 {
                return f64::INFINITY;
            }
            let area = 2.0 * areas[arm] as f64 / (count * (count + 1)) as f64;
            area + self.exploration * (2.0 * (uses.len() as f64).log2() / count as f64).sqrt()
        };
        let better = |best: usize, arm: usize| if score(arm) > score(best) { arm } else { best };
        (1..ARMS).fold(0, better)
    }
}
