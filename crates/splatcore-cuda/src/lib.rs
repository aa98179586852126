//! The NVIDIA backend: every op of rendering and training on the device, from the first photo to
//! the last step.
//!
//! Kernels are CUDA C++ text in `kernels/`, one file an op or method, compiled at run time for the
//! card at hand ([`device::nvrtc`]); `src/<op>.rs` launches them. [`frame`] holds the order of ops
//! of a frame, [`learner`] that of a step. [`CudaBackend::open`] opens a card; [`CudaBackend::on`]
//! takes any [`device::Device`], the emulator included, with which the conformance suite runs where
//! there is no card.

pub mod backend;
pub mod by_camera;
pub mod camera;
pub mod dealt;
pub mod densify;
pub mod device;
pub mod exposure;
pub mod frame;
pub mod groups;
pub mod half;
pub mod launch;
pub mod learner;
pub mod limit_scales;
pub mod loss;
pub mod moments;
pub mod photo;
pub mod photos;
mod probe;
pub mod programs;
pub mod renderer;
pub mod samples;
pub mod smoothing;
pub mod sort;
mod spatial_order;
pub mod state;

pub use backend::{CudaBackend, OpenError, Options};
pub use moments::Moments;
pub use probe::{CompilerInfo, Probe, probe};
