//! What tests of several modules share.

pub mod checked;
pub mod device;
pub mod groups;
pub mod half;
pub mod machine;
pub mod real;
pub mod splats;
pub mod watched;
