//! Camera paths: where a camera is at each moment of a video.
//!
//! A [`CameraPath`] is a list of [`Keyframe`]s, from a file ([`files`]) or made ([`generate`]). A
//! [`Curve`] runs through it: [`Curve::at`] is the [`Pose`] at a time. Poses are in the scene's
//! axes; a camera's own axes are OpenCV's, x right, y down, z forward.
//!
//! Which file answers which question:
//!
//! | question | file |
//! | --- | --- |
//! | what is a keyframe | `keyframes.rs` |
//! | where is the camera between two keyframes | `curve.rs`, `spline.rs` |
//! | when is it where: constant speed, easing | `motion.rs` |
//! | how are paths made | `generate/` |
//! | how is a program's file read or written, in which axes | `files/` |

mod curve;
mod error;
pub mod files;
pub mod generate;
mod keyframes;
mod linear;
mod motion;
mod rotation;
mod spline;

pub use curve::Curve;
pub use error::PathError;
pub use keyframes::{CameraPath, Easing, Keyframe, MAX_KEYFRAMES, Pose};
pub use linear::principal_axes;
pub use motion::{Motion, Ramp};
