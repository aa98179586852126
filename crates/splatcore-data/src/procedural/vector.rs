//! The few vector operations that the tracer needs besides the core's dot, cross and normalize.

pub(super) use splatcore_core::camera::{cross, dot, length, sub};

/// A point, a direction or a linear colour.
pub(super) type V = [f64; 3];

pub(super) fn add(a: V, b: V) -> V {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

pub(super) fn mul(a: V, b: V) -> V {
    [a[0] * b[0], a[1] * b[1], a[2] * b[2]]
}

pub(super) fn scale(a: V, s: f64) -> V {
    a.map(|v| v * s)
}

/// `a + t b`: the point at `t` along a ray.
pub(super) fn along(a: V, b: V, t: f64) -> V {
    [a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]]
}

/// `a` for t = 0, `b` for t = 1.
pub(super) fn mix(a: V, b: V, t: f64) -> V {
    [0, 1, 2].map(|i| a[i] + (b[i] - a[i]) * t)
}

/// At unit length; a vector without length becomes "up".
pub(super) fn unit(a: V) -> V {
    splatcore_core::camera::normalize(a).unwrap_or([0.0, -1.0, 0.0])
}

/// 0 below `from`, 1 above `to`, a smooth cubic between.
pub(super) fn smoothstep(from: f64, to: f64, x: f64) -> f64 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}
