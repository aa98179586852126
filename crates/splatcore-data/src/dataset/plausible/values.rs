//! Values that are judged while a file is read: a camera does not hold them afterwards.

use crate::dataset::finding::{Finding, number};
use crate::dataset::limits::MAX_SIDE;

/// How far the last row of a matrix may be from 0 0 0 1.
const TOLERANCE: f64 = 1e-3;

/// Width and height in pixels.
pub fn size(width: f64, height: f64) -> Result<(u32, u32), Finding> {
    let side = |v: f64| (v >= 1.0 && v <= MAX_SIDE as f64).then_some(v.round() as u32);
    side(width).zip(side(height)).ok_or_else(|| {
        // Sides are shown to the last digit, as they stand in the file.
        let digits = |v: f64| match v.fract() == 0.0 && v.abs() < 1e15 {
            true => format!("{v:.0}"),
            false => number(v),
        };
        let both = format!("{}x{} pixels", digits(width), digits(height));
        Finding::refused("its size", both, sides())
    })
}

/// What each side of a photo is.
pub fn sides() -> String {
    format!("1 to {MAX_SIDE} a side")
}

/// The last row of a 4x4 matrix called `name`.
pub fn last_row(name: &str, row: &[f64]) -> Result<(), Finding> {
    let near = |(v, want): (&f64, f64)| (v - want).abs() <= TOLERANCE;
    if row.len() == 4 && row.iter().zip([0.0, 0.0, 0.0, 1.0]).all(near) {
        return Ok(());
    }
    let row: Vec<String> = row.iter().map(|&v| number(v)).collect();
    Err(Finding::refused(
        format!("the last row of {name}"),
        row.join(" "),
        "0 0 0 1 (rows from top to bottom; a matrix with its position there is transposed)",
    ))
}

/// Depths of the nearest and the farthest thing in a photo: what is wrong with them.
pub fn bounds([near, far]: [f64; 2]) -> Option<Finding> {
    let sound = near.is_finite() && far.is_finite() && 0.0 < near && near < far;
    (!sound).then(|| {
        Finding::doubtful(
            "the pair of depth bounds",
            format!("{} and {}", number(near), number(far)),
            "0 < nearest < farthest; they are not used",
        )
    })
}

/// A rotation as a quaternion of no length.
pub fn no_rotation(quaternion: [f64; 4]) -> Finding {
    Finding::refused(
        "its quaternion",
        format!("{:?}", quaternion.map(number)).replace('"', ""),
        "four numbers that are finite and not all 0",
    )
}

/// A pose that [`crate::dataset::pose::Pose`] cannot be.
pub fn no_pose(what: &str, problem: &str) -> Finding {
    Finding::refused(what, problem, "a rotation and a position")
}
