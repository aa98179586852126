//! The change of a pose: a rotation and a shift.

use splatcore_core::Camera;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::linear::{quaternion_from_rotation, quaternion_product};

/// Below this angle a rotation's vector is taken from the first terms of its series.
const TINY: f64 = 1e-8;

/// From one pose of a camera to another: the camera is turned about its place and shifted, both in
/// world axes.
#[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Offset {
    /// Unit quaternion (w, x, y, z).
    pub rotation: [f64; 4],
    /// World units.
    pub shift: [f64; 3],
}

impl Offset {
    /// Leaves a camera as it is.
    pub const NONE: Self = Self {
        rotation: [1.0, 0.0, 0.0, 0.0],
        shift: [0.0; 3],
    };

    /// The camera there. Its rotation is a product of two: nothing adds up over the steps.
    pub fn of(&self, camera: &Camera) -> Camera {
        if *self == Self::NONE {
            return camera.clone();
        }
        let turn = self.matrix();
        let position = self.position(camera);
        let rotation: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| (0..3).map(|k| camera.rotation[i][k] * turn[j][k]).sum())
        });
        Camera {
            rotation,
            translation: rotation.map(|row| -(0..3).map(|k| row[k] * position[k]).sum::<f64>()),
            ..camera.clone()
        }
    }

    /// From one camera to another.
    pub fn between(before: &Camera, after: &Camera) -> Self {
        let (from, to) = (before.position(), after.position());
        // World axes: the one's rotation to view space and the other's back.
        let turn: [[f64; 3]; 3] = std::array::from_fn(|i| {
            std::array::from_fn(|j| {
                (0..3)
                    .map(|k| after.rotation[k][i] * before.rotation[k][j])
                    .sum()
            })
        });
        Self {
            rotation: quaternion_from_rotation(&turn),
            shift: std::array::from_fn(|k| to[k] - from[k]),
        }
    }

    /// Where the camera is then.
    pub fn position(&self, camera: &Camera) -> [f64; 3] {
        let eye = camera.position();
        std::array::from_fn(|k| eye[k] + self.shift[k])
    }

    /// The offset after a motion of the view space of the camera that it has made of `given`, as
    /// [`splatcore_core::PoseGradient`] has it: rotation, then translation.
    pub fn moved(&self, given: &Camera, motion: [f64; 6]) -> Self {
        let [a, b, c, x, y, z] = motion;
        let view = |camera: &Camera, v: [f64; 3]| -> [f64; 3] {
            std::array::from_fn(|j| -(0..3).map(|i| camera.rotation[i][j] * v[i]).sum::<f64>())
        };
        let turned = self.turned(view(&self.of(given), [a, b, c]));
        let by = view(&turned.of(given), [x, y, z]);
        Self {
            shift: std::array::from_fn(|k| turned.shift[k] + by[k]),
            ..turned
        }
    }

    /// Followed by the rotation by a vector (axis times angle, world axes).
    pub fn turned(&self, by: [f64; 3]) -> Self {
        self.followed_by(exponential(by))
    }

    /// Followed by the rotation of a unit quaternion, world axes.
    pub(super) fn followed_by(&self, rotation: [f64; 4]) -> Self {
        Self {
            rotation: product(rotation, self.rotation),
            ..*self
        }
    }

    /// Radians from 0 to pi.
    pub fn angle(&self) -> f64 {
        norm(self.vector())
    }

    /// World units.
    pub fn distance(&self) -> f64 {
        norm(self.shift)
    }

    /// The rotation as a vector, axis times angle.
    pub fn vector(&self) -> [f64; 3] {
        let [w, x, y, z] = match self.rotation[0] < 0.0 {
            true => self.rotation.map(|v| -v),
            false => self.rotation,
        };
        let sine = norm([x, y, z]);
        let scale = match sine < TINY {
            true => 2.0,
            false => 2.0 * sine.atan2(w) / sine,
        };
        [x, y, z].map(|v| scale * v)
    }

    /// The same along the way that is no more than this angle and distance away.
    pub fn within(&self, angle: f64, distance: f64) -> Self {
        let mut cut = *self;
        if self.angle() > angle {
            let share = angle / self.angle();
            cut.rotation = exponential(self.vector().map(|v| share * v));
        }
        if self.distance() > distance {
            let share = distance / self.distance();
            cut.shift = self.shift.map(|v| share * v);
        }
        cut
    }

    /// A vector after the rotation alone.
    pub fn rotated(&self, v: [f64; 3]) -> [f64; 3] {
        let turn = self.matrix();
        turn.map(|row| (0..3).map(|k| row[k] * v[k]).sum())
    }

    pub(super) fn matrix(&self) -> [[f64; 3]; 3] {
        // Always of a unit quaternion.
        rotation_from_quaternion(self.rotation).unwrap_or([
            [1.0, 0.0, 0.0],
            [0.0, 1.0, 0.0],
            [0.0, 0.0, 1.0],
        ])
    }
}

/// The unit quaternion of a rotation's vector.
pub(super) fn exponential(by: [f64; 3]) -> [f64; 4] {
    let angle = norm(by);
    let scale = match angle < TINY {
        true => 0.5,
        false => (0.5 * angle).sin() / angle,
    };
    unit([
        (0.5 * angle).cos(),
        scale * by[0],
        scale * by[1],
        scale * by[2],
    ])
}

/// The rotation by `b`, then by `a`; of length 1 however often it is called.
fn product(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    unit(quaternion_product(a, b))
}

fn unit(q: [f64; 4]) -> [f64; 4] {
    let length = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    q.map(|v| v / length)
}

pub(super) fn norm(v: [f64; 3]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}
