//! The splat of a Gaussian through a lens by the unscented transform (Wu et al. 2025, "3DGUT"), in
//! f64, and its gradients: what `splatcore-cpu` and `splatcore-tensors` project with. On a card it
//! is ops/shared/unscented.cuh, in f32.

use super::Projection;
use crate::IntrinsicsGradient;
use crate::semantics::{SIGMA_CENTRE_WEIGHT, SIGMA_SPREAD, SIGMA_WEIGHT};
use std::array::from_fn;

/// A Gaussian, its sigma points and the splat that they make.
#[derive(Clone, Debug)]
pub struct Unscented {
    /// Its mean in camera axes (x right, y down, z forward).
    pub view: [f64; 3],
    /// Its rotation, whose columns are its axes in the world.
    pub rotation: [[f64; 3]; 3],
    /// Its standard deviations along them, world units.
    pub scales: [f64; 3],
    /// In camera axes: the mean, then plus and minus each axis.
    points: [[f64; 3]; 7],
    /// Where they land, pixels.
    pixels: [[f64; 2]; 7],
    /// Weighted mean of the pixels.
    pub mean: [f64; 2],
    /// Their covariance xx, xy, yy in square pixels, without a low pass.
    pub covariance: [f64; 3],
}

/// Gradients of a Gaussian's mean and of its axes times its scales (`axes[k]`: axis k).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnscentedGradient {
    /// Of the mean.
    pub mean: [f64; 3],
    /// Of each axis, as long as its scale.
    pub axes: [[f64; 3]; 3],
}

impl UnscentedGradient {
    /// From camera axes to those of the world.
    pub fn in_world(&self, world_to_camera: &[[f64; 3]; 3]) -> Self {
        let w = world_to_camera;
        let to_world = |v: [f64; 3]| from_fn(|j| w[0][j] * v[0] + w[1][j] * v[1] + w[2][j] * v[2]);
        Self {
            mean: to_world(self.mean),
            axes: self.axes.map(to_world),
        }
    }
}

/// Of each point, in mean and covariance.
fn weights(point: usize) -> (f64, f64) {
    match point {
        0 => (0.0, SIGMA_CENTRE_WEIGHT),
        _ => (SIGMA_WEIGHT, SIGMA_WEIGHT),
    }
}

impl Unscented {
    /// Of a Gaussian with its mean at `view` in camera axes. `None` if the lens does not see it, or
    /// it is not a number; the near plane is the caller's.
    pub fn new(
        projection: &Projection,
        world_to_camera: &[[f64; 3]; 3],
        view: [f64; 3],
        rotation: &[[f64; 3]; 3],
        scales: [f64; 3],
    ) -> Option<Self> {
        if !projection.sees_centre(view) {
            return None;
        }
        let w = world_to_camera;
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
            rotation: *rotation,
            scales,
            points,
            pixels,
            mean,
            covariance,
        })
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

    /// Gradients of the intrinsics in the order of [`IntrinsicsGradient`], the principal point in
    /// pixels, from those of the mean and of the covariance (the off-diagonal entry as one of two).
    pub fn intrinsics(
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

    /// Gradients of the Gaussian in camera axes, from the same.
    pub fn backward(
        &self,
        projection: &Projection,
        d_mean: [f64; 2],
        d_covariance: [f64; 3],
    ) -> UnscentedGradient {
        let d_pixels = self.pixel_gradients(d_mean, d_covariance);
        let (mut mean, mut axes) = ([0.0; 3], [[0.0; 3]; 3]);
        for (p, d) in d_pixels.into_iter().enumerate() {
            let (_, rows) = projection.jacobian(self.points[p]);
            for i in 0..3 {
                let along = d[0] * rows[0][i] + d[1] * rows[1][i];
                mean[i] += along;
                match p {
                    0 => {}
                    _ if p % 2 == 1 => axes[(p - 1) / 2][i] += SIGMA_SPREAD * along,
                    _ => axes[(p - 1) / 2][i] -= SIGMA_SPREAD * along,
                }
            }
        }
        UnscentedGradient { mean, axes }
    }
}
