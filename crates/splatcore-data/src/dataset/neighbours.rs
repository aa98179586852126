//! How a camera moved when it took a frame of a video, by the frames before and after.

use super::finding::{Finding, number};
use super::options::ReadoutTime;
use super::pose::Pose;
use splatcore_core::Camera;
use splatcore_core::camera::dot;
use splatcore_core::linear::{quaternion_from_rotation, rotation_vector};
use splatcore_core::shutter::Shutter;
use std::collections::HashMap;

/// Frames further apart than this many seconds say little of how the camera moved between them. 3D
/// Scanner App takes a photo every 0.50 to 0.54 seconds.
const MAX_GAP: f64 = 0.6;
/// In the time of the read-out a camera turns by less than this, radians.
const MAX_TURN: f64 = 0.5;

/// How a camera moves.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Velocity {
    /// World units a second, world axes.
    linear: [f64; 3],
    /// Radians a second, world axes.
    angular: [f64; 3],
}

impl Velocity {
    /// The same, with this turn about the camera's own axes.
    pub fn with_turn(self, own: [f64; 3], camera: &Camera) -> Self {
        let column = |j: usize| camera.rotation.map(|row| row[j]);
        let angular = [0, 1, 2].map(|j| dot(column(j), own));
        Self { angular, ..self }
    }
}

/// The motion of a camera, in its own axes, while it reads a photo.
///
/// # Errors
/// What is doubtful: no other frame is near in time, or the camera turned too far.
pub(super) fn shutter(
    moved: Option<Velocity>,
    camera: &Camera,
    readout: ReadoutTime,
) -> Result<Shutter, Finding> {
    let doubt = |value: String, expected: String| {
        let expected = format!("{expected}; the photo is used as one of a global shutter");
        Finding::doubtful("its motion while it was read", value, expected)
    };
    let Some(Velocity { linear, angular }) = moved else {
        let expected = format!("another frame at most {MAX_GAP} s before or after");
        return Err(doubt("not known".into(), expected));
    };
    let own = |v: [f64; 3]| camera.rotation.map(|row| readout.seconds * dot(row, v));
    let (turn, shift) = (own(angular), own(linear));
    let angle = dot(turn, turn).sqrt();
    if !(angle <= MAX_TURN && shift.iter().all(|v| v.is_finite())) {
        let value = format!("a turn by {} degrees", number(angle.to_degrees()));
        let expected = format!("at most {} degrees", number(MAX_TURN.to_degrees()));
        return Err(doubt(value, expected));
    }
    Ok(Shutter {
        readout: readout.order,
        turn,
        shift,
    })
}

/// The frames in the order of their times.
pub(super) struct Neighbours {
    /// Time and pose, by time; those of one camera alone if several took photos at once.
    frames: Vec<(f64, Pose)>,
    /// Where each frame of the file is in it.
    places: HashMap<usize, usize>,
}

impl Neighbours {
    /// Of frames that say when they were taken: a number of the frame, seconds, and its pose.
    pub fn of(timed: impl Iterator<Item = (usize, f64, Pose)>) -> Self {
        let mut frames: Vec<(usize, f64, Pose)> = timed.collect();
        frames.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let places = frames.iter().enumerate();
        Self {
            places: places.map(|(place, (index, ..))| (*index, place)).collect(),
            frames: frames.iter().map(|&(_, time, pose)| (time, pose)).collect(),
        }
    }

    /// How the camera of a frame moved: by the frames before and after it, or at an end by it and
    /// its neighbour. `None` where they were not taken soon before and after.
    pub fn motion(&self, index: usize) -> Option<Velocity> {
        let &place = self.places.get(&index)?;
        let near = |a: usize, b: usize| {
            let (a, b) = (self.frames.get(a)?, self.frames.get(b)?);
            let gap = b.0 - a.0;
            (gap > 0.0 && gap <= MAX_GAP).then_some((a, b))
        };
        let before = place.checked_sub(1).and_then(|before| near(before, place));
        let after = near(place, place + 1);
        let (from, to) = match (before, after) {
            (Some((from, _)), Some((_, to))) => (from, to),
            (Some(pair), None) | (None, Some(pair)) => pair,
            (None, None) => return None,
        };
        Some(between(from, to))
    }
}

/// The steady motion from one pose to another.
fn between((begin, from): &(f64, Pose), (end, to): &(f64, Pose)) -> Velocity {
    let rate = 1.0 / (end - begin);
    let eye = |pose: &Pose| -> [f64; 3] {
        let column = |j: usize| [0, 1, 2].map(|i| pose.rotation[i][j]);
        [0, 1, 2].map(|j| -dot(column(j), pose.translation))
    };
    let (start, stop) = (eye(from), eye(to));
    // From the one's axes to the other's, in world axes.
    let turn: [[f64; 3]; 3] = std::array::from_fn(|i| {
        std::array::from_fn(|j| {
            (0..3)
                .map(|k| to.rotation[k][i] * from.rotation[k][j])
                .sum()
        })
    });
    Velocity {
        linear: std::array::from_fn(|k| rate * (stop[k] - start[k])),
        angular: rotation_vector(quaternion_from_rotation(&turn)).map(|v| rate * v),
    }
}
