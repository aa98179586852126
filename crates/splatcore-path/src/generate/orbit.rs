//! A circle around a point.

use super::AROUND;
use crate::{CameraPath, Pose};

/// A circle, or a part of one, looked inwards from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Orbit {
    /// What the camera looks at.
    pub centre: [f64; 3],
    /// Unit vector that points up.
    pub up: [f64; 3],
    /// Two unit axes of the ground, perpendicular to `up` and each other; the camera starts above
    /// the first and moves towards the second.
    pub ground: [[f64; 3]; 2],
    /// Distance from the centre, scene units.
    pub distance: f64,
    /// Angle above the ground, radians.
    pub elevation: f64,
    /// Vertical field of view, radians.
    pub fov: f64,
    /// Radians from the start beyond which the camera does not go, where there is nothing to see
    /// from the other sides; none for a whole circle.
    pub arc: Option<f64>,
}

impl Orbit {
    /// The pose after a share of a loop, 0 to 1: once around, or along the arc and back.
    pub fn pose(&self, share: f64) -> Pose {
        let turn = share * std::f64::consts::TAU;
        self.at(match self.arc {
            None => turn,
            Some(arc) => arc * (0.5 - 0.5 * turn.cos()),
        })
    }

    /// Poses evenly apart: around the whole, or from one end of the arc to the other.
    pub fn poses(&self, count: usize) -> impl Iterator<Item = Pose> {
        let (all, steps) = match self.arc {
            None => (std::f64::consts::TAU, count.max(1)),
            Some(arc) => (arc, count.saturating_sub(1).max(1)),
        };
        (0..count).map(move |i| self.at(all * i as f64 / steps as f64))
    }

    /// The pose at an angle from the start, radians.
    fn at(&self, angle: f64) -> Pose {
        let [a, b] = self.ground;
        let (sin_e, cos_e) = self.elevation.sin_cos();
        let (sin, cos) = angle.sin_cos();
        let eye = std::array::from_fn(|k| {
            let outwards = cos_e * (cos * a[k] + sin * b[k]) + sin_e * self.up[k];
            self.centre[k] + self.distance * outwards
        });
        Pose::look_at(eye, self.centre, self.up, self.fov)
    }
}

/// A looped path once around, or along the arc and back.
pub fn orbit(orbit: &Orbit, seconds: f64) -> CameraPath {
    let poses: Vec<Pose> = (0..AROUND)
        .map(|i| orbit.pose(i as f64 / AROUND as f64))
        .collect();
    CameraPath::through(&poses, seconds, true)
}
