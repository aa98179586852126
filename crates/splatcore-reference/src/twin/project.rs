//! `project`: a 3D Gaussian becomes a 2D one on the image, with a depth, an opacity and a colour.
//!
//! Sources: Zwicker et al. 2002, "EWA Splatting" (the local affine approximation); Kerbl et al.
//! 2023, section 4 and its rasterizer (clamp, low-pass, radius).

use super::along_ray::AlongRay;
use super::matrix::{product, transpose};
use super::scene::Scene;
use super::unscented::Unscented;
use splatcore_core::camera::{Camera, normalize, rotation_from_quaternion};
use splatcore_core::lens::Projection;
use splatcore_core::semantics::{FRUSTUM_CLAMP, LOW_PASS};
use splatcore_core::sh;

/// A projected Gaussian.
#[derive(Clone, Debug, PartialEq)]
pub struct Splat {
    /// Row in the scene.
    pub index: usize,
    /// View-space z; through a fisheye the distance from the camera.
    pub depth: f64,
    /// Centre in pixels; the centre of the first pixel is (0.5, 0.5).
    pub mean: [f64; 2],
    /// Covariance in square pixels, low-pass included: xx, xy, yy.
    pub covariance: [f64; 3],
    /// Inverse of the covariance: xx, xy, yy.
    pub conic: [f64; 3],
    /// 3 sigma of the longer axis, pixels, before rounding up.
    pub three_sigma: f64,
    /// After the sigmoid, times `compensation`.
    pub opacity: f64,
    /// What [`super::antialias`] multiplied the opacity by; 1 without it.
    pub compensation: f64,
    /// Towards this camera, clamped below at 0.
    pub colour: [f64; 3],
    /// Whether a channel was clamped.
    pub colour_clamped: [bool; 3],
    /// Spherical-harmonics degree that the colour used.
    pub sh_degree: u8,
    /// What its depth along the ray of a pixel follows from.
    pub along_ray: AlongRay,
}

/// Projects Gaussian `i`; `None` when its centre is at or before the near plane, when the lens does
/// not see it, or when its numbers give no ellipse (zero quaternion, overflow).
pub fn project(
    scene: &Scene,
    i: usize,
    camera: &Camera,
    near_plane: f64,
    sh_degree: u8,
) -> Option<Splat> {
    let t = camera.to_view(scene.means[i]);
    let shape = Shape::new(scene.log_scales[i], scene.rotations[i])?;
    let Outline {
        depth,
        mean,
        covariance,
    } = match camera.is_pinhole() {
        true => ewa(t, &shape, camera, near_plane),
        false => through_lens(t, &shape, camera, near_plane),
    }?;
    let (a, b, c) = (
        covariance[0][0] + LOW_PASS,
        covariance[0][1],
        covariance[1][1] + LOW_PASS,
    );
    let determinant = a * c - b * b;
    if !(determinant > 0.0 && determinant.is_finite()) {
        return None;
    }
    // The larger eigenvalue; the floor of 0.1 under the root is INRIA's.
    let middle = 0.5 * (a + c);
    let largest = middle + (middle * middle - determinant).max(0.1).sqrt();
    let unclamped = colour(scene, i, camera, sh_degree);
    Some(Splat {
        index: i,
        depth,
        mean,
        covariance: [a, b, c],
        conic: [c / determinant, -b / determinant, a / determinant],
        three_sigma: 3.0 * largest.sqrt(),
        opacity: sigmoid(scene.opacity_logits[i]),
        compensation: 1.0,
        colour: unclamped.map(|v| v.max(0.0)),
        colour_clamped: unclamped.map(|v| v < 0.0),
        sh_degree,
        along_ray: AlongRay::new(&shape.rotation, shape.scales, t, camera),
    })
}

/// Where a Gaussian is in the image, without the low pass.
struct Outline {
    depth: f64,
    mean: [f64; 2],
    covariance: [[f64; 2]; 2],
}

