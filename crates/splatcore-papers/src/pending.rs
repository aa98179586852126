//! Blends that the tables have rows for and this build has not yet.

/// Their names. A run of one of them says so in its row; a test fails once the name is known, so
/// that it is taken off the list.
pub const PENDING: [&str; 6] = [
    "tensor-gs-1x1-half",
    "tensor-gs-2x2-half",
    "tensor-gs-4x4-half",
    "tc-gs-half",
    "stop-the-pop",
    "gscore",
];
