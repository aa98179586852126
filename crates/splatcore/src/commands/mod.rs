//! One file per subcommand.

pub mod bench;
pub mod completions;
pub mod convert;
pub mod demo;
pub mod doctor;
pub mod eval;
pub mod export;
pub mod info;
#[cfg(feature = "lab")]
pub mod lab;
#[cfg(not(feature = "lab"))]
#[path = "no_lab.rs"]
pub mod lab;
pub mod make;
pub mod poses;
pub mod prune;
pub mod render;
pub mod report;
mod scene_output;
mod scene_stats;
pub mod train;
pub mod view;
