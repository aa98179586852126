//! A genetic algorithm that keeps the best points found and adds one child at a time (steady
//! state, Whitley, "The GENITOR algorithm and selection pressure", 1989), with uniform crossover
//! (Syswerda, "Uniform crossover in genetic algorithms", 1989).

use super::space::{Config, Space};
use super::trials::Trials;
use splatcore_core::random::Rng;

/// Settings of the genetic algorithm.
#[derive(Clone, Debug, PartialEq)]
pub struct Genetic {
    /// Points that may become parents: the fastest so far. That many points are random first.
    pub population: usize,
    /// The expected number of axes that a child changes at random.
    pub mutations: f32,
}

impl Default for Genetic {
    fn default() -> Self {
        Self {
            population: 8,
            mutations: 0.5,
        }
    }
}

impl Genetic {
    pub(super) fn next(&self, space: &Space, known: &Trials<'_>, rng: &mut Rng) -> Option<Config> {
        let mut ranked = known.ranked();
        ranked.truncate(self.population);
        // Where most points fail, two successes must do.
        let started = known.list.len() >= self.population;
        if !started || ranked.len() < 2 {
            return None;
        }
        for attempt in 0..200 {
            // The better of two, twice.
            let mut parent = || {
                let a = rng.below(ranked.len());
                &ranked[a.min(rng.below(ranked.len()))].config
            };
            let (a, b) = (parent(), parent());
            // Children that were tried before become rarer with more mutations.
            let mutations = self.mutations + attempt as f32 / 50.0;
            let chance = mutations / a.len() as f32;
            let mut child = Config::with_capacity(a.len());
            for axis in 0..a.len() {
                let inherited = if rng.below(2) == 0 { a[axis] } else { b[axis] };
                let mutates = rng.uniform() < chance;
                child.push(match mutates {
                    true => rng.below(space.values(axis)) as u16,
                    false => inherited,
                });
            }
            if space.allows(&child) && known.is_new(&child) {
                return Some(child);
            }
        }
        None
    }
}
