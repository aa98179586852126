//! Scripts and rules of the page that the live viewer serves, too.

/// The camera: an orbit around a target, and vectors.
pub const CAMERA: &str = include_str!("shared/camera.js");
/// Mouse, touch and keys.
pub const INPUT: &str = include_str!("shared/input.js");
/// The part of the panel about keyframes.
pub const PATH_PANEL: &str = include_str!("shared/path_panel.js");
/// What both viewers look like; to stand in front of a page's own rules.
pub const STYLE: &str = include_str!("shared/style.css");
/// Light or dark.
pub const THEME: &str = include_str!("shared/theme.js");
/// Keyframes: kept, played, saved, loaded.
pub const KEYFRAMES: &str = include_str!("shared/keyframes.js");
