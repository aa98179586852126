//! Scripts of the page that the live viewer serves, too.

/// The camera: an orbit around a target, and vectors.
pub const CAMERA: &str = include_str!("shared/camera.js");
/// Mouse, touch and keys.
pub const INPUT: &str = include_str!("shared/input.js");
/// Keyframes: kept, played, saved, loaded.
pub const KEYFRAMES: &str = include_str!("shared/keyframes.js");
