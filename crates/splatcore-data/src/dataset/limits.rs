//! Limits of what a dataset can hold.

/// No camera is larger than this on a side; a bigger number means a corrupt file.
pub const MAX_SIDE: u64 = 1 << 17;
/// Beyond this coordinate, in any unit, no capture is.
pub const MAX_COORDINATE: f64 = 1e12;
