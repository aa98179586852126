//! The gradient of a scalar with respect to a camera's pose, from those of the Gaussians'
//! parameters.
//!
//! An image depends on scene and camera only by where the scene lies in view space, and on the
//! colours, which depend on the direction of view in world axes. So a small motion of view space
//! (the scene as the camera sees it) changes the image as the same motion of the scene does, with
//! one exception: to rotate the scene about the camera changes the directions of view, and so the
//! colours; to rotate the camera does not. The colours' part of each mean's gradient is therefore
//! left out of the rotation. Nothing of the projection is needed, whatever the lens, the filters or
//! the method of blending.

use crate::camera::{Camera, cross, dot};
use crate::gaussians::Gaussians;
use crate::sh;

/// dL/d(pose) of the motion `view' = exp(rotation) view + translation` in view space: the camera's
/// world-to-camera transform is followed by a small rotation (an axis times an angle in radians)
/// and a small translation (world units), both in view axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PoseGradient {
    /// Per radian about each view axis.
    pub rotation: [f64; 3],
    /// Per world unit along each view axis.
    pub translation: [f64; 3],
}

/// From the gradients of a scene's parameters in one camera ([`crate::Renderer::gradients`]) to the
/// gradient of the camera's pose; `sh_degree` of the harmonics was in use.
pub fn pose_gradient(
    scene: &Gaussians,
    gradients: &Gaussians,
    camera: &Camera,
    sh_degree: u8,
) -> PoseGradient {
    let degree = sh_degree.min(scene.sh_degree);
    let mut sums = PoseSums::new(camera, degree);
    for i in 0..scene.len() {
        let row = i * scene.coefficients();
        let harmonics = &scene.sh[row..row + sh::coefficients(degree)];
        sums.add(
            &PoseRow {
                mean: scene.means[i],
                rotation: scene.rotations[i],
                harmonics: harmonics.as_flattened(),
            },
            &PoseRow {
                mean: gradients.means[i],
                rotation: gradients.rotations[i],
                harmonics: &gradients.sh[row],
            },
        );
    }
    sums.finish(camera)
}

/// What of a Gaussian, or of its gradients, the pose's gradient depends on.
pub struct PoseRow<'a> {
    /// Mean, world.
    pub mean: [f32; 3],
    /// Quaternion (w, x, y, z).
    pub rotation: [f32; 4],
    /// Harmonics, `[coefficients][3]`; of gradients those of the first coefficient are enough.
    pub harmonics: &'a [f32],
}

/// [`pose_gradient`], Gaussian by Gaussian; the order of additions is the caller's.
#[derive(Clone, Copy, Debug)]
pub struct PoseSums {
    eye: [f64; 3],
    degree: u8,
    /// Of the scene's rotation about the camera's position, world axes.
    turned: [f64; 3],
    /// Of the scene's translation, world axes.
    moved: [f64; 3],
}

impl PoseSums {
    /// Of no Gaussian; `degree` of the harmonics is in use.
    pub fn new(camera: &Camera, degree: u8) -> Self {
        Self {
            eye: camera.position(),
            degree,
            turned: [0.0; 3],
            moved: [0.0; 3],
        }
    }

    /// Adds a Gaussian.
    pub fn add(&mut self, of: &PoseRow<'_>, gradients: &PoseRow<'_>) {
        let d_mean = gradients.mean.map(f64::from);
        let from_eye: [f64; 3] = std::array::from_fn(|k| f64::from(of.mean[k]) - self.eye[k]);
        let of_colour = direction_gradient(of, gradients, self.degree, from_eye);
        let geometric = std::array::from_fn(|k| d_mean[k] - of_colour[k]);
        let lever = cross(from_eye, geometric);
        let turn = quaternion_turn(of.rotation, gradients.rotation);
        for k in 0..3 {
            self.moved[k] += d_mean[k];
            self.turned[k] += lever[k] + turn[k];
        }
    }

    /// Adds the sums of other Gaussians in the same camera.
    pub fn merge(&mut self, others: &Self) {
        for k in 0..3 {
            self.turned[k] += others.turned[k];
            self.moved[k] += others.moved[k];
        }
    }

    /// The gradient.
    pub fn finish(&self, camera: &Camera) -> PoseGradient {
        // view = R (p - eye). A motion of view space by (w, v) moves the scene by the rotation
        // R^T w about the eye and the translation R^T v; a vector's gradient turns as the vector
        // does.
        let to_view = |v: [f64; 3]| camera.rotation.map(|row| dot(row, v));
        PoseGradient {
            rotation: to_view(self.turned),
            translation: to_view(self.moved),
        }
    }
}

/// The part of a mean's gradient that comes from the colour, by the direction of view.
fn direction_gradient(
    of: &PoseRow<'_>,
    gradients: &PoseRow<'_>,
    degree: u8,
    from_eye: [f64; 3],
) -> [f64; 3] {
    let length = dot(from_eye, from_eye).sqrt();
    if degree == 0 || length == 0.0 {
        return [0.0; 3];
    }
    let unit = from_eye.map(|v| v / length);
    // dL/dsh[k] = basis[k] dL/dcolour, and basis[0] is a constant.
    let d_colour: [f64; 3] = std::array::from_fn(|c| f64::from(gradients.harmonics[c]) / sh::C0);
    let slopes = sh::basis_gradient(unit);
    let mut d_unit = [0.0; 3];
    for k in 1..sh::coefficients(degree) {
        let along: f64 = (0..3)
            .map(|c| d_colour[c] * f64::from(of.harmonics[3 * k + c]))
            .sum();
        for axis in 0..3 {
            d_unit[axis] += along * slopes[k][axis];
        }
    }
    let outward = dot(d_unit, unit);
    std::array::from_fn(|k| (d_unit[k] - outward * unit[k]) / length)
}

/// dL/dw of a quaternion (w, x, y, z) under the rotation by w in world axes: q' = (1, w/2) q.
fn quaternion_turn(q: [f32; 4], gradient: [f32; 4]) -> [f64; 3] {
    let [w, x, y, z] = q.map(f64::from);
    let [gw, gx, gy, gz] = gradient.map(f64::from);
    [
        0.5 * (-x * gw + w * gx - z * gy + y * gz),
        0.5 * (-y * gw + z * gx + w * gy - x * gz),
        0.5 * (-z * gw - y * gx + x * gy + w * gz),
    ]
}
