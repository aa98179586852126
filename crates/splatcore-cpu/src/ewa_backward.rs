//! `project_backward` of a pinhole: from the gradients of a splat's place and shape through EWA
//! splatting to those of its Gaussian. A Gaussian a lane.

use crate::antialias::Pull;
use crate::camera::KernelCamera;
use crate::geometry::{Geometry, symmetric_times};
use crate::place::PlaceGradient;
use crate::simd::{Lanes, dot3};

/// Gradients, given those of the mean in pixels and of the projected covariance (xx xy yy, the
/// off-diagonal entry as one of two); `pull` of the 2D filter, if there is one.
#[inline(always)]
pub(crate) fn backward<L: Lanes>(
    d_mean: &[L; 2],
    d_projected: &[L; 3],
    g: &Geometry<L>,
    camera: &KernelCamera,
    pull: Option<&Pull<L>>,
) -> PlaceGradient<L> {
    let d_transformed = times_transform(d_projected, g);
    let d_view = view_gradient(d_mean, &d_transformed, g, camera, pull);
    let d_covariance = covariance_gradient(&d_transformed, g);
    let (rotation, log_scales) = shape_gradient(&d_covariance, g, pull);
    PlaceGradient {
        world: world_gradient(&d_view, camera),
        rotation,
        log_scales,
    }
}

/// dP T with T = J W, a row for each row of T.
#[inline(always)]
fn times_transform<L: Lanes>(d_projected: &[L; 3], g: &Geometry<L>) -> [[L; 3]; 2] {
    let [u, v] = g.transform;
    let mut pu = [L::splat(0.0); 3];
    let mut pv = [L::splat(0.0); 3];
    for j in 0..3 {
        pu[j] = d_projected[0].mul_add(u[j], d_projected[1] * v[j]);
        pv[j] = d_projected[1].mul_add(u[j], d_projected[2] * v[j]);
    }
    [pu, pv]
}

/// projected = T S Tᵀ + low pass: dS = Tᵀ dP T, xx xy xz yy yz zz.
#[inline(always)]
fn covariance_gradient<L: Lanes>([pu, pv]: &[[L; 3]; 2], g: &Geometry<L>) -> [L; 6] {
    let [u, v] = g.transform;
    let mut d_covariance = [L::splat(0.0); 6];
    for (k, (i, j)) in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
        .into_iter()
        .enumerate()
    {
        d_covariance[k] = u[i].mul_add(pu[j], v[i] * pv[j]);
    }
    d_covariance
}

/// dL/d(intrinsics): ln fx, ln fy, and the principal point in pixels.
#[inline(always)]
pub(crate) fn intrinsics<L: Lanes>(
    d_mean: &[L; 2],
    d_projected: &[L; 3],
    g: &Geometry<L>,
    camera: &KernelCamera,
    pull: Option<&Pull<L>>,
) -> [L; 4] {
    let d_j = jacobian_gradient(&times_transform(d_projected, g), g, camera);
    let mut out = [L::splat(0.0), L::splat(0.0), d_mean[0], d_mean[1]];
    for i in 0..2 {
        let diagonal = L::splat(camera.focal[i]) * g.inverse_z;
        let ratio = g.clamped[i] * g.inverse_z;
        // Where x/z is at its limit, f x/z is a number of pixels.
        out[i] = d_mean[i] * diagonal * g.view[i] + d_j[2 * i] * diagonal
            - d_j[2 * i + 1] * diagonal * ratio * g.free[i];
        if let Some(pull) = pull {
            let held = (L::splat(1.0) - g.free[i]) * ratio * pull.ratios[i];
            // det C is in proportion to fx² fy².
            out[i] = out[i] - (pull.inverse + pull.inverse) - held;
        }
    }
    out
}

/// Of J's entries that are not 0, row by row: dT = 2 dP T S, T = J W.
#[inline(always)]
fn jacobian_gradient<L: Lanes>(
    [pu, pv]: &[[L; 3]; 2],
    g: &Geometry<L>,
    camera: &KernelCamera,
) -> [L; 4] {
    let d_u = twice(symmetric_times(&g.covariance, pu));
    let d_v = twice(symmetric_times(&g.covariance, pv));
    let w = &camera.rotation;
    let axis = [constant3(w[0]), constant3(w[1]), constant3(w[2])];
    [
        dot3(&d_u, &axis[0]),
        dot3(&d_u, &axis[2]),
        dot3(&d_v, &axis[1]),
        dot3(&d_v, &axis[2]),
    ]
}

