//! The float types that the operations are written for.

use num_traits::{Float, NumAssignOps};
use std::fmt::Debug;

/// `f32` or `f64`.
pub trait Real: Float + NumAssignOps + Default + Debug + Send + Sync + 'static {
    /// The nearest value of this type.
    fn of(value: f64) -> Self;
    /// The same number in double precision.
    fn wide(self) -> f64;
}

impl Real for f32 {
    fn of(value: f64) -> Self {
        value as f32
    }
    fn wide(self) -> f64 {
        self.into()
    }
}

impl Real for f64 {
    fn of(value: f64) -> Self {
        value
    }
    fn wide(self) -> f64 {
        self
    }
}
