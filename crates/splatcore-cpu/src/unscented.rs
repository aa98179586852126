//! `project` and `project_backward` through a lens: the unscented transform
//! ([`splatcore_core::lens::Unscented`]), in f64 and a Gaussian after another; all around it works
//! on lanes. Twin: `splatcore_reference::twin`, `unscented.rs`.

use crate::camera::KernelCamera;
use crate::place::{Place, PlaceGradient};
use crate::simd::Lanes;
use splatcore_core::IntrinsicsGradient;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::lens::{Projection, Unscented};
use splatcore_core::semantics::{COMPENSATION_MIN, LOW_PASS};

/// Places and shapes of Gaussians whose columns are as in `geometry`; the determinant of those that
/// the lens does not see is 0.
pub(crate) fn project<L: Lanes>(
    columns: &[L; 10],
    projection: &Projection,
    camera: &KernelCamera,
) -> Place<L> {
    let rows = rows(columns);
    // u, v, xx, xy, yy, determinant, depth, log2 of the 2D filter's factor.
    let mut fields = [[0.0f32; 16]; 8];
    for (lane, row) in rows.iter().enumerate().take(L::WIDTH) {
        let Some(splat) = through(row, projection, camera) else {
            continue;
        };
        let [xx, xy, yy] = splat.covariance;
        let determinant = (xx + LOW_PASS) * (yy + LOW_PASS) - xy * xy;
        let numbers = [
            splat.mean[0],
            splat.mean[1],
            xx + LOW_PASS,
            xy,
            yy + LOW_PASS,
            determinant,
            projection.depth(splat.view),
            0.5 * ratio(&splat).log2(),
        ];
        for (field, number) in fields.iter_mut().zip(numbers) {
            field[lane] = number as f32;
        }
    }
    let load = |i: usize| L::load(&fields[i]);
    Place {
        mean: [load(0), load(1)],
        projected: [load(2), load(3), load(4)],
        determinant: load(5),
        depth: load(6),
        log2_factor: load(7),
    }
}

/// Gradients, given those of the mean in pixels, of the projected covariance (xx xy yy, the
/// off-diagonal entry as one of two) and of ln opacity.
pub(crate) fn backward<L: Lanes>(
    columns: &[L; 10],
    projection: &Projection,
    camera: &KernelCamera,
    d_mean: &[L; 2],
    d_projected: &[L; 3],
    d_opacity: L,
) -> PlaceGradient<L> {
    // World, log scales, rotation.
    let mut fields = [[0.0f32; 16]; 15];
    each(
        columns,
        projection,
        camera,
        (d_mean, d_projected, d_opacity),
        |lane, splat, d_mean, d_covariance| {
            let numbers = of_row(splat, projection, camera, d_mean, d_covariance);
            for (field, number) in fields.iter_mut().zip(numbers) {
                field[lane] = number as f32;
            }
        },
    );
    let load = |i: usize| L::load(&fields[i]);
    let three = |i: usize| [load(i), load(i + 1), load(i + 2)];
    PlaceGradient {
        world: three(0),
        log_scales: three(3),
        rotation: [three(6), three(9), three(12)],
    }
}

/// Gradients of the intrinsics, a Gaussian a lane, from the same.
pub(crate) fn intrinsics<L: Lanes>(
    columns: &[L; 10],
    projection: &Projection,
    camera: &KernelCamera,
    d_mean: &[L; 2],
    d_projected: &[L; 3],
    d_opacity: L,
) -> [[f64; IntrinsicsGradient::NUMBERS]; 16] {
    let mut all = [[0.0; IntrinsicsGradient::NUMBERS]; 16];
    each(
        columns,
        projection,
        camera,
        (d_mean, d_projected, d_opacity),
        |lane, splat, d_mean, d_covariance| {
            all[lane] = splat.intrinsics(projection, d_mean, d_covariance);
        },
    );
    all
}