/// dL/d(view-space position): by way of the mean in pixels and of J.
#[inline(always)]
fn view_gradient<L: Lanes>(
    d_mean: &[L; 2],
    d_transformed: &[[L; 3]; 2],
    g: &Geometry<L>,
    camera: &KernelCamera,
    pull: Option<&Pull<L>>,
) -> [L; 3] {
    // J = [fx/z 0 -fx x/z²; 0 fy/z -fy y/z²]; x and y clamped to a multiple of z where they are not
    // free.
    let z = g.inverse_z;
    let (fx, fy) = (L::splat(camera.focal[0]) * z, L::splat(camera.focal[1]) * z);
    let d_j = jacobian_gradient(d_transformed, g, camera);
    let mut d_view = [L::splat(0.0); 3];
    let jx = -(d_j[1] * fx * z);
    let jy = -(d_j[3] * fy * z);
    d_view[0] = jx * g.free[0] + d_mean[0] * fx;
    d_view[1] = jy * g.free[1] + d_mean[1] * fy;
    // d(-f x/z²)/dz is 2 f x/z³ when x is free and f x/z³ when x follows z.
    let one = L::splat(1.0);
    d_view[2] = -(d_j[0] * fx * z)
        - d_j[2] * fy * z
        - (one + g.free[0]) * jx * g.clamped[0] * z
        - (one + g.free[1]) * jy * g.clamped[1] * z
        - d_mean[0] * fx * g.view[0] * z
        - d_mean[1] * fy * g.view[1] * z;
    if let Some(pull) = pull {
        for j in 0..3 {
            d_view[j] = d_view[j] + pull.view[j];
        }
    }
    d_view
}

/// A gradient in view axes, in world axes.
#[inline(always)]
fn world_gradient<L: Lanes>(d_view: &[L; 3], camera: &KernelCamera) -> [L; 3] {
    let w = &camera.rotation;
    let mut d_world = [L::splat(0.0); 3];
    for j in 0..3 {
        d_world[j] = d_view[0].mul_add(
            L::splat(w[0][j]),
            d_view[1].mul_add(L::splat(w[1][j]), d_view[2] * L::splat(w[2][j])),
        );
    }
    d_world
}

/// Gradients of the rotation matrix and of the log scales: S = M Mᵀ, M = R diag(scale), dM = 2 dS
/// M.
#[inline(always)]
fn shape_gradient<L: Lanes>(
    d_covariance: &[L; 6],
    g: &Geometry<L>,
    pull: Option<&Pull<L>>,
) -> ([[L; 3]; 3], [L; 3]) {
    let mut d_rotation = [[L::splat(0.0); 3]; 3];
    let mut d_log_scales = [L::splat(0.0); 3];
    for j in 0..3 {
        let column = [
            g.rotation[0][j] * g.scales[j],
            g.rotation[1][j] * g.scales[j],
            g.rotation[2][j] * g.scales[j],
        ];
        let d_column = twice(symmetric_times(d_covariance, &column));
        for i in 0..3 {
            d_log_scales[j] = d_column[i].mul_add(column[i], d_log_scales[j]);
            d_rotation[i][j] = d_column[i] * g.scales[j];
        }
    }
    if let Some(pull) = pull {
        for j in 0..3 {
            d_log_scales[j] = d_log_scales[j] + pull.log_scales[j];
            for i in 0..3 {
                d_rotation[i][j] = d_rotation[i][j] + pull.rotation[i][j];
            }
        }
    }
    (d_rotation, d_log_scales)
}

#[inline(always)]
fn constant3<L: Lanes>(v: [f32; 3]) -> [L; 3] {
    [L::splat(v[0]), L::splat(v[1]), L::splat(v[2])]
}

#[inline(always)]
fn twice<L: Lanes>(v: [L; 3]) -> [L; 3] {
    [v[0] + v[0], v[1] + v[1], v[2] + v[2]]
}
