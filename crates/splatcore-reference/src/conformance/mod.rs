//! One test body for every backend: what docs/conventions.md promises, checked against
//! [`crate::twin`].
//!
//! A backend's test calls [`all`] and prints the failures, or calls the checks one by one. Every
//! check makes its own data from fixed seeds and returns a message that names scene, pipeline,
//! place and numbers.

pub mod answers;
pub mod batches;
mod bits;
pub mod bounds;
#[cfg(test)]
mod bounds_tests;
mod camera_gradients;
mod case;
mod checks;
pub mod colour;
pub mod compare;
mod degenerate;
pub mod depth;
pub mod depth_gradients;
pub mod depth_guide;
pub mod determinism;
pub mod errors;
pub mod footprints;
pub mod forward;
pub mod gradients;
mod hostile;
pub mod intrinsics;
pub mod learned_masks;
mod lenses;
mod outcome;
pub mod photos_elsewhere;
pub mod poses;
pub mod refine;
pub mod scenes;
pub mod selection;
mod shutters;
pub mod sky;
pub mod smoothing;
pub mod step;
pub mod step_options;
pub mod strips;
pub mod visibility;

pub use checks::{CHECKS, CaseResult, Check, all};
pub use outcome::Outcome;
