//! The tests of the command line in one program: it is linked once.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

#[macro_use]
extern crate splatcore_test_support;

mod channels;
mod colours;
mod common;
mod completions;
mod convert;
#[cfg(unix)] // limits are the shell's
mod depths;
mod descriptors;
mod export;
#[cfg(unix)] // a shell script
mod fake_colmap;
mod killed;
mod killed_make;
#[cfg(feature = "lab")]
mod lab;
mod lens;
mod locks;
mod lpips;
mod make;
mod paper;
mod paper_compressed;
mod paths;
mod poses;
mod prune;
mod ranks;
mod refine_intrinsics;
mod refine_poses;
mod region;
mod regression;
mod report;
mod residuals;
mod run_folder;
mod run_safety;
mod scenes;
mod shutter;
#[cfg(unix)] // so is the browser started
mod site_browser;
mod sky;
mod sound;
#[cfg(unix)] // Ctrl-C is sent by `kill`
mod stopped;
mod training;
mod usage;
#[cfg(unix)] // Ctrl-C is sent by `kill`
mod view;
#[cfg(target_os = "linux")] // reads /proc
mod view_soak;
