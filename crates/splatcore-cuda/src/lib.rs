//! The NVIDIA backend: every op of rendering and training on the device, from the first photo to
//! the last step.
//!
//! Kernels are CUDA C++ text beside the Rust code that launches them, in `ops/<op>/`, compiled at
//! run time for the card at hand ([`device::nvrtc`]). [`passes`] holds the order of ops of a frame,
//! [`learner`] that of a step. [`CudaBackend::open`] opens a card; [`CudaBackend::on`] takes any
//! [`device::Device`], the emulator included, with which the conformance suite runs where there is
//! no card.

#[cfg(test)]
#[macro_use]
extern crate splatcore_test_support;

pub mod backend;
pub mod device;
pub mod dry_run;
pub mod learner;
pub mod ops;
pub mod parts;
pub mod passes;
pub mod peers;
mod probe;
pub mod programs;
pub mod renderer;
mod spatial_order;
pub mod tensors;
#[cfg(test)]
pub(crate) use device::forward;
#[cfg(test)]
mod tests;

pub use backend::{CudaBackend, OpenError, Options};
pub use ops::adam::moments::Moments;
pub use parts::PartsBackend;
pub use probe::{CompilerInfo, Probe, probe};
