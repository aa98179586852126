//! `project` through a lens: the unscented transform (Julier and Uhlmann 1997; Wu et al. 2025,
//! "3DGUT", section 4.1).
//!
//! A Gaussian is stood for by seven points: its mean, and one on either side of it along each of
//! its axes. Each goes through the lens as it is; mean and covariance of the seven pixels are
//! those of the splat. With alpha = 1 (docs/methods/lenses.md) the mean has the weight 0 among the
//! pixels' mean and 2 in the covariance.

use splatcore_core::IntrinsicsGradient;
use splatcore_core::lens::Projection;
use splatcore_core::semantics::{SIGMA_CENTRE_WEIGHT, SIGMA_SPREAD, SIGMA_WEIGHT};
use std::array::from_fn;

/// Seven points and what they make.
pub struct Unscented {
    /// In camera axes: the mean, then plus and minus each axis.
    points: [[f64; 3]; 7],
    /// Where they land.
    pixels: [[f64; 2]; 7],
    /// Weighted mean of the pixels.
    pub mean: [f64; 2],
    /// Weighted covariance of the pixels, without the low pass.
    pub covariance: [[f64; 2]; 2],
}

/// Gradients with respect to what [`Unscented::new`] takes.
pub struct UnscentedGradient {
    /// Of the mean in camera axes.
    pub mean: [f64; 3],
    /// Of the axes, a column each.
    pub axes: [[f64; 3]; 3],
}

/// Weight in the mean and in the covariance.
fn weights(point: usize) -> (f64, f64) {
    match point {
        0 => (0.0, SIGMA_CENTRE_WEIGHT),
        _ => (SIGMA_WEIGHT, SIGMA_WEIGHT),
    }
}

impl Unscented {
    /// Of a Gaussian with its mean at `mean` in camera axes; column k of `axes` is its axis k
    /// there, one standard deviation long. `None` if the lens gives any of the points no place.
    pub fn new(projection: &Projection, mean: [f64; 3], axes: &[[f64; 3]; 3]) -> Option<Self> {
        let points = from_fn(|p| match p {
            0 => mean,
            _ => {
                let (k, sign) = ((p - 1) / 2, if p % 2 == 1 { 1.0 } else { -1.0 });
                from_fn(|r| mean[r] + sign * SIGMA_SPREAD * axes[r][k])
            }
        });
        if !points.iter().all(|&at| projection.sees_sigma_point(at)) {
            return None;
        }
        let centre = projection.project(mean);
        let pixels: [[f64; 2]; 7] =
            points.map(|at| projection.beside(projection.project(at), centre));
        let mean: [f64; 2] = from_fn(|i| (0..7).map(|p| weights(p).0 * pixels[p][i]).sum());
        let covariance = from_fn(|i| {
            from_fn(|j| {
                (0..7)
                    .map(|p| weights(p).1 * (pixels[p][i] - mean[i]) * (pixels[p][j] - mean[j]))
                    .sum()
            })
        });
        Some(Self {
            points,
            pixels,
            mean,
            covariance,
        })
    }

    /// Gradients of where the points land.
    fn pixel_gradients(&self, d_mean: [f64; 2], d_covariance: &[[f64; 2]; 2]) -> [[f64; 2]; 7] {
        let times = |v: [f64; 2]| d_covariance.map(|row| row[0] * v[0] + row[1] * v[1]);
        let from_mean = |p: usize| [0, 1].map(|i| self.pixels[p][i] - self.mean[i]);
        // By the covariance, the mean of the pixels moves as all of them do.
        let all: [f64; 2] = from_fn(|i| (0..7).map(|p| weights(p).1 * from_mean(p)[i]).sum());
        let of_mean: [f64; 2] = from_fn(|i| d_mean[i] - 2.0 * times(all)[i]);
        from_fn(|p| {
            let (in_mean, in_covariance) = weights(p);
            let spread = times(from_mean(p));
            from_fn(|i| in_mean * of_mean[i] + 2.0 * in_covariance * spread[i])
        })
    }

    /// Gradients of ln fx and ln fy, of the principal point in pixels, and of the lens's
    /// coefficients.
    pub fn intrinsics(
        &self,
        projection: &Projection,
        d_mean: [f64; 2],
        d_covariance: &[[f64; 2]; 2],
    ) -> [f64; IntrinsicsGradient::NUMBERS] {
        let mut out = [0.0; IntrinsicsGradient::NUMBERS];
        let d_pixels = self.pixel_gradients(d_mean, d_covariance);
        for (p, d_pixel) in d_pixels.into_iter().enumerate() {
            let d_pixel = projection.with_time_held(self.points[p], d_pixel);
            for i in 0..2 {
                // The pixel is f times something, and the principal point.
                out[i] += d_pixel[i] * (self.pixels[p][i] - projection.centre[i]);
                out[2 + i] += d_pixel[i];
            }
            let terms = projection.by_coefficients(self.points[p]);
            for (out, [x, y]) in out[4..].iter_mut().zip(terms) {
                *out += d_pixel[0] * x + d_pixel[1] * y;
            }
        }
        out
    }

