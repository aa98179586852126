//! Strategies by name.

use super::genetic::Genetic;
use super::local::LocalSearch;
use super::portfolio::Portfolio;
use super::space::{Config, Space};
use super::tpe::Tpe;
use super::trials::{Trial, Trials};
use splatcore_core::random::Rng;
use std::str::FromStr;

/// How the next point is chosen.
///
/// A strategy has no state: the next point is a function of the space, the trials so far, the
/// search's seed and the number of the proposal. A search that was stopped goes on with the same
/// points, and trials that others added (a person, a model) count like its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Strategy {
    /// Uniform, without repetition.
    Random,
    /// In lexicographic order.
    Exhaustive,
    /// Greedy iterated local search.
    Local(LocalSearch),
    /// A genetic algorithm.
    Genetic(Genetic),
    /// A tree-structured Parzen estimator.
    Tpe(Tpe),
    /// Several strategies, chosen by what they found.
    Portfolio(Portfolio),
}

impl Default for Strategy {
    /// The portfolio: it begins as the estimator does.
    fn default() -> Self {
        Self::Portfolio(Portfolio::default())
    }
}

impl FromStr for Strategy {
    type Err = UnknownStrategy;

    /// A strategy with its defaults.
    fn from_str(name: &str) -> Result<Self, UnknownStrategy> {
        let mut all = Self::all().into_iter();
        let found = all.find(|strategy| strategy.name() == name);
        found.ok_or_else(|| UnknownStrategy(name.to_owned()))
    }
}

/// No strategy is called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no strategy is called {0}; give one of {names}", names = Strategy::names())]
pub struct UnknownStrategy(String);

impl Strategy {
    /// Every strategy, with its defaults: the one list of them.
    pub fn all() -> [Self; 6] {
        [
            Self::Random,
            Self::Exhaustive,
            Self::Local(LocalSearch::default()),
            Self::Genetic(Genetic::default()),
            Self::Tpe(Tpe::default()),
            Self::Portfolio(Portfolio::default()),
        ]
    }

    /// The name that [`Strategy::from_str`] reads.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Exhaustive => "exhaustive",
            Self::Local(_) => "local",
            Self::Genetic(_) => "genetic",
            Self::Tpe(_) => "tpe",
            Self::Portfolio(_) => "portfolio",
        }
    }

    /// All names, separated by commas.
    pub fn names() -> String {
        Self::all().map(|strategy| strategy.name()).join(", ")
    }

    /// The point for proposal `n` (counted from 0): allowed by the space and not among the trials.
    /// The trials' points lie on the space's axes; conditions may not hold for some of them.
    /// None if no such point is left, or none could be found in a space too large to list.
    pub fn next(&self, space: &Space, trials: &[Trial], seed: u64, n: u64) -> Option<Config> {
        let mut rng = Rng::new(seed, n);
        let known = Trials::new(trials);
        let chosen = match self {
            Self::Random => None,
            Self::Exhaustive => return first_new(space, &known),
            Self::Local(local) => local.next(space, &known, &mut rng),
            Self::Genetic(genetic) => genetic.next(space, &known, &mut rng),
            Self::Tpe(tpe) => tpe.next(space, &known, &mut rng),
            Self::Portfolio(portfolio) => portfolio.next(space, &known, &mut rng),
        };
        let chosen = chosen.filter(|config| space.allows(config) && known.is_new(config));
        chosen.or_else(|| space.draw(&mut rng, &|config| known.is_new(config)))
    }
}

/// The first point that was not tried.
fn first_new(space: &Space, known: &Trials<'_>) -> Option<Config> {
    if let Some(points) = space.points() {
        return points.iter().find(|point| known.is_new(point)).cloned();
    }
    let mut config = vec![0; space.axes().len()];
    while !(space.allows(&config) && known.is_new(&config)) {
        config = space.after(&config)?;
    }
    Some(config)
}

#[cfg(test)]
#[path = "strategy_tests.rs"]
mod tests;
