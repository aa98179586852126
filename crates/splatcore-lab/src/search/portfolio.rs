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
        // The start belongs to no arm.
        if known.list.len() < self.tpe.start {
            return self.tpe.next(space, known, rng);
        }
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
        for (at, trial) in known.list.iter().enumerate() {
            if at >= self.tpe.start {
                uses.push((self.best_arm(&uses), trial.time() < best));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arms_that_find_are_chosen() {
        let portfolio = Portfolio::default();
        let best = |uses: &[(usize, bool)]| portfolio.best_arm(uses);
        // Each arm once, then the one that found.
        assert_eq!((best(&[]), best(&[(0, true)])), (0, 1));
        assert_eq!(best(&[(0, true), (1, false)]), 2);
        assert_eq!(best(&[(0, false), (1, true), (2, false)]), 1);
        // Late finds weigh more than early ones.
        let early = [(0, true), (0, false), (0, false)];
        let late = [(1, false), (1, false), (1, true), (2, false)];
        assert_eq!(best(&[early.as_slice(), &late].concat()), 1);
        // An arm that was used little has its turn, and what left the window is forgotten.
        let fruitless = [(0, false)].repeat(400);
        let others = [(1, false), (2, false), (1, false)];
        assert_eq!(best(&[fruitless.as_slice(), &others].concat()), 2);
        let old = [[(1, true)].repeat(50), [(0, false), (2, false)].repeat(250)].concat();
        assert_eq!(best(&old), 1);
        let older = [[(2, true)].repeat(50), [(0, true), (1, false)].repeat(250)].concat();
        assert_eq!(best(&older[1..]), 2);
    }
}
