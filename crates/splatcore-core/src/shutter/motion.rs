//! Where a point is in the axes of a camera that moves.

use super::Shutter;
use crate::camera::{cross, dot};

/// The most by which a camera turns while a photo is read, radians.
const MAX_TURN: f64 = 2.0;
/// Below this angle a rotation is the first terms of its series.
const TINY: f64 = 1e-8;

impl Shutter {
    /// Where a point is at a time in the camera's axes, given where it is in those at time 0.
    pub fn view_at(&self, time: f64, view: [f64; 3]) -> [f64; 3] {
        let moved = std::array::from_fn(|i| view[i] - time * self.shift[i]);
        turned(self.turn.map(|v| -time * v), moved)
    }

    /// A vector in the axes at time 0, given in those at a time.
    pub fn turned_back(&self, time: f64, vector: [f64; 3]) -> [f64; 3] {
        turned(self.turn.map(|v| time * v), vector)
    }

    /// How a point moves in the camera's axes, given where it is in them at a time.
    pub fn rate_at(&self, time: f64, view: [f64; 3]) -> [f64; 3] {
        let (around, along) = (
            cross(self.turn, view),
            turned(self.turn.map(|v| -time * v), self.shift),
        );
        std::array::from_fn(|i| -around[i] - along[i])
    }

    /// What makes the motion unusable, or `None`.
    pub fn defect(&self) -> Option<String> {
        if !self.turn.iter().chain(&self.shift).all(|v| v.is_finite()) {
            return Some("the motion while the photo is read is not finite".into());
        }
        let angle = dot(self.turn, self.turn).sqrt();
        (angle > MAX_TURN).then(|| {
            format!(
                "it turns by {:.0} degrees while the photo is read",
                angle.to_degrees()
            )
        })
    }
}

/// A vector turned by another: axis times angle (Rodrigues).
pub(super) fn turned(by: [f64; 3], v: [f64; 3]) -> [f64; 3] {
    let square = dot(by, by);
    let angle = square.sqrt();
    let (along, across) = match angle < TINY {
        true => (1.0, 0.5),
        false => (
            angle.sin() / angle,
            2.0 * (0.5 * angle).sin().powi(2) / square,
        ),
    };
    let around = cross(by, v);
    let inwards = cross(by, around);
    std::array::from_fn(|i| v[i] + along * around[i] + across * inwards[i])
}
