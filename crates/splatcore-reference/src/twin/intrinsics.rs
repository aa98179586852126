//! The other way through `project`: from a splat's gradients to those of the camera's intrinsics.
//! Sums over all splats are the gradient ([`splatcore_core::IntrinsicsGradient`] has the units).

use super::blend_backward::SplatGradient;
use super::matrix::{product, transpose};
use super::project::{Shape, Splat, jacobian};
use super::project_backward::covariance_gradient;
use super::scene::Scene;
use super::unscented::Unscented;
use splatcore_core::lens::Projection;
use splatcore_core::{Camera, IntrinsicsGradient};

type Numbers = [f64; IntrinsicsGradient::NUMBERS];

/// What one splat adds.
pub fn intrinsics_backward(
    scene: &Scene,
    splat: &Splat,
    camera: &Camera,
    gradient: &SplatGradient,
) -> Numbers {
    let i = splat.index;
    let Some(shape) = Shape::new(scene.log_scales[i], scene.rotations[i]) else {
        return [0.0; IntrinsicsGradient::NUMBERS];
    };
    let t = camera.to_view(scene.means[i]);
    let d_covariance = covariance_gradient(splat, gradient);
    let mut numbers = match camera.is_pinhole() {
        true => ewa(t, &shape, camera, gradient.mean, &d_covariance),
        false => through_lens(t, &shape, camera, gradient.mean, &d_covariance)
            .unwrap_or([0.0; IntrinsicsGradient::NUMBERS]),
    };
    numbers[2] *= f64::from(camera.width);
    numbers[3] *= f64::from(camera.height);
    numbers
}

/// u = fx x/z + cx, and row (fx/z, 0, -fx r/z) of the Jacobian with r = x/z, where that is not
/// clamped: the limit is in pixels, so fx r is constant there.
fn ewa(
    t: [f64; 3],
    shape: &Shape,
    camera: &Camera,
    d_mean: [f64; 2],
    d_covariance: &[[f64; 2]; 2],
) -> Numbers {
    let jacobian = jacobian(t, camera);
    let m = product(&jacobian.rows, &camera.rotation);
    let d_m = product(&product(d_covariance, &m), &shape.covariance);
    let d_jacobian = product(&d_m, &transpose(&camera.rotation)).map(|row| row.map(|v| 2.0 * v));
    let mut numbers = [0.0; IntrinsicsGradient::NUMBERS];
    for (k, focal) in [camera.fx, camera.fy].into_iter().enumerate() {
        numbers[k] = d_mean[k] * focal * t[k] / t[2] + d_jacobian[k][k] * focal / t[2];
        if !jacobian.clamped[k] {
            numbers[k] -= d_jacobian[k][2] * focal * jacobian.ratios[k] / t[2];
        }
        numbers[2 + k] = d_mean[k];
    }
    numbers
}

fn through_lens(
    t: [f64; 3],
    shape: &Shape,
    camera: &Camera,
    d_mean: [f64; 2],
    d_covariance: &[[f64; 2]; 2],
) -> Option<Numbers> {
    let projection = Projection::new(camera)?;
    let axes = product(&camera.rotation, &shape.factor);
    let unscented = Unscented::new(&projection, t, &axes)?;
    Some(unscented.intrinsics(&projection, d_mean, d_covariance))
}
