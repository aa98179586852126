//! `project` and `project_backward` through a lens: the unscented transform (Wu et al. 2025,
//! "3DGUT"), in f64 and a Gaussian after another; all around it works on lanes. Twin:
//! `splatcore_reference::twin`, `unscented.rs`.

use crate::camera::KernelCamera;
use crate::place::{Place, PlaceGradient};
use crate::simd::Lanes;
use splatcore_core::IntrinsicsGradient;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::lens::Projection;
use splatcore_core::semantics::{
    COMPENSATION_MIN, LOW_PASS, SIGMA_CENTRE_WEIGHT, SIGMA_SPREAD, SIGMA_WEIGHT,
};
use std::array::from_fn;

/// A Gaussian and its sigma points.
struct Sigma {
    /// Mean in camera axes.
    view: [f64; 3],
    rotation: [[f64; 3]; 3],
    scales: [f64; 3],
    /// In camera axes: the mean, then plus and minus each axis.
    points: [[f64; 3]; 7],
    /// Where they land, pixels.
    pixels: [[f64; 2]; 7],
    /// Weighted mean of the pixels.
    mean: [f64; 2],
    /// Their covariance xx, xy, yy, without the low pass.
    covariance: [f64; 3],
}

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
        let Some(sigma) = Sigma::new(row, projection, camera) else {
            continue;
        };
        let [xx, xy, yy] = sigma.covariance;
        let determinant = (xx + LOW_PASS) * (yy + LOW_PASS) - xy * xy;
        let numbers = [
            sigma.mean[0],
            sigma.mean[1],
            xx + LOW_PASS,
            xy,
            yy + LOW_PASS,
            determinant,
            projection.depth(sigma.view),
            0.5 * sigma.ratio().log2(),
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
        |lane, sigma, d_mean, d_covariance| {
            let numbers = sigma.backward(projection, camera, d_mean, d_covariance);
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
        |lane, sigma, d_mean, d_covariance| {
            all[lane] = sigma.intrinsics(projection, d_mean, d_covariance);
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
    mut give: impl FnMut(usize, &Sigma, [f64; 2], [f64; 3]),
) {
    let rows = rows(columns);
    let [u, v] = d_mean.map(store);
    let [xx, xy, yy] = d_projected.map(store);
    let opacity = store(d_opacity);
    for (lane, row) in rows.iter().enumerate().take(L::WIDTH) {
        let Some(sigma) = Sigma::new(row, projection, camera) else {
            continue;
        };
        let mut d_covariance = [xx[lane], xy[lane], yy[lane]].map(f64::from);
        if camera.antialias {
            sigma.add_compensation(f64::from(opacity[lane]), &mut d_covariance);
        }
        let d_mean = [f64::from(u[lane]), f64::from(v[lane])];
        give(lane, &sigma, d_mean, d_covariance);
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

/// Of each point, in mean and covariance.
fn weights(point: usize) -> (f64, f64) {
    match point {
        0 => (0.0, SIGMA_CENTRE_WEIGHT),
        _ => (SIGMA_WEIGHT, SIGMA_WEIGHT),
    }
}

impl Sigma {
    /// `None` if the camera or the lens does not see it.
    fn new(row: &[f64; 10], projection: &Projection, camera: &KernelCamera) -> Option<Self> {
        let w = camera.rotation.map(|row| row.map(f64::from));
        let view = from_fn(|i| {
            w[i][0] * row[0]
                + w[i][1] * row[1]
                + w[i][2] * row[2]
                + f64::from(camera.translation[i])
        });
        let depth = projection.depth(view);
        if depth.is_nan() || depth <= f64::from(camera.near) || !projection.sees_centre(view) {
            return None;
        }
        let rotation = rotation_from_quaternion([row[6], row[7], row[8], row[9]])?;
        let scales = [row[3], row[4], row[5]].map(f64::exp);
        let mut points = [view; 7];
        for k in 0..3 {
            for i in 0..3 {
                let turned =
                    w[i][0] * rotation[0][k] + w[i][1] * rotation[1][k] + w[i][2] * rotation[2][k];
                let axis = SIGMA_SPREAD * scales[k] * turned;
                points[1 + 2 * k][i] += axis;
                points[2 + 2 * k][i] -= axis;
            }
        }
        if !points.iter().all(|&at| projection.sees_sigma_point(at)) {
            return None;
        }
        let centre = projection.project(view);
        let pixels = points.map(|at| projection.beside(projection.project(at), centre));
        let mean = from_fn(|i| (0..7).map(|p| weights(p).0 * pixels[p][i]).sum());
        let mut covariance = [0.0; 3];
        for (p, pixel) in pixels.iter().enumerate() {
            let weight = weights(p).1;
            let [x, y]: [f64; 2] = from_fn(|i| pixel[i] - mean[i]);
            covariance[0] += weight * x * x;
            covariance[1] += weight * x * y;
            covariance[2] += weight * y * y;
        }
        Some(Self {
            view,
            rotation,
            scales,
            points,
            pixels,
            mean,
            covariance,
        })
    }

    /// Square of the 2D filter's factor: det C / det (C + 0.3 I), from its floor to 1.
    fn ratio(&self) -> f64 {
        let [xx, xy, yy] = self.covariance;
        let with = (xx + LOW_PASS) * (yy + LOW_PASS) - xy * xy;
        ((xx * yy - xy * xy) / with).max(COMPENSATION_MIN)
    }

    /// Adds the part of the covariance's gradient that comes by way of that factor:
    /// d ln sqrt(det C / det C') = (C^-1 - C'^-1) / 2.
    fn add_compensation(&self, d_opacity: f64, d_covariance: &mut [f64; 3]) {
        if self.ratio() <= COMPENSATION_MIN {
            return;
        }
        let inverse = |[xx, xy, yy]: [f64; 3]| {
            let determinant = xx * yy - xy * xy;
            [yy, -xy, xx].map(|v| v / determinant)
        };
        let [xx, xy, yy] = self.covariance;
        let without = inverse([xx, xy, yy]);
        let with = inverse([xx + LOW_PASS, xy, yy + LOW_PASS]);
        for k in 0..3 {
            d_covariance[k] += 0.5 * d_opacity * (without[k] - with[k]);
        }
    }

    /// Gradients of where the points land.
    fn pixel_gradients(&self, d_mean: [f64; 2], [xx, xy, yy]: [f64; 3]) -> [[f64; 2]; 7] {
        let times = |[x, y]: [f64; 2]| [xx * x + xy * y, xy * x + yy * y];
        // By the covariance, the mean of the pixels moves as all of them do; of their weighted
        // distances from it only the centre's is left.
        let off = |p: usize| [0, 1].map(|i| self.pixels[p][i] - self.mean[i]);
        let moved = times(off(0).map(|v| SIGMA_CENTRE_WEIGHT * v));
        let of_mean = [0, 1].map(|i| d_mean[i] - 2.0 * moved[i]);
        from_fn(|p| {
            let (in_mean, in_covariance) = weights(p);
            let spread = times(off(p));
            [0, 1].map(|i| in_mean * of_mean[i] + 2.0 * in_covariance * spread[i])
        })
    }

    /// Gradients of the intrinsics: ln fx, ln fy, the principal point in pixels, and the lens's
    /// coefficients.
    fn intrinsics(
        &self,
        projection: &Projection,
        d_mean: [f64; 2],
        d_covariance: [f64; 3],
    ) -> [f64; IntrinsicsGradient::NUMBERS] {
        let mut out = [0.0; IntrinsicsGradient::NUMBERS];
        let d_pixels = self.pixel_gradients(d_mean, d_covariance);
        for (p, d) in d_pixels.into_iter().enumerate() {
            let d = projection.with_time_held(self.points[p], d);
            for i in 0..2 {
                out[i] += d[i] * (self.pixels[p][i] - projection.centre[i]);
                out[2 + i] += d[i];
            }
            let terms = projection.by_coefficients(self.points[p]);
            for (out, [x, y]) in out[4..].iter_mut().zip(terms) {
                *out += d[0] * x + d[1] * y;
            }
        }
        out
    }

    /// Gradients of the mean in world axes, the log scales and the rotation matrix, in that order.
    fn backward(
        &self,
        projection: &Projection,
        camera: &KernelCamera,
        d_mean: [f64; 2],
        d_covariance: [f64; 3],
    ) -> [f64; 15] {
        let d_pixels = self.pixel_gradients(d_mean, d_covariance);
        let (mut d_view, mut d_axes) = ([0.0; 3], [[0.0; 3]; 3]);
        for (p, d) in d_pixels.into_iter().enumerate() {
            let (_, rows) = projection.jacobian(self.points[p]);
            for i in 0..3 {
                let along = d[0] * rows[0][i] + d[1] * rows[1][i];
                d_view[i] += along;
                match p {
                    0 => {}
                    _ if p % 2 == 1 => d_axes[i][(p - 1) / 2] += SIGMA_SPREAD * along,
                    _ => d_axes[i][(p - 1) / 2] -= SIGMA_SPREAD * along,
                }
            }
        }
        let w = camera.rotation.map(|row| row.map(f64::from));
        let to_world = |v: [f64; 3]| from_fn(|j| w[0][j] * v[0] + w[1][j] * v[1] + w[2][j] * v[2]);
        let world: [f64; 3] = to_world(d_view);
        let mut out = [0.0; 15];
        out[..3].copy_from_slice(&world);
        for k in 0..3 {
            let axis: [f64; 3] = to_world([d_axes[0][k], d_axes[1][k], d_axes[2][k]]);
            for i in 0..3 {
                out[3 + k] += axis[i] * self.rotation[i][k] * self.scales[k];
                out[6 + 3 * i + k] = axis[i] * self.scales[k];
            }
        }
        out
    }
}
