//! Bounds of what is read.

/// No frame is larger than this on a side.
pub const MAX_SIDE: u32 = 16384;
