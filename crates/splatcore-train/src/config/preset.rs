//! Named sets of settings: what `--preset` puts in place of the defaults. The config file and flags override them.

use super::{Config, DEFAULT, ResolutionSchedule, Strategy};
use serde::{Deserialize, Serialize};

/// Which compromise between time and quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// A third of the steps, the first of them on smaller photos.
    Fast,
    /// The defaults.
    Balanced,
    /// MCMC with more Gaussians.
    Quality,
}

impl Preset {
    /// The defaults with this preset's settings.
    pub fn config(self) -> Config {
        let preset = Some(self);
        match self {
            Self::Fast => Config {
                preset,
                iterations: 10_000,
                resolution_schedule: ResolutionSchedule::CoarseToFine,
                ..DEFAULT
            },
            Self::Balanced => Config { preset, ..DEFAULT },
            Self::Quality => Config {
                preset,
                strategy: Strategy::Mcmc,
                max_gaussians: Some(1_500_000),
                ..DEFAULT
            },
        }
    }
}
