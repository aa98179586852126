//! Tests of the operations: gradients against finite differences, images against plain loops,
//! arguments that do not fit, any number of threads.

#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

mod directions;
mod harmonics;
mod hostile;
mod intersect;
mod optimise;
mod projection;
mod quat_scale;
mod rasterize;
mod scene;
mod ssim;
mod support;
mod threads;
mod unscented;
