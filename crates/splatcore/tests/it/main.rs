//! The tests of the command line in one program: it is linked once.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

mod channels;
mod common;
mod completions;
mod exposure;
mod killed;
mod lab;
mod lpips;
mod paper;
mod poses;
mod regression;
mod scenes;
mod training;
mod usage;
