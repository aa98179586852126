//! The part of `project` that `project_backward` repeats: from a Gaussian to its projected
//! covariance.

use crate::camera::KernelCamera;
use crate::scene::Scene;
use crate::simd::{Lanes, Rows, dot3, load_columns};
use splatcore_core::semantics::LOW_PASS;
use std::f32::consts::LOG2_E;

/// Geometry shared by `project` and `project_backward`, a Gaussian a lane.
pub(crate) struct Geometry<L> {
    /// View-space position.
    pub view: [L; 3],
    /// x and y as the Jacobian uses them, after the clamp.
    pub clamped: [L; 2],
    /// Whether x or y was inside the clamp.
    pub free: [L; 2],
    /// 1 / z.
    pub inverse_z: L,
    /// Normalised quaternion.
    pub quaternion: [L; 4],
    /// 1 / length of the stored quaternion.
    pub inverse_norm: L,
    /// Rotation matrix of the Gaussian, row-major.
    pub rotation: [[L; 3]; 3],
    /// Standard deviations.
    pub scales: [L; 3],
    /// World-space covariance: xx xy xz yy yz zz.
    pub covariance: [L; 6],
    /// J W, 2x3.
    pub transform: [[L; 3]; 2],
    /// Projected covariance with the low pass: xx xy yy.
    pub projected: [L; 3],
    /// Its determinant.
    pub determinant: L,
}

/// Rows `columns[..]` hold means 0..3, log scales 3..6, quaternion 6..10.
#[inline(always)]
pub(crate) fn geometry<L: Lanes>(columns: &[L; 10], camera: &KernelCamera) -> Geometry<L> {
    let view = view_position([columns[0], columns[1], columns[2]], camera);
    let inverse_z = L::splat(1.0) / view[2];
    let (clamped, free) = clamp(&view, inverse_z, camera);

    let stored = [columns[6], columns[7], columns[8], columns[9]];
    let (quaternion, inverse_norm) = normalise(stored);
    let rotation = rotation_matrix(quaternion);
    let log2e = L::splat(LOG2_E);
    let scales = [
        (columns[3] * log2e).exp2(),
        (columns[4] * log2e).exp2(),
        (columns[5] * log2e).exp2(),
    ];
    let covariance = covariance(&rotation, &scales);

    let transform = transform(inverse_z, &clamped, camera);
    let projected = project_covariance(&covariance, &transform);
    Geometry {
        view,
        clamped,
        free,
        inverse_z,
        quaternion,
        inverse_norm,
        rotation,
        scales,
        covariance,
        transform,
        projected,
        determinant: determinant(&projected),
    }
}

/// A world position in view space.
#[inline(always)]
fn view_position<L: Lanes>([x, y, z]: [L; 3], camera: &KernelCamera) -> [L; 3] {
    let w = &camera.rotation;
    let mut view = [L::splat(0.0); 3];
    for i in 0..3 {
        let sum = z.mul_add(L::splat(w[i][2]), L::splat(camera.translation[i]));
        view[i] = x.mul_add(L::splat(w[i][0]), y.mul_add(L::splat(w[i][1]), sum));
    }
    view
}

/// x and y as the Jacobian uses them, and 1 where the clamp left them as they are.
#[inline(always)]
fn clamp<L: Lanes>(view: &[L; 3], inverse_z: L, camera: &KernelCamera) -> ([L; 2], [L; 2]) {
    let mut clamped = [L::splat(0.0); 2];
    let mut free = [L::splat(0.0); 2];
    for i in 0..2 {
        let limit = L::splat(camera.clamp[i]);
        let ratio = view[i] * inverse_z;
        clamped[i] = ratio.max(-limit).min(limit) * view[2];
        free[i] = L::splat(1.0).where_set(limit.ge(ratio) & ratio.ge(-limit));
    }
    (clamped, free)
}

/// A quaternion at unit length, and 1 / its length.
#[inline(always)]
fn normalise<L: Lanes>(q: [L; 4]) -> ([L; 4], L) {
    let norm = q[0].mul_add(q[0], q[1].mul_add(q[1], q[2].mul_add(q[2], q[3] * q[3])));
    let inverse_norm = L::splat(1.0) / norm.max(L::splat(1e-30)).sqrt();
    let unit = [
        q[0] * inverse_norm,
        q[1] * inverse_norm,
        q[2] * inverse_norm,
        q[3] * inverse_norm,
    ];
    (unit, inverse_norm)
}

