//! A circle around a point.

use super::AROUND;
use crate::{CameraPath, Pose};

/// A circle, looked inwards from.
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
}

impl Orbit {
    /// The pose after a share of the way around, 0 to 1.
    pub fn pose(&self, share: f64) -> Pose {
        let [a, b] = self.ground;
        let (sin_e, cos_e) = self.elevation.sin_cos();
        let (sin, cos) = (share * std::f64::consts::TAU).sin_cos();
        let eye = std::array::from_fn(|k| {
            let outwards = cos_e * (cos * a[k] + sin * b[k]) + sin_e * self.up[k];
            self.centre[k] + self.distance * outwards
        });
        Pose::look_at(eye, self.centre, self.up, self.fov)
    }
}

/// A looped path once around.
pub fn orbit(orbit: &Orbit, seconds: f64) -> CameraPath {
    let poses: Vec<Pose> = (0..AROUND)
        .map(|i| orbit.pose(i as f64 / AROUND as f64))
        .collect();
    CameraPath::through(&poses, seconds, true)
}
