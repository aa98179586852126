//! Constants of programs as CUDA text. A number is `(name, number.to_string())`.

/// Lanes of a warp; `WARP` of ops/shared/device.cuh.
pub(crate) const WARP: usize = 32;

/// A constant that is an f32.
pub(crate) fn float(name: &'static str, value: f64) -> (&'static str, String) {
    (name, format!("{:e}f", value as f32))
}

/// A constant that is 0 or 1.
pub(crate) fn flag(name: &'static str, set: bool) -> (&'static str, String) {
    (name, (set as u8).to_string())
}

/// Splats of a part of a list, of which the backward pass `splatcore` takes one a block; in the
/// kernels by the same name (ops/blend/training_weights.cuh).
pub const PART: usize = 512;

/// That constant of a program.
pub fn part() -> (&'static str, String) {
    ("PART", PART.to_string())
}
