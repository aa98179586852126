//! Tests of the operations: gradients against finite differences, images against plain loops,
//! arguments that do not fit, any number of threads.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

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