/// EWA splatting, of a pinhole.
fn ewa(t: [f64; 3], shape: &Shape, camera: &Camera, near_plane: f64) -> Option<Outline> {
    let m = product(&jacobian(t, camera).rows, &camera.rotation);
    (t[2] > near_plane).then(|| Outline {
        depth: t[2],
        mean: [
            camera.fx * t[0] / t[2] + camera.cx,
            camera.fy * t[1] / t[2] + camera.cy,
        ],
        covariance: product(&product(&m, &shape.covariance), &transpose(&m)),
    })
}

/// The unscented transform, through any lens that is a polynomial.
fn through_lens(t: [f64; 3], shape: &Shape, camera: &Camera, near_plane: f64) -> Option<Outline> {
    let projection = Projection::new(camera)?;
    let depth = projection.depth(t);
    if depth.is_nan() || depth <= near_plane || !projection.sees_centre(t) {
        return None;
    }
    let axes = product(&camera.rotation, &shape.factor);
    let unscented = Unscented::new(&projection, t, &axes)?;
    Some(Outline {
        depth,
        mean: unscented.mean,
        covariance: unscented.covariance,
    })
}

/// A Gaussian's shape in world axes.
pub struct Shape {
    /// Rotation R of its own axes to the world.
    pub rotation: [[f64; 3]; 3],
    /// Standard deviations.
    pub scales: [f64; 3],
    /// N = R diag(scales).
    pub factor: [[f64; 3]; 3],
    /// Sigma = N Nᵀ.
    pub covariance: [[f64; 3]; 3],
}

impl Shape {
    /// `None` for a zero quaternion.
    pub fn new(log_scales: [f64; 3], quaternion: [f64; 4]) -> Option<Self> {
        let rotation = rotation_from_quaternion(quaternion)?;
        let scales = log_scales.map(f64::exp);
        let factor = rotation.map(|row| std::array::from_fn(|k| row[k] * scales[k]));
        let covariance = product(&factor, &transpose(&factor));
        Some(Self {
            rotation,
            scales,
            factor,
            covariance,
        })
    }
}

/// The derivative of the projection at a view-space point, with the point pulled into the widened
/// frustum.
pub struct Jacobian {
    /// d(pixel x, pixel y) / d(view x, y, z).
    pub rows: [[f64; 3]; 2],
    /// x/z and y/z after the clamp.
    pub ratios: [f64; 2],
    /// Whether the clamp changed them.
    pub clamped: [bool; 2],
}

/// J of EWA splatting at view-space point `t`; far off axis it would explode, hence the clamp.
pub fn jacobian(t: [f64; 3], camera: &Camera) -> Jacobian {
    let limits = camera.tan_half_fov().map(|tan| FRUSTUM_CLAMP * tan);
    let exact = [t[0] / t[2], t[1] / t[2]];
    let ratios = [0, 1].map(|k| exact[k].clamp(-limits[k], limits[k]));
    let z = t[2];
    Jacobian {
        rows: [
            [camera.fx / z, 0.0, -camera.fx * ratios[0] / z],
            [0.0, camera.fy / z, -camera.fy * ratios[1] / z],
        ],
        ratios,
        clamped: [0, 1].map(|k| exact[k].abs() > limits[k]),
    }
}

/// Spherical harmonics in the direction from the camera to the Gaussian, plus 0.5, not clamped.
pub fn colour(scene: &Scene, i: usize, camera: &Camera, sh_degree: u8) -> [f64; 3] {
    let basis = sh::basis(view_direction(scene.means[i], camera));
    let used = &scene.sh_of(i)[..sh::coefficients(sh_degree)];
    std::array::from_fn(|c| 0.5 + used.iter().zip(basis).map(|(k, b)| k[c] * b).sum::<f64>())
}

/// Unit vector from the camera to the Gaussian, world axes.
pub fn view_direction(mean: [f64; 3], camera: &Camera) -> [f64; 3] {
    let eye = camera.position();
    normalize(std::array::from_fn(|k| mean[k] - eye[k])).unwrap_or([0.0, 0.0, 1.0])
}

/// The logistic function.
pub fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}
