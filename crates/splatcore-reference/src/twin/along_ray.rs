//! Depth of a Gaussian along the ray of a pixel (Radl et al. 2024, "StopThePop").

use super::matrix::product;
use splatcore_core::Camera;
use splatcore_core::precision::SINGLE;

/// Standard deviations below this count as this for depths (the paper bounds the entries of the
/// inverse scales by 1000).
const MIN_SCALE: f64 = 1e-3;
/// Roundings of f32 in a projected centre, and in a chain of operations of a depth.
pub const ROUNDINGS: f64 = 8.0;

/// Where a splat's centre is.
#[derive(Clone, Copy, Debug)]
pub struct SplatCentre {
    /// In the image.
    pub mean: [f64; 2],
    /// View-space z.
    pub depth: f64,
}

/// A Gaussian as rays through pixels see it: in coordinates of its own in which it is a unit
/// sphere's.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AlongRay {
    /// From a pixel (x, y, 1) to the direction of its ray, view-space z 1.
    direction: [[f64; 3]; 3],
    /// Its mean, from the eye.
    mean: [f64; 3],
    /// Size of the terms that its view-space mean is the sum of.
    reach: f64,
    /// Of the terms that its projected mean is the sum of, pixels.
    pub centre_terms: [f64; 2],
}

impl AlongRay {
    /// Of a Gaussian with this rotation to the world, these standard deviations, and this mean in
    /// view space.
    pub fn new(
        rotation: &[[f64; 3]; 3],
        scales: [f64; 3],
        view: [f64; 3],
        camera: &Camera,
    ) -> Self {
        // Columns are its axes.
        let axes = product(&camera.rotation, rotation);
        let rows: [[f64; 3]; 3] =
            std::array::from_fn(|k| std::array::from_fn(|i| axes[i][k] / scales[k].max(MIN_SCALE)));
        let reach = camera.translation.iter().fold(view[2], |m, t| m + t.abs());
        Self {
            direction: rows.map(|[x, y, z]| {
                let (x, y) = (x / camera.fx, y / camera.fy);
                [x, y, z - x * camera.cx - y * camera.cy]
            }),
            mean: rows.map(|row| dot(row, view)),
            reach,
            centre_terms: [
                camera.fx * reach / view[2] + camera.cx.abs(),
                camera.fy * reach / view[2] + camera.cy.abs(),
            ],
        }
    }

    /// View-space z of the point at which the Gaussian is largest on the ray through a point of the
    /// image: t = dᵀ Σ⁻¹ μ / dᵀ Σ⁻¹ d for the ray t d.
    pub fn depth(&self, point: [f64; 2]) -> f64 {
        let d = self
            .direction
            .map(|row| dot(row, [point[0], point[1], 1.0]));
        dot(d, self.mean) / dot(d, d)
    }

