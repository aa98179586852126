//! What every backend is judged by. Backends use this crate in tests only.
//!
//! - [`twin`]: each op in f64, sequential, written to be read; its gradients are checked against
//!   finite differences.
//! - [`conformance`]: one suite for any backend, which compares it with the twin.

pub mod conformance;
pub mod twin;
