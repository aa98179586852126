//! Paths that are made: around a point, through cameras, towards something.

mod dolly;
mod ellipse;
mod orbit;
mod through;

pub use dolly::{Dolly, dolly};
pub use ellipse::{ellipse, focus_of};
pub use orbit::{Orbit, orbit};
pub use through::through;

/// Keyframes of a closed path: 3 degrees apart, so that the spline is off a circle by less than a
/// millionth of its radius.
const AROUND: usize = 120;
