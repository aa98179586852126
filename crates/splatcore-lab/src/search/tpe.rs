//! A tree-structured Parzen estimator (Bergstra et al., "Algorithms for hyper-parameter
//! optimization", NeurIPS 2011, section 4) in its multivariate form (Falkner et al., "BOHB", ICML
//! 2018): densities over whole points, so that axes may interact.
//!
//! The fastest trials are *good*, all others *bad*, failures among them. Each set has a density: a
//! mixture of one kernel around each trial and a uniform prior. The next point is the one with the
//! largest ratio of the good density to the bad one (Bergstra's equation 3: expected improvement
//! grows with that ratio) among candidates that lie near good trials.

use super::space::{Config, Space};
use super::trials::{Trial, Trials};
use splatcore_core::random::Rng;

/// Settings of the estimator.
#[derive(Clone, Debug, PartialEq)]
pub struct Tpe {
    /// Random points before the densities are used.
    pub start: usize,
    /// The share of the successful trials that is good.
    pub good: f32,
    /// The most trials that are good.
    pub most_good: usize,
    /// How much of a kernel's weight lies on other values than its centre's, on each axis.
    pub width: f32,
    /// Points among which the best ratio is looked for.
    pub candidates: usize,
}

impl Default for Tpe {
    fn default() -> Self {
        Self {
            start: 10,
            good: 0.1,
            most_good: 25,
            width: 0.3,
            candidates: 128,
        }
    }
}

impl Tpe {
    pub(super) fn next(&self, space: &Space, known: &Trials<'_>, rng: &mut Rng) -> Option<Config> {
        let ranked = known.ranked();
        if known.list.len() < self.start || ranked.is_empty() {
            return spread(space, known, rng);
        }
        let count = (self.good * ranked.len() as f32).ceil() as usize;
        let good = &ranked[..count.clamp(1, self.most_good)];
        let failed = known.list.iter().filter(|trial| !trial.time().is_finite());
        let bad: Vec<&Trial> = ranked[good.len()..].iter().copied().chain(failed).collect();
        let kernels = Kernels::new(space, self.width);
        let mut best: Option<(f64, Config)> = None;
        for config in self.candidates(space, known, good, &kernels, rng) {
            let ratio = kernels.log_density(&config, good) - kernels.log_density(&config, &bad);
            if best.as_ref().is_none_or(|(most, _)| ratio > *most) {
                best = Some((ratio, config));
            }
        }
        best.map(|(_, config)| config)
    }

    /// New points: half of them drawn from the good density, the neighbours of the best trial, and
    /// random ones.
    fn candidates(
        &self,
        space: &Space,
        known: &Trials<'_>,
        good: &[&Trial],
        kernels: &Kernels,
        rng: &mut Rng,
    ) -> Vec<Config> {
        let mut found = Vec::new();
        space.neighbours(&good[0].config, &mut |config| {
            if known.is_new(config) {
                found.push(config.clone());
            }
        });
        for attempt in 0..self.candidates {
            let config = match attempt % 4 {
                3 => space.draw(rng, &|config| known.is_new(config)),
                _ => Some(kernels.draw(&good[rng.below(good.len())].config, rng)),
            };
            let fits = |config: &Config| space.allows(config) && known.is_new(config);
            found.extend(config.filter(fits));
        }
        found
    }
}

/// Random points from which `spread` chooses.
const SPREAD: usize = 16;

/// Of some random points, the one whose values were tried least: a start that leaves no value of an
/// axis out, as a Latin hypercube does where there are no conditions.
fn spread(space: &Space, known: &Trials<'_>, rng: &mut Rng) -> Option<Config> {
    let mut tried: Vec<Vec<u32>> = (0..space.axes().len())
        .map(|axis| vec![0; space.values(axis)])
        .collect();
    for trial in known.list {
        for (counts, &value) in tried.iter_mut().zip(&trial.config) {
            counts[usize::from(value)] += 1;
        }
    }
    let familiar = |config: &Config| -> u32 {
        let axes = config.iter().zip(&tried);
        axes.map(|(&value, counts)| counts[usize::from(value)])
            .sum()
    };
    let drawn = (0..SPREAD).map_while(|_| space.draw(rng, &|config| known.is_new(config)));
    drawn.min_by_key(familiar)
}

/// The weight of one value around another, for each axis.
struct Kernels {
    /// `[axis][value * values + centre]`; the values around a centre sum to 1.
    weights: Vec<Vec<f64>>,
    values: Vec<usize>,
    /// The density of the uniform prior.
    uniform: f64,
}

impl Kernels {
    /// Half of `width` is spread evenly over all values (Aitchison and Aitken 1976); on an ordered
    /// axis the other half falls by two with each step from the centre, else it is spread too.
    fn new(space: &Space, width: f32) -> Self {
        let values: Vec<usize> = (0..space.axes().len())
            .map(|axis| space.values(axis))
            .collect();
        let width = f64::from(width);
        let mut weights = Vec::with_capacity(values.len());
        for (axis, &count) in values.iter().enumerate() {
            let mut table = vec![1.0; count * count];
            let even = 1.0 / (count - 1).max(1) as f64;
            for centre in 0..count {
                let raw = |value: usize| match space.is_ordered(axis) {
                    true => 0.5f64.powi(value.abs_diff(centre) as i32),
                    false => 1.0,
                };
                let others: f64 = (0..count).filter(|v| *v != centre).map(raw).sum();
                for value in (0..count).filter(|_| count > 1) {
                    table[value * count + centre] = match value == centre {
                        true => 1.0 - width,
                        false => width * 0.5 * (even + raw(value) / others),
                    };
                }
            }
            weights.push(table);
        }
        Self {
            weights,
            uniform: values.iter().map(|&count| 1.0 / count as f64).product(),
            values,
        }
    }

    fn log_density(&self, config: &[u16], trials: &[&Trial]) -> f64 {
        let row = |(axis, &value): (usize, &u16)| {
            let count = self.values[axis];
            &self.weights[axis][usize::from(value) * count..][..count]
        };
        let rows: Vec<&[f64]> = config.iter().enumerate().map(row).collect();
        let kernel = |trial: &&Trial| -> f64 {
            let axes = trial.config.iter().zip(&rows);
            axes.map(|(&centre, row)| row[usize::from(centre)])
                .product()
        };
        let sum: f64 = trials.iter().map(kernel).sum();
        ((sum + self.uniform) / (trials.len() + 1) as f64).ln()
    }

    /// A point drawn from the kernel around `centre`.
    fn draw(&self, centre: &[u16], rng: &mut Rng) -> Config {
        let axes = centre.iter().enumerate();
        axes.map(|(axis, &centre)| {
            let count = self.values[axis];
            let mut left = f64::from(rng.uniform());
            let drawn = (0..count).find(|value| {
                left -= self.weights[axis][value * count + usize::from(centre)];
                left < 0.0
            });
            drawn.map_or(centre, |drawn| drawn as u16)
        })
        .collect()
    }
}
