//! Named sets of settings: what `--preset` puts in place of the defaults. The config file and flags
//! override them.

use super::{Config, DEFAULT, ResolutionSchedule, Strategy};
use serde::{Deserialize, Serialize};

/// Which compromise between time and quality. docs/measurements/training.md has what they reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// A quarter of the steps, the first of them on smaller photos, and 300,000 Gaussians.
    Fast,
    /// Half of the steps and half a million Gaussians.
    Balanced,
    /// All steps and a million Gaussians.
    Quality,
}

impl Preset {
    /// The defaults with this preset's settings. MCMC, as its time and memory are known in advance
    /// and pictures from outside the range of the photos do not fall apart; coarse photos first,
    /// which gained on what was measured.
    pub fn config(self) -> Config {
        let (iterations, gaussians) = match self {
            Self::Fast => (7_000, 300_000),
            Self::Balanced => (15_000, 500_000),
            Self::Quality => (30_000, 1_000_000),
        };
        Config {
            preset: Some(self),
            strategy: Strategy::Mcmc,
            iterations,
            max_gaussians: Some(gaussians),
            resolution_schedule: ResolutionSchedule::CoarseToFine,
            ..DEFAULT
        }
    }
}
