//! The tests of this crate in one program: it is linked once. `long_run` counts the bytes of the
//! heap, so it is one of its own.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

#[macro_use]
extern crate splatcore_test_support;

mod antialias;
mod as_needed;
mod blobs;
mod colours;
mod common;
mod config_files;
mod cpu;
mod depths;
mod ends;
mod evaluate;
mod floaters;
mod intrinsics;
mod lens;
mod motion;
mod normals;
mod options;
mod poses;
mod prune;
mod region;
mod runs;
mod sky;
mod together;
mod trainer;
mod trainer_errors;
