//! Greedy iterated local search, as Kernel Tuner's `greedy_ils` (van Werkhoven, "Kernel Tuner: a
//! search-optimizing GPU code auto-tuner", 2019): a first improvement among the points that differ
//! in one axis is taken at once; where there is none, a few axes are changed at random.

use super::space::{Config, Space, distance};
use super::trials::{Trial, Trials};
use splatcore_core::random::Rng;

/// Settings of the local search.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalSearch {
    /// Random points of a start; the search goes on from the fastest.
    pub start: usize,
    /// Trials in a row without a new best after which the search starts anew.
    pub fruitless: usize,
    /// The share of axes that change when a neighbourhood is exhausted; at least one.
    pub kick: f32,
}

impl Default for LocalSearch {
    fn default() -> Self {
        Self {
            start: 8,
            fruitless: 50,
            kick: 0.3,
        }
    }
}

/// Where the search stands after some trials.
struct State<'a> {
    /// Random points that the start still needs.
    starting: usize,
    /// The point whose neighbourhood is searched; while starting, the fastest point of the start.
    base: Option<&'a Trial>,
    /// Points of that neighbourhood that were not tried.
    left: usize,
    /// The best time.
    best: f64,
    /// Trials since it was found, or since the last random start.
    fruitless: usize,
}

impl LocalSearch {
    pub(super) fn next(&self, space: &Space, known: &Trials<'_>, rng: &mut Rng) -> Option<Config> {
        let state = self.replay(space, known);
        if state.starting > 0 {
            return None;
        }
        let base = &state.base?.config;
        if state.left > 0 {
            let mut near = Vec::with_capacity(state.left);
            space.neighbours(base, &mut |config| {
                if known.is_new(config) {
                    near.push(config.clone());
                }
            });
            return near.get(rng.below(near.len())).cloned();
        }
        self.kicked(space, base, known, rng)
    }

    /// The state after all trials. Which of them were starts follows from the trials before.
    fn replay<'a>(&self, space: &Space, known: &Trials<'a>) -> State<'a> {
        let mut state = State {
            starting: self.start,
            base: None,
            left: 0,
            best: f64::INFINITY,
            fruitless: 0,
        };
        for (at, trial) in known.list.iter().enumerate() {
            let time = trial.time();
            state.fruitless = match time < state.best {
                true => 0,
                false => state.fruitless + 1,
            };
            state.best = state.best.min(time);
            let is_base = match state.base {
                // The neighbourhood was exhausted: the search goes on from wherever it went.
                Some(_) if state.starting == 0 && state.left == 0 => time.is_finite(),
                Some(base) => time < base.time(),
                None => time.is_finite(),
            };
            state.starting = state.starting.saturating_sub(1);
            if is_base {
                state.base = Some(trial);
                state.left = unseen(space, trial, &known.list[..=at]);
            } else if let Some(base) = state.base {
                let near = distance(&base.config, &trial.config) == 1;
                state.left -= usize::from(near && state.left > 0);
            }
            if state.fruitless >= self.fruitless {
                (state.base, state.fruitless, state.starting) = (None, 0, self.start);
            }
        }
        state
    }

    /// A new point that differs from `base` in `kick` of the axes, or in more if there is none.
    fn kicked(
        &self,
        space: &Space,
        base: &[u16],
        known: &Trials<'_>,
        rng: &mut Rng,
    ) -> Option<Config> {
        let axes = base.len();
        let least = ((self.kick * axes as f32) as usize).clamp(1, axes);
        for changes in least..=axes {
            for _ in 0..64 {
                let mut order: Vec<usize> = (0..axes).collect();
                rng.shuffle(&mut order);
                let mut config = base.to_vec();
                for &axis in &order[..changes] {
                    config[axis] = rng.below(space.values(axis)) as u16;
                }
                if space.allows(&config) && known.is_new(&config) {
                    return Some(config);
                }
            }
        }
        None
    }
}

/// Points of a neighbourhood that are not among these trials.
fn unseen(space: &Space, base: &Trial, trials: &[Trial]) -> usize {
    let mut all = 0;
    space.neighbours(&base.config, &mut |_| all += 1);
    let near = trials
        .iter()
        .filter(|trial| distance(&trial.config, &base.config) == 1);
    // Trials from elsewhere may lie outside the space.
    all - near
        .filter(|trial| space.allows(&trial.config))
        .count()
        .min(all)
}
