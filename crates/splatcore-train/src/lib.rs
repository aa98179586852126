//! From photos with cameras and a first guess to a trained scene.
//!
//! | question | file |
//! |---|---|
//! | what can be set, and what it does | [`config`] |
//! | which learning rate, which refinement, at which step | [`schedule`] |
//! | where do the first Gaussians come from | [`init`] |
//! | the loop itself | [`trainer`] |
//! | how does a run end on time, or once it is good enough | [`budget`], `trainer/end.rs` |
//! | where the time went | [`breakdown`] |
//! | what a checkpoint holds | [`checkpoint`] |
//! | how good is the result | [`evaluate`](mod@evaluate) |
//! | how different do two images look | [`lpips`] |
//! | will it fit | [`memory`] |
//! | how does a scene get smaller | [`prune`] |
//! | who decides where several processes train | [`together`] |
//!
//! Backends are known by the traits of [`splatcore_core::backend`] only: the photos, the gradients
//! and the Gaussians live wherever the backend keeps them; this crate says what to do and when.

pub mod breakdown;
pub mod budget;
pub mod checkpoint;
mod clock;
pub mod config;
pub mod error;
pub mod evaluate;
pub mod init;
pub mod intrinsics;
pub mod lpips;
pub mod memory;
pub mod motion;
pub mod observer;
pub mod poses;
pub mod prune;
pub mod refined;
mod saver;
pub mod schedule;
pub mod together;
pub mod trainer;
pub mod view_order;
mod view_set;

pub use breakdown::Breakdown;
pub use budget::Planned;
pub use checkpoint::Checkpoint;
pub use clock::Now;
pub use config::{Config, ResolvedConfig};
pub use error::{Difference, TrainError};
pub use evaluate::{
    DepthScore, Evaluation, Extras, RegionScore, evaluate, evaluate_over, evaluate_with,
};
pub use lpips::Lpips;
pub use observer::{CurvePoint, Event, Observer, Progress, Signal};
pub use together::{Decision, End, Together};
pub use trainer::{Outcome, Trainer};