    /// Back through the pixels and the lens. `d_covariance` is symmetric.
    pub fn backward(
        &self,
        projection: &Projection,
        d_mean: [f64; 2],
        d_covariance: &[[f64; 2]; 2],
    ) -> UnscentedGradient {
        let d_pixels = self.pixel_gradients(d_mean, d_covariance);
        let mut out = UnscentedGradient {
            mean: [0.0; 3],
            axes: [[0.0; 3]; 3],
        };
        for (p, d_pixel) in d_pixels.into_iter().enumerate() {
            let (_, rows) = projection.jacobian(self.points[p]);
            for r in 0..3 {
                let d = d_pixel[0] * rows[0][r] + d_pixel[1] * rows[1][r];
                out.mean[r] += d;
                if p > 0 {
                    let sign = if p % 2 == 1 { 1.0 } else { -1.0 };
                    out.axes[r][(p - 1) / 2] += sign * SIGMA_SPREAD * d;
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::camera::rotation_from_quaternion;
    use splatcore_core::random::Rng;
    use splatcore_core::{Camera, Lens};

    fn fisheye() -> Camera {
        Camera {
            fx: 60.0,
            fy: 63.0,
            lens: Lens::Fisheye {
                k: [0.02, -0.01, 0.004, -0.001],
                p: [0.0; 2],
                s: [0.0; 2],
            },
            ..Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 0.9, 160, 120)
        }
    }

    /// Against 100,000 points of a Gaussian, from the axis to the corner.
    #[test]
    fn mean_and_covariance_are_those_of_samples() {
        let projection = Projection::new(&fisheye()).unwrap();
        let rotation = rotation_from_quaternion([0.4, -0.3, 0.8, 0.2]).unwrap();
        for angle in [0.1f64, 0.7, 1.3] {
            let mean = [2.0 * angle.sin(), 0.4, 2.0 * angle.cos()];
            let axes = rotation.map(|row| [row[0] * 0.05, row[1] * 0.14, row[2] * 0.1]);
            let got = Unscented::new(&projection, mean, &axes).unwrap();
            let mut rng = Rng::new(3, 3);
            let count = 100_000;
            let (mut sum, mut square) = ([0.0; 2], [[0.0; 2]; 2]);
            for _ in 0..count {
                let n = [0; 3].map(|_| f64::from(rng.normal()));
                let at = from_fn(|r| mean[r] + (0..3).map(|k| axes[r][k] * n[k]).sum::<f64>());
                let pixel = projection.project(at);
                for i in 0..2 {
                    sum[i] += pixel[i] / count as f64;
                    for j in 0..2 {
                        let off = (pixel[i] - got.mean[i]) * (pixel[j] - got.mean[j]);
                        square[i][j] += off / count as f64;
                    }
                }
            }
            let size = (square[0][0] + square[1][1]).sqrt();
            for i in 0..2 {
                assert!((sum[i] - got.mean[i]).abs() < 0.01 * size, "{angle}");
                for j in 0..2 {
                    let off = (square[i][j] - got.covariance[i][j]).abs();
                    assert!(off < 0.02 * size * size, "{angle}: {square:?}");
                }
            }
        }
    }

    /// Of a map that is nearly affine it is the local affine approximation, as of the pinhole's.
    #[test]
    fn far_away_it_is_ewa() {
        let camera = Camera {
            lens: Lens::Pinhole,
            ..fisheye()
        };
        let projection = Projection::new(&camera).unwrap();
        let rotation = rotation_from_quaternion([0.4, -0.3, 0.8, 0.2]).unwrap();
        let axes = rotation.map(|row| [row[0] * 0.5, row[1] * 1.4, row[2]]);
        let mean = [300.0, -200.0, 1000.0];
        let got = Unscented::new(&projection, mean, &axes).unwrap();
        let (pixel, rows) = projection.jacobian(mean);
        for i in 0..2 {
            assert!((got.mean[i] - pixel[i]).abs() < 1e-3);
            for j in 0..2 {
                let along =
                    |i: usize, k: usize| (0..3).map(|r| rows[i][r] * axes[r][k]).sum::<f64>();
                let want: f64 = (0..3).map(|k| along(i, k) * along(j, k)).sum();
                assert!((got.covariance[i][j] - want).abs() < 1e-4 * 0.02, "{want}");
            }
        }
    }
}