    /// How far f32 may be from it, to first order, if the point relative to the splat's centre is
    /// off by `shift` pixels. A backend works with the Cholesky factor U of the quadratic form,
    /// over its last entry: with e = U (x, y, 1) and h the same at the splat's centre, depth is z
    /// (1 + h·e) / (1 + e·e).
    pub fn error(&self, splat: SplatCentre, point: [f64; 2], shift: [f64; 2]) -> f64 {
        let column = |i: usize| self.direction.map(|row| row[i]);
        let [x, y, w] = [column(0), column(1), column(2)];
        let u00 = dot(x, x).sqrt();
        let (u01, u02) = (dot(x, y) / u00, dot(x, w) / u00);
        let u11 = (dot(y, y) - u01 * u01).max(0.0).sqrt();
        let u12 = (dot(y, w) - u01 * u02) / u11;
        let u22 = (dot(w, w) - u02 * u02 - u12 * u12).max(0.0).sqrt();
        let [u00, u01, u02, u11, u12] = [u00, u01, u02, u11, u12].map(|u| u / u22);
        let along = |[x, y]: [f64; 2]| [u00 * x + u01 * y + u02, u11 * y + u12];
        let (e, h) = (along(point), along(splat.mean));
        let d = [0, 1].map(|k| point[k] - splat.mean[k]);
        let off = ROUNDINGS * SINGLE;
        // The mean in view space is off by more than its size where terms cancel.
        let of_h = off * (1.0 + h[0] * h[0] + h[1] * h[1]).sqrt() * self.reach / splat.depth;
        let errors = [
            of_h + off * ((u00 * d[0]).abs() + (u01 * d[1]).abs())
                + u00.abs() * shift[0]
                + u01.abs() * shift[1],
            of_h + off * (u11 * d[1]).abs() + u11.abs() * shift[1],
        ];
        let (above, below) = (
            1.0 + h[0] * e[0] + h[1] * e[1],
            1.0 + e[0] * e[0] + e[1] * e[1],
        );
        let slope = |k: usize| (h[k] * below - 2.0 * e[k] * above) / (below * below);
        let of_terms = |k: usize| slope(k).abs() * errors[k] + of_h * e[k].abs() / below;
        let error = splat.depth * (of_terms(0) + of_terms(1) + off * above.abs() / below);
        let error = off * self.reach + error;
        if error.is_nan() { f64::INFINITY } else { error }
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::camera::rotation_from_quaternion;

    fn camera() -> Camera {
        Camera::look_at([0.3, -0.5, -4.0], [0.1; 3], [0.1, -1.0, 0.0], 0.9, 64, 48)
    }

    /// Against a search along the ray: the density in world axes, at points of growing depth.
    #[test]
    fn depth_is_where_the_gaussian_is_largest() {
        let camera = camera();
        let (mean, scales) = ([0.4, -0.2, 0.3], [0.02, 0.5, 0.9]);
        let rotation = rotation_from_quaternion([0.4, -0.3, 0.8, 0.2]).unwrap();
        let along = AlongRay::new(&rotation, scales, camera.to_view(mean), &camera);
        for point in [[20.0, 17.5], [33.2, 25.1], [50.5, 8.5]] {
            let ray = [
                (point[0] - camera.cx) / camera.fx,
                (point[1] - camera.cy) / camera.fy,
                1.0,
            ];
            let square = |depth: f64| {
                let view = [0, 1, 2].map(|i| depth * ray[i] - camera.to_view(mean)[i]);
                // From the camera's axes to the world's, and on to the Gaussian's.
                let world: [f64; 3] =
                    std::array::from_fn(|i| (0..3).map(|j| camera.rotation[j][i] * view[j]).sum());
                let along = |k: usize| (0..3).map(|i| rotation[i][k] * world[i]).sum::<f64>();
                (0..3).map(|k| (along(k) / scales[k]).powi(2)).sum::<f64>()
            };
            let best = (1..400_000)
                .map(|i| i as f64 * 1e-4)
                .min_by(|a, b| square(*a).total_cmp(&square(*b)))
                .unwrap();
            let depth = along.depth(point);
            assert!((depth - best).abs() < 1e-4, "{point:?}: {depth} {best}");
        }
    }

    /// Turned about its eye, a camera sees the same points at the same distances.
    #[test]
    fn distance_does_not_depend_on_where_the_camera_looks() {
        let (eye, up) = ([0.3, -0.5, -4.0], [0.0, -1.0, 0.0]);
        let rotation = rotation_from_quaternion([0.4, -0.3, 0.8, 0.2]).unwrap();
        let (mean, scales, target) = ([0.4, -0.2, 0.3], [0.02, 0.5, 0.9], [0.1, 0.2, 0.7]);
        let distance = |towards: [f64; 3]| {
            let camera = Camera::look_at(eye, towards, up, 0.9, 64, 48);
            let along = AlongRay::new(&rotation, scales, camera.to_view(mean), &camera);
            let [x, y, z] = camera.to_view(target);
            let ray = [x / z, y / z];
            let point = [
                camera.fx * ray[0] + camera.cx,
                camera.fy * ray[1] + camera.cy,
            ];
            along.depth(point) * (1.0 + ray[0] * ray[0] + ray[1] * ray[1]).sqrt()
        };
        let ahead = distance([0.0; 3]);
        for towards in [[1.0, 0.0, 0.0], [-0.5, 0.8, 0.3]] {
            assert!((distance(towards) - ahead).abs() < 1e-12 * ahead);
        }
    }
}
