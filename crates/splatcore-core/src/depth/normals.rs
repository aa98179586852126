//! The normals of rendered depths, and how far they are from known ones.
//!
//! Of a plane the inverse depth q is linear in the pixels of a pinhole: for n . P = c and
//! P = r / q, with r the ray (x/z, y/z, 1), it is q = n . r / c. So with g the gradient of q over
//! the image, (u, v) the pixel and (cx, cy) the principal point,
//!
//! ```text
//! m = (fx g_u, fy g_v, q - (u - cx) g_u - (v - cy) g_v) = n / c
//! ```
//!
//! is along the plane's normal, exactly, away from the camera. g is of central differences.

use crate::Camera;
use crate::camera::dot;

/// The pixels that the normal of a pixel is of: itself, its neighbours to the left and right, above
/// and below.
pub const NEIGHBOURS: [[i32; 2]; 5] = [[0, 0], [-1, 0], [1, 0], [0, -1], [0, 1]];

/// A pinhole's pixels: focal lengths and principal point, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelRays {
    /// Along x and y.
    pub focal: [f64; 2],
    /// Along x and y.
    pub centre: [f64; 2],
}

impl PixelRays {
    /// Those of a camera, whose lens is left out.
    pub fn of(camera: &Camera) -> Self {
        Self {
            focal: [camera.fx, camera.fy],
            centre: [camera.cx, camera.cy],
        }
    }

    /// One minus the cosine between the normal of the inverse depths of [`NEIGHBOURS`] of a pixel
    /// and a known one (unit length, camera axes, towards the camera), and its derivatives by them.
    pub fn normal_loss(&self, pixel: [u32; 2], q: [f64; 5], known: [f32; 3]) -> [f64; 6] {
        let [from_x, from_y] = [0, 1].map(|k| f64::from(pixel[k]) + 0.5 - self.centre[k]);
        let (by_u, by_v) = (0.5 * (q[2] - q[1]), 0.5 * (q[4] - q[3]));
        let m = [
            self.focal[0] * by_u,
            self.focal[1] * by_v,
            q[0] - from_x * by_u - from_y * by_v,
        ];
        let length = dot(m, m).sqrt();
        if length.is_nan() || length <= 0.0 {
            return [0.0; 6];
        }
        // Both away from the camera.
        let off = [0, 1, 2].map(|k| -f64::from(known[k]) - m[k] / length);
        // As |a - b|^2 / 2 of unit vectors: 1 - cos without cancellation.
        let value = 0.5 * dot(off, off);
        let by_m = [0, 1, 2].map(|k| -(off[k] + value * m[k] / length) / length);
        let of_u = 0.5 * (self.focal[0] * by_m[0] - from_x * by_m[2]);
        let of_v = 0.5 * (self.focal[1] * by_m[1] - from_y * by_m[2]);
        [value, by_m[2], -of_u, of_u, -of_v, of_v]
    }
}

/// The inverse depth of a pixel, of D and A of the module's documentation; `None` where it is that
/// of little.
pub fn inverse_depth([sum, alpha]: [f64; 2]) -> Option<f64> {
    (alpha >= super::MIN_ALPHA && sum > 0.0).then(|| sum / alpha)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera {
            fx: 61.0,
            fy: 57.0,
            cx: 19.0,
            cy: 16.5,
            ..Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 0.8, 40, 30)
        }
    }

    /// Inverse depths around a pixel of the plane n . P = c.
    fn plane(camera: &Camera, n: [f64; 3], c: f64, pixel: [u32; 2]) -> [f64; 5] {
        NEIGHBOURS.map(|[dx, dy]| {
            let at = [
                f64::from(pixel[0]) + 0.5 + f64::from(dx),
                f64::from(pixel[1]) + 0.5 + f64::from(dy),
            ];
            let [x, y] = camera.ray(at).unwrap();
            dot(n, [x, y, 1.0]) / c
        })
    }

    #[test]
    fn the_normal_of_a_plane_is_exact() {
        let camera = camera();
        let n = [0.36, -0.48, 0.8];
        for pixel in [[3, 4], [30, 20], [19, 16]] {
            let q = plane(&camera, n, 2.5, pixel);
            let right = PixelRays::of(&camera).normal_loss(pixel, q, [-0.36, 0.48, -0.8]);
            // Known are 32 bits.
            assert!(right.iter().all(|v| v.abs() < 1e-5), "{right:?}");
            // Another one is off by what the cosine says.
            let other = PixelRays::of(&camera).normal_loss(pixel, q, [0.0, 0.0, -1.0]);
            assert!((other[0] - 0.2).abs() < 1e-6, "{other:?}");
        }
    }

    #[test]
    fn derivatives_match_finite_differences() {
        let rays = PixelRays::of(&camera());
        let q = [0.4, 0.41, 0.385, 0.37, 0.42];
        let (pixel, known) = ([7, 22], [0.6, 0.0, -0.8]);
        let found = rays.normal_loss(pixel, q, known);
        for k in 0..5 {
            let h = 1e-6;
            let value = |by: f64| {
                let mut moved = q;
                moved[k] += by;
                rays.normal_loss(pixel, moved, known)[0]
            };
            let want = (value(h) - value(-h)) / (2.0 * h);
            assert!(
                (found[1 + k] - want).abs() < 1e-5 * (1.0 + want.abs()),
                "{k}"
            );
        }
        assert_eq!(rays.normal_loss(pixel, [0.0; 5], known), [0.0; 6]);
    }
}
