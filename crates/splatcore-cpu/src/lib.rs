//! The portable backend: SIMD and threads, one file an op, each with a readable f64 twin in [`twin`].
pub mod twin;
