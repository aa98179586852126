//! What tests of several modules share.

pub mod device;
pub mod half;
pub mod machine;
pub mod macro_tiles;
pub mod real;
pub mod side_by_side;
pub mod splats;
pub mod watched;
