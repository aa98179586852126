//! One file per subcommand.

pub mod bench;
pub mod completions;
pub mod convert;
pub mod demo;
pub mod doctor;
pub mod eval;
pub mod export;
pub mod info;
pub mod lab;
pub mod poses;
pub mod prune;
pub mod render;
pub mod report;
mod scene_output;
mod scene_stats;
pub mod train;
pub mod view;