/// The rotation matrix of a unit quaternion, row-major.
#[inline(always)]
fn rotation_matrix<L: Lanes>([qw, qx, qy, qz]: [L; 4]) -> [[L; 3]; 3] {
    let (one, two) = (L::splat(1.0), L::splat(2.0));
    [
        [
            one - two * qy.mul_add(qy, qz * qz),
            two * qx.mul_add(qy, -(qw * qz)),
            two * qx.mul_add(qz, qw * qy),
        ],
        [
            two * qx.mul_add(qy, qw * qz),
            one - two * qx.mul_add(qx, qz * qz),
            two * qy.mul_add(qz, -(qw * qx)),
        ],
        [
            two * qx.mul_add(qz, -(qw * qy)),
            two * qy.mul_add(qz, qw * qx),
            one - two * qx.mul_add(qx, qy * qy),
        ],
    ]
}

/// R S S Rᵀ in world axes: xx xy xz yy yz zz.
#[inline(always)]
fn covariance<L: Lanes>(rotation: &[[L; 3]; 3], scales: &[L; 3]) -> [L; 6] {
    let mut m = [[L::splat(0.0); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            m[i][j] = rotation[i][j] * scales[j];
        }
    }
    [
        dot3(&m[0], &m[0]),
        dot3(&m[0], &m[1]),
        dot3(&m[0], &m[2]),
        dot3(&m[1], &m[1]),
        dot3(&m[1], &m[2]),
        dot3(&m[2], &m[2]),
    ]
}

/// J W: the Jacobian of the projection times the camera's rotation.
#[inline(always)]
fn transform<L: Lanes>(inverse_z: L, clamped: &[L; 2], camera: &KernelCamera) -> [[L; 3]; 2] {
    let w = &camera.rotation;
    let mut transform = [[L::splat(0.0); 3]; 2];
    for i in 0..2 {
        let diagonal = L::splat(camera.focal[i]) * inverse_z;
        let off = -(diagonal * clamped[i] * inverse_z);
        for j in 0..3 {
            transform[i][j] = diagonal.mul_add(L::splat(w[i][j]), off * L::splat(w[2][j]));
        }
    }
    transform
}

/// T S Tᵀ with the low pass: xx xy yy.
#[inline(always)]
fn project_covariance<L: Lanes>(covariance: &[L; 6], [u, v]: &[[L; 3]; 2]) -> [L; 3] {
    let cu = symmetric_times(covariance, u);
    let cv = symmetric_times(covariance, v);
    let low_pass = L::splat(LOW_PASS as f32);
    [
        dot3(u, &cu) + low_pass,
        dot3(u, &cv),
        dot3(v, &cv) + low_pass,
    ]
}

/// The determinant of a symmetric 2x2 matrix (xx xy yy), with the rounding error of the product
/// given back (Kahan).
#[inline(always)]
fn determinant<L: Lanes>(projected: &[L; 3]) -> L {
    let product = projected[1] * projected[1];
    let error = projected[1].mul_add(projected[1], -product);
    projected[0].mul_add(projected[2], -product) - error
}

/// A symmetric 3x3 matrix (xx xy xz yy yz zz) times a vector.
#[inline(always)]
pub(crate) fn symmetric_times<L: Lanes>(s: &[L; 6], v: &[L; 3]) -> [L; 3] {
    [
        s[0].mul_add(v[0], s[1].mul_add(v[1], s[2] * v[2])),
        s[1].mul_add(v[0], s[3].mul_add(v[1], s[4] * v[2])),
        s[2].mul_add(v[0], s[4].mul_add(v[1], s[5] * v[2])),
    ]
}

/// Loads the ten geometry columns of `WIDTH` Gaussians.
#[inline(always)]
pub(crate) fn load_geometry<L: Lanes>(scene: &Scene<'_>, rows: &Rows) -> [L; 10] {
    let mut columns = [L::splat(0.0); 10];
    load_columns(scene.means, 3, rows, 3, &mut columns[0..3]);
    load_columns(scene.log_scales, 3, rows, 3, &mut columns[3..6]);
    load_columns(scene.rotations, 4, rows, 4, &mut columns[6..10]);
    columns
}
