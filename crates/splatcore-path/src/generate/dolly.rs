//! A straight way along the line of sight.

use crate::{CameraPath, PathError, Pose};

/// Keyframes of a dolly zoom, whose field of view follows no cubic.
const STEPS: usize = 64;

/// A camera that moves along its line of sight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dolly {
    /// Where it starts.
    pub start: Pose,
    /// Distance of what it looks at from the start, scene units, above 0.
    pub focus: f64,
    /// How far it moves as a share of `focus`; negative is backwards. Below 1.
    pub share: f64,
    /// Whether the field of view changes so that what lies at the focus keeps its size in the image
    /// (a dolly zoom).
    pub zoom: bool,
}

/// An open path along a line of sight.
///
/// # Errors
/// If it would reach or pass what it looks at, or a number is not finite.
pub fn dolly(dolly: &Dolly, seconds: f64) -> Result<CameraPath, PathError> {
    let Dolly {
        start,
        focus,
        share,
        zoom,
    } = *dolly;
    if !(focus > 0.0 && focus.is_finite() && share.is_finite() && share < 1.0) {
        let problem = format!("a dolly over {share} of the way reaches what it looks at");
        return Err(PathError::made(problem, "take a share below 1"));
    }
    let forward = start.rotation[2];
    let steps = if zoom { STEPS } else { 1 };
    let poses: Vec<Pose> = (0..=steps)
        .map(|i| {
            let moved = focus * share * i as f64 / steps as f64;
            let tan = (start.fov / 2.0).tan() * focus / (focus - moved);
            Pose {
                position: std::array::from_fn(|k| start.position[k] + moved * forward[k]),
                fov: if zoom { 2.0 * tan.atan() } else { start.fov },
                ..start
            }
        })
        .collect();
    Ok(CameraPath::through(&poses, seconds, false))
}
