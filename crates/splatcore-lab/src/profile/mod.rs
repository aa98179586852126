//! What is known of the baseline's speed: stages, counters, tile statistics, kernels.
//!
//! Plain data: whoever measured it fills it in. A planner prunes by it, and rules do before.

mod data;
mod ncu;
mod text;

pub use data::{Kernel, Metrics, Pipe, Profile, Roofline, Spread, Stage, Tiles};
pub use ncu::{NcuError, read_ncu};
pub use text::to_markdown;
