//! The portable backend: SIMD and threads, one file an op. The readable f64 twin of each op is the
//! file of the same name in `splatcore_reference::twin`.
//!
//! A frame ([`frame`]) runs `project`, `sort`, `intersect`, `blend`; a training step adds `loss`,
//! `blend_backward`, `project_backward`, `adam` ([`step`]) and now and then `densify`. Results do
//! not depend on the number of threads.

pub mod adam;
mod antialias;
mod backend;
mod batch;
pub mod blend;
pub mod blend_backward;
pub mod blend_scalar;
pub mod camera;
pub mod colour;
mod columns;
pub mod densify;
mod depth_backward;
mod depth_loss;
pub mod ellipse;
mod engine;
mod ewa_backward;
mod floaters;
pub mod footprint;
pub mod frame;
mod geometry;
mod harmonics;
pub mod intersect;
mod intrinsics_gradient;
mod learner;
mod limit_scales;
pub mod loss;
mod place;
mod pose_gradient;
pub mod project;
pub mod project_backward;
mod reduced;
mod renderer;
mod rows;
pub mod scene;
pub mod shared;
pub mod simd;
mod sky;
pub mod sort;
pub mod step;
mod step_buffers;
mod unscented;
mod workers;

pub use backend::CpuBackend;
pub use learner::CpuLearner;
pub use renderer::CpuRenderer;