/// Gives each Gaussian that is seen, with the gradients of its mean and covariance, the 2D filter's
/// part among them.
fn each<L: Lanes>(
    columns: &[L; 10],
    projection: &Projection,
    camera: &KernelCamera,
    (d_mean, d_projected, d_opacity): (&[L; 2], &[L; 3], L),
    mut give: impl FnMut(usize, &Unscented, [f64; 2], [f64; 3]),
) {
    let rows = rows(columns);
    let [u, v] = d_mean.map(store);
    let [xx, xy, yy] = d_projected.map(store);
    let opacity = store(d_opacity);
    for (lane, row) in rows.iter().enumerate().take(L::WIDTH) {
        let Some(splat) = through(row, projection, camera) else {
            continue;
        };
        let mut d_covariance = [xx[lane], xy[lane], yy[lane]].map(f64::from);
        if camera.antialias {
            add_compensation(&splat, f64::from(opacity[lane]), &mut d_covariance);
        }
        let d_mean = [f64::from(u[lane]), f64::from(v[lane])];
        give(lane, &splat, d_mean, d_covariance);
    }
}

/// A Gaussian's row a lane.
fn rows<L: Lanes>(columns: &[L; 10]) -> [[f64; 10]; 16] {
    let mut rows = [[0.0; 10]; 16];
    for (i, column) in columns.iter().enumerate() {
        for (row, value) in rows.iter_mut().zip(store(*column)) {
            row[i] = f64::from(value);
        }
    }
    rows
}

fn store<L: Lanes>(lanes: L) -> [f32; 16] {
    let mut values = [0.0f32; 16];
    lanes.store(&mut values);
    values
}

/// The splat of a Gaussian's row; `None` if the camera or the lens does not see it.
fn through(row: &[f64; 10], projection: &Projection, camera: &KernelCamera) -> Option<Unscented> {
    let w = camera.rotation.map(|row| row.map(f64::from));
    let place = |i: usize| w[i][0] * row[0] + w[i][1] * row[1] + w[i][2] * row[2];
    let view = std::array::from_fn(|i| place(i) + f64::from(camera.translation[i]));
    let depth = projection.depth(view);
    if depth.is_nan() || depth <= f64::from(camera.near) {
        return None;
    }
    let rotation = rotation_from_quaternion([row[6], row[7], row[8], row[9]])?;
    let scales = [row[3], row[4], row[5]].map(f64::exp);
    Unscented::new(projection, &w, view, &rotation, scales)
}

/// Gradients of the mean in world axes, the log scales and the rotation matrix, in that order.
fn of_row(
    splat: &Unscented,
    projection: &Projection,
    camera: &KernelCamera,
    d_mean: [f64; 2],
    d_covariance: [f64; 3],
) -> [f64; 15] {
    let w = camera.rotation.map(|row| row.map(f64::from));
    let gradient = splat
        .backward(projection, d_mean, d_covariance)
        .in_world(&w);
    let mut out = [0.0; 15];
    out[..3].copy_from_slice(&gradient.mean);
    for (k, axis) in gradient.axes.iter().enumerate() {
        for i in 0..3 {
            out[3 + k] += axis[i] * splat.rotation[i][k] * splat.scales[k];
            out[6 + 3 * i + k] = axis[i] * splat.scales[k];
        }
    }
    out
}

/// Square of the 2D filter's factor: det C / det (C + 0.3 I), from its floor to 1.
fn ratio(splat: &Unscented) -> f64 {
    let [xx, xy, yy] = splat.covariance;
    let with = (xx + LOW_PASS) * (yy + LOW_PASS) - xy * xy;
    ((xx * yy - xy * xy) / with).max(COMPENSATION_MIN)
}

/// Adds the part of the covariance's gradient that comes by way of that factor:
/// d ln sqrt(det C / det C') = (C^-1 - C'^-1) / 2.
fn add_compensation(splat: &Unscented, d_opacity: f64, d_covariance: &mut [f64; 3]) {
    if ratio(splat) <= COMPENSATION_MIN {
        return;
    }
    let inverse = |[xx, xy, yy]: [f64; 3]| {
        let determinant = xx * yy - xy * xy;
        [yy, -xy, xx].map(|v| v / determinant)
    };
    let [xx, xy, yy] = splat.covariance;
    let without = inverse([xx, xy, yy]);
    let with = inverse([xx + LOW_PASS, xy, yy + LOW_PASS]);
    for k in 0..3 {
        d_covariance[k] += 0.5 * d_opacity * (without[k] - with[k]);
    }
}
