//! Everything that can be set about a training run.
//!
//! Settings come in layers: flags over a file over a preset over the defaults. A layer is a
//! [`Config`], in which every setting may be absent. [`Config::resolve`] makes a
//! [`ResolvedConfig`] of them once, in which every setting has a value; all else reads that one.
//!
//! | question | file |
//! |---|---|
//! | which settings there are, and what they do | `settings` |
//! | which value a setting has that nobody gave | `resolve` |
//! | what is done with each setting, whichever it is | `every_setting` |
//! | how columns of the Gaussians are learned | `columns` |
//! | whether and how depth maps are learned from | `depth` |
//! | whether and how a sky is learned | `sky` |
//! | what the presets set | `preset`; their page in the guide: `preset_page` |
//! | which values are accepted | `check` |
//! | which settings do not go together | `conflicts` |
//! | how a time is written, how an interval | `time`, `interval` |
//! | how settings look in a file | `files`; those of earlier versions: `retired` |
//! | how settings are typed | `flags` |

mod check;
mod choices;
mod columns;
mod conflicts;
mod depth;
mod error;
mod every_setting;
mod files;
mod flags;
mod from_steps;
mod interval;
mod layers;
mod loading;
mod preset;
mod preset_page;
mod resolve;
mod resolved;
mod retired;
mod settings;
mod sky;
mod time;

pub use choices::{
    Appearance, BackendChoice, Background, BatchScaling, DensifyGrowth, DensifyStatistic,
    DepthKind, Depths, GrowthRegion, LineOrder, Moments, NamedDepthLoss, NormalAxes, Optimizer,
    PhotoLens, ResolutionSchedule, Strategy,
};
pub use columns::ColumnSettings;
pub(crate) use depth::FINAL_SHARE as DEPTH_FINAL_SHARE;
pub use depth::{DepthSettings, NormalSettings};
pub use error::{ConfigError, Idle, Setting};
pub use files::HARMLESS_ON_RESUME;
pub use flags::Flags;
pub use interval::Interval;
pub use preset::Preset;
pub use preset_page::presets_page;
pub use resolve::{REFERENCE_ITERATIONS, SSIM_WEIGHT, scaled_steps};
pub use resolved::{
    Batch, Budget, Checkpoints, Compute, Data, Densify, IntrinsicsSettings, Loss, PoseSettings,
    Prune, Rates, ResolvedConfig, Saving, Scene,
};
pub use settings::Config;
pub(crate) use sky::FINAL_SHARE as SKY_FINAL_SHARE;
pub use sky::SkySettings;
pub use time::WallTime;

#[cfg(test)]
mod tests;
