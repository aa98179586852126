//! `project_backward`: from a splat's gradients to those of the Gaussian's parameters.

use super::antialias::{self, logit_gradient};
use super::blend_backward::SplatGradient;
use super::matrix::{product, transpose, transpose_times};
use super::project::{Jacobian, Shape, Splat, jacobian, view_direction};
use super::scene::Scene;
use super::unscented::Unscented;
use splatcore_core::Camera;
use splatcore_core::lens::Projection;
use splatcore_core::sh;
use std::array::from_fn;

/// Adds the gradient of one splat to row `splat.index` of `out`.
pub fn project_backward(
    scene: &Scene,
    splat: &Splat,
    camera: &Camera,
    gradient: &SplatGradient,
    out: &mut Scene,
) {
    let i = splat.index;
    let Some(shape) = Shape::new(scene.log_scales[i], scene.rotations[i]) else {
        return;
    };
    let t = camera.to_view(scene.means[i]);

    let d_covariance = covariance_gradient(splat, gradient);
    let outline = match camera.is_pinhole() {
        true => ewa_backward(t, &shape, camera, gradient.mean, &d_covariance),
        false => lens_backward(t, &shape, camera, gradient.mean, &d_covariance),
    };
    let Some((d_t, d_factor)) = outline else {
        return;
    };
    let from_view = transpose_times(&camera.rotation, d_t);
    // N = R S.
    let d_rotation: [[f64; 3]; 3] =
        d_factor.map(|row| std::array::from_fn(|k| row[k] * shape.scales[k]));
    for k in 0..3 {
        let d_scale: f64 = (0..3).map(|r| d_factor[r][k] * shape.rotation[r][k]).sum();
        out.log_scales[i][k] += d_scale * shape.scales[k];
    }
    let d_quaternion = quaternion_gradient(scene.rotations[i], &d_rotation);
    for k in 0..4 {
        out.rotations[i][k] += d_quaternion[k];
    }
    out.opacity_logits[i] += logit_gradient(scene, splat, gradient);
    let through_colour = colour_backward(scene, splat, camera, gradient, out);
    for k in 0..3 {
        out.means[i][k] += from_view[k] + through_colour[k];
    }
}

/// dL/dC of the splat's covariance, the 2D filter's part among it. Conic Q = C^-1: dL/dC = -Q dL/dQ
/// Q, all symmetric; the coefficient xy stands for two equal entries.
pub fn covariance_gradient(splat: &Splat, gradient: &SplatGradient) -> [[f64; 2]; 2] {
    let [qa, qb, qc] = splat.conic;
    let q = [[qa, qb], [qb, qc]];
    let [ga, gb, gc] = gradient.conic;
    let d_q = [[ga, gb / 2.0], [gb / 2.0, gc]];
    let through_conic = product(&product(&q, &d_q), &q);
    let through_opacity = antialias::covariance_gradient(splat, gradient);
    from_fn(|i| from_fn(|j| through_opacity[i][j] - through_conic[i][j]))
}

/// dL/d(view-space position) and dL/dN with Sigma = N Nᵀ.
type OfOutline = Option<([f64; 3], [[f64; 3]; 3])>;

fn ewa_backward(
    t: [f64; 3],
    shape: &Shape,
    camera: &Camera,
    d_mean: [f64; 2],
    d_covariance: &[[f64; 2]; 2],
) -> OfOutline {
    // C = M Sigma Mᵀ with M = J W: dL/dSigma = Mᵀ G M, dL/dM = 2 G M Sigma, dL/dJ = dL/dM Wᵀ.
    let jacobian = jacobian(t, camera);
    let m = product(&jacobian.rows, &camera.rotation);
    let d_sigma = product(&product(&transpose(&m), d_covariance), &m);
    let d_m =
        product(&product(d_covariance, &m), &shape.covariance).map(|row| row.map(|v| 2.0 * v));
    let d_jacobian = product(&d_m, &transpose(&camera.rotation));
    let d_t = view_gradient(t, d_mean, &d_jacobian, &jacobian, camera);
    // dL/dN = 2 dL/dSigma N.
    let d_factor = product(&d_sigma, &shape.factor).map(|row| row.map(|v| 2.0 * v));
    Some((d_t, d_factor))
}

fn lens_backward(
    t: [f64; 3],
    shape: &Shape,
    camera: &Camera,
    d_mean: [f64; 2],
    d_covariance: &[[f64; 2]; 2],
) -> OfOutline {
    let projection = Projection::new(camera)?;
    let axes = product(&camera.rotation, &shape.factor);
    let unscented = Unscented::new(&projection, t, &axes)?;
    let gradient = unscented.backward(&projection, d_mean, d_covariance);
    let d_factor = product(&transpose(&camera.rotation), &gradient.axes);
    Some((gradient.mean, d_factor))
}

/// The derivative of a splat's depth by its mean, world axes.
pub fn depth_gradient(mean: [f64; 3], camera: &Camera) -> [f64; 3] {
    match camera.is_pinhole() {
        true => camera.forward(),
        false => Projection::new(camera).map_or([0.0; 3], |projection| {
            let by_view = projection.depth_gradient(camera.to_view(mean));
            transpose_times(&camera.rotation, by_view)
        }),
    }
}

/// dL/d(view-space position), by way of the splat's centre and of the Jacobian.
fn view_gradient(
    t: [f64; 3],
    d_mean: [f64; 2],
    d_jacobian: &[[f64; 3]; 2],
    jacobian: &Jacobian,
    camera: &Camera,
) -> [f64; 3] {
    let z = t[2];
    // Centre: u = fx x/z + cx. Jacobian row: (f/z, -f r/z) with r = x/z, constant where clamped.
    let focal = [camera.fx, camera.fy];
    let mut d_t = [0.0; 3];
    for k in 0..2 {
        let f = focal[k];
        d_t[k] += d_mean[k] * f / z;
        d_t[2] -= d_mean[k] * f * t[k] / (z * z);
        let d_ratio = -d_jacobian[k][2] * f / z;
        if !jacobian.clamped[k] {
            d_t[k] += d_ratio / z;
            d_t[2] -= d_ratio * t[k] / (z * z);
        }
        d_t[2] -= d_jacobian[k][k] * f / (z * z);
        d_t[2] += d_jacobian[k][2] * f * jacobian.ratios[k] / (z * z);
    }
    d_t
}

/// Adds the gradients of the harmonics to `out`; returns the gradient of the mean by way of the
/// direction that the colour depends on.
fn colour_backward(
    scene: &Scene,
    splat: &Splat,
    camera: &Camera,
    gradient: &SplatGradient,
    out: &mut Scene,
) -> [f64; 3] {
    let i = splat.index;
    // Clamped channels are constant.
    let d_colour: [f64; 3] = from_fn(|c| {
        if splat.colour_clamped[c] {
            0.0
        } else {
            gradient.colour[c]
        }
    });
    let direction = view_direction(scene.means[i], camera);
    let (basis, slopes) = (sh::basis(direction), sh::basis_gradient(direction));
    let (used, all) = (sh::coefficients(splat.sh_degree), scene.coefficients());
    let mut d_direction = [0.0; 3];
    for k in 0..used {
        for c in 0..3 {
            out.sh[i * all + k][c] += d_colour[c] * basis[k];
            for axis in 0..3 {
                d_direction[axis] += d_colour[c] * scene.sh_of(i)[k][c] * slopes[k][axis];
            }
        }
    }
    // The direction is (mean - eye) at unit length: only what is across it counts.
    let eye = camera.position();
    let length = (0..3)
        .map(|k| (scene.means[i][k] - eye[k]).powi(2))
        .sum::<f64>()
        .sqrt();
    let along: f64 = (0..3).map(|k| d_direction[k] * direction[k]).sum();
    from_fn(|k| (d_direction[k] - along * direction[k]) / length)
}

/// dL/dq of a quaternion of any length, given dL/dR of the rotation matrix of the normalised one.
pub fn quaternion_gradient(q: [f64; 4], d: &[[f64; 3]; 3]) -> [f64; 4] {
    let norm = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    let unit = q.map(|v| v / norm);
    let [w, x, y, z] = unit;
    let d_unit = [
        2.0 * (x * (d[2][1] - d[1][2]) + y * (d[0][2] - d[2][0]) + z * (d[1][0] - d[0][1])),
        2.0 * (y * (d[0][1] + d[1][0]) + z * (d[0][2] + d[2][0]) + w * (d[2][1] - d[1][2])
            - 2.0 * x * (d[1][1] + d[2][2])),
        2.0 * (x * (d[0][1] + d[1][0]) + z * (d[1][2] + d[2][1]) + w * (d[0][2] - d[2][0])
            - 2.0 * y * (d[0][0] + d[2][2])),
        2.0 * (x * (d[0][2] + d[2][0]) + y * (d[1][2] + d[2][1]) + w * (d[1][0] - d[0][1])
            - 2.0 * z * (d[0][0] + d[1][1])),
    ];
    let along: f64 = (0..4).map(|k| d_unit[k] * unit[k]).sum();
    std::array::from_fn(|k| (d_unit[k] - along * unit[k]) / norm)
}
