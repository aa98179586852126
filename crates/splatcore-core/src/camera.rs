//! Cameras: a pose, an image, and a lens.

use crate::lens::Lens;
use crate::shutter::Shutter;

/// A camera in OpenCV axes: x right, y down, z forward. The centre of pixel (0, 0) is at (0.5,
/// 0.5). `pixel = focal length * plane + principal point`, where `plane` is (x/z, y/z) of a
/// pinhole and what [`Camera::lens`] makes of a point otherwise.
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Image width in pixels.
    pub width: u32,
    /// Image height in pixels.
    pub height: u32,
    /// Focal length in pixels along x.
    pub fx: f64,
    /// Focal length in pixels along y.
    pub fy: f64,
    /// Principal point in pixels, x.
    pub cx: f64,
    /// Principal point in pixels, y.
    pub cy: f64,
    /// World-to-camera rotation, row-major: `view = rotation * world + translation`.
    pub rotation: [[f64; 3]; 3],
    /// World-to-camera translation in world units.
    pub translation: [f64; 3],
    /// What light goes through.
    pub lens: Lens,
    /// How the camera moves while its photo is read; `None` for a global shutter. The pose is that
    /// in the middle.
    pub shutter: Option<Shutter>,
}

impl Camera {
    /// The camera's position in the world: `-Rᵀ t`.
    pub fn position(&self) -> [f64; 3] {
        let (r, t) = (&self.rotation, &self.translation);
        std::array::from_fn(|i| -(r[0][i] * t[0] + r[1][i] * t[1] + r[2][i] * t[2]))
    }

    /// A world point in view space.
    pub fn to_view(&self, p: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|i| {
            let r = &self.rotation[i];
            r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + self.translation[i]
        })
    }

    /// A point of view space in the world.
    pub fn to_world(&self, view: [f64; 3]) -> [f64; 3] {
        let from: [f64; 3] = std::array::from_fn(|k| view[k] - self.translation[k]);
        std::array::from_fn(|i| (0..3).map(|k| self.rotation[k][i] * from[k]).sum())
    }

    /// The direction in which the camera looks, world axes, unit length.
    pub fn forward(&self) -> [f64; 3] {
        self.rotation[2]
    }

    /// tan of half the horizontal and vertical field of view without the lens, as INRIA's
    /// rasterizer uses them.
    pub fn tan_half_fov(&self) -> [f64; 2] {
        [
            self.width as f64 / (2.0 * self.fx),
            self.height as f64 / (2.0 * self.fy),
        ]
    }

    /// The same view stretched to another size, as a photo is that is resized: focal lengths and
    /// principal point scale with each side.
    pub fn resized(&self, width: u32, height: u32) -> Self {
        let (sx, sy) = (
            width as f64 / self.width as f64,
            height as f64 / self.height as f64,
        );
        Self {
            width,
            height,
            fx: self.fx * sx,
            fy: self.fy * sy,
            cx: self.cx * sx,
            cy: self.cy * sy,
            ..self.clone()
        }
    }

    /// The same view at another size with pixels of the same shape: both focal lengths scale by the
    /// square root of the areas' ratio, and the principal point stays at the same relative place.
    /// Of another aspect ratio, the image shows more on one axis and less on the other, of the same
    /// area.
    pub fn with_size(&self, width: u32, height: u32) -> Self {
        let area = |w: u32, h: u32| w as f64 * h as f64;
        let scale = (area(width, height) / area(self.width, self.height)).sqrt();
        Self {
            width,
            height,
            fx: self.fx * scale,
            fy: self.fy * scale,
            cx: self.cx * width as f64 / self.width as f64,
            cy: self.cy * height as f64 / self.height as f64,
            ..self.clone()
        }
    }

    /// A pinhole at the origin that looks along z, with square pixels and the principal point in
    /// the middle.
    pub fn pinhole(width: u32, height: u32, focal: f64) -> Self {
        Self {
            width,
            height,
            fx: focal,
            fy: focal,
            cx: f64::from(width) / 2.0,
            cy: f64::from(height) / 2.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            translation: [0.0; 3],
            lens: Lens::Pinhole,
            shutter: None,
        }
    }

    /// A camera at `eye` that looks at `target`, `up` pointing up in the image, with a vertical
    /// field of view in radians. Degenerate `up` (parallel to the line of sight) is replaced by
    /// another axis.
    pub fn look_at(
        eye: [f64; 3],
        target: [f64; 3],
        up: [f64; 3],
        fov_y: f64,
        width: u32,
        height: u32,
    ) -> Self {
        let forward = normalize(sub(target, eye)).unwrap_or([0.0, 0.0, 1.0]);
        let right = normalize(cross(forward, up))
            .or_else(|| normalize(cross(forward, [1.0, 0.0, 0.0])))
            .or_else(|| normalize(cross(forward, [0.0, 1.0, 0.0])))
            .unwrap_or([1.0, 0.0, 0.0]);
        let down = cross(forward, right);
        let rotation = [right, down, forward];
        let translation = std::array::from_fn(|i| -dot(rotation[i], eye));
        let focal = height as f64 / (2.0 * (fov_y / 2.0).tan());
        Self {
            rotation,
            translation,
            ..Self::pinhole(width, height, focal)
        }
    }

    /// What makes this camera unusable, or `None`: sizes and focal lengths must be positive and
    /// finite, the rotation orthonormal within 1e-3 and right-handed, the lens one that can be.
    pub fn defect(&self) -> Option<String> {
        if self.width == 0 || self.height == 0 {
            return Some(format!(
                "image size {}x{} is empty",
                self.width, self.height
            ));
        }
        if !(self.fx.is_finite() && self.fy.is_finite() && self.fx > 0.0 && self.fy > 0.0) {
            return Some(format!(
                "focal lengths {} and {} must be positive",
                self.fx, self.fy
            ));
        }
        if !(self.cx.is_finite() && self.cy.is_finite()) {
            return Some(format!(
                "principal point ({}, {}) is not finite",
                self.cx, self.cy
            ));
        }
        if !self
            .translation
            .iter()
            .chain(self.rotation.iter().flatten())
            .all(|v| v.is_finite())
        {
            return Some("the pose is not finite".into());
        }
        let r = &self.rotation;
        for i in 0..3 {
            for j in 0..3 {
                let want = if i == j { 1.0 } else { 0.0 };
                if (dot(r[i], r[j]) - want).abs() > 1e-3 {
                    return Some("the pose's rotation is not orthonormal".into());
                }
            }
        }
        if dot(cross(r[0], r[1]), r[2]) < 0.0 {
            return Some("the pose's rotation is a mirror image (determinant -1)".into());
        }
        if self.shutter.is_some() && self.lens == Lens::Equirectangular {
            return Some("a photo all around has no rows that are read one after another".into());
        }
        let motion = self.shutter.and_then(|shutter| shutter.defect());
        motion.or_else(|| self.lens.defect())
    }
}

/// Radius of the training cameras: 1.1 times the largest distance of a camera from their mean
/// position, INRIA's `cameras_extent`. At least a small positive number.
pub fn extent<'a>(cameras: impl Iterator<Item = &'a Camera> + Clone) -> f64 {
    let count = cameras.clone().count().max(1) as f64;
    let mut mean = [0.0; 3];
    for camera in cameras.clone() {
        let p = camera.position();
        for i in 0..3 {
            mean[i] += p[i] / count;
        }
    }
    let radius = cameras
        .map(|camera| {
            let p = camera.position();
            (0..3).map(|i| (p[i] - mean[i]).powi(2)).sum::<f64>().sqrt()
        })
        .fold(0.0, f64::max);
    (1.1 * radius).max(1e-3)
}

/// Rotation matrix (rows) of a quaternion `w, x, y, z` of any nonzero length.
pub fn rotation_from_quaternion(q: [f64; 4]) -> Option<[[f64; 3]; 3]> {
    let norm = q.iter().map(|v| v * v).sum::<f64>().sqrt();
    if !(norm.is_finite() && norm > 0.0) {
        return None;
    }
    let [w, x, y, z] = q.map(|v| v / norm);
    Some([
        [
            1.0 - 2.0 * (y * y + z * z),
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            1.0 - 2.0 * (x * x + z * z),
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            1.0 - 2.0 * (x * x + y * y),
        ],
    ])
}

/// Dot product.
#[inline]
pub fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Difference of vectors.
#[inline]
pub fn sub(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| a[k] - b[k])
}

/// Euclidean length.
#[inline]
pub fn length(a: [f64; 3]) -> f64 {
    dot(a, a).sqrt()
}

/// Cross product.
#[inline]
pub fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

/// The vector at unit length, or `None` when it has (nearly) none.
#[inline]
pub fn normalize(a: [f64; 3]) -> Option<[f64; 3]> {
    let length = dot(a, a).sqrt();
    (length > 1e-12 && length.is_finite()).then(|| a.map(|v| v / length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_at_puts_the_target_in_the_middle_and_up_upwards() {
        let camera = Camera::look_at(
            [1.0, -4.0, 2.0],
            [0.0, 0.0, 0.5],
            [0.0, 0.0, 1.0],
            1.0,
            64,
            48,
        );
        assert_eq!(camera.defect(), None);
        let target = camera.to_view([0.0, 0.0, 0.5]);
        assert!(target[0].abs() < 1e-12 && target[1].abs() < 1e-12 && target[2] > 0.0);
        let above = camera.to_view([0.0, 0.0, 0.6]);
        assert!(
            above[1] < 0.0,
            "up in the world is up in the image, y points down"
        );
        let p = camera.position();
        assert!(
            (p[0] - 1.0).abs() < 1e-12 && (p[1] + 4.0).abs() < 1e-12 && (p[2] - 2.0).abs() < 1e-12
        );
    }

    #[test]
    fn defects_are_named() {
        let good = Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 8, 8);
        assert_eq!(good.defect(), None);
        assert!(
            Camera {
                fx: 0.0,
                ..good.clone()
            }
            .defect()
            .unwrap()
            .contains("focal")
        );
        let mut mirrored = good.clone();
        mirrored.rotation[0] = mirrored.rotation[0].map(|v| -v);
        assert!(mirrored.defect().unwrap().contains("mirror"));
        let mut sheared = good;
        sheared.rotation[0][1] += 0.1;
        assert!(sheared.defect().unwrap().contains("orthonormal"));
    }

    /// From 1080x1920 to 3840x2160 the area grows four times, so focal lengths double.
    #[test]
    fn another_size_keeps_the_pixels_shape() {
        let photo = Camera {
            fx: 1430.5,
            fy: 1429.5,
            cx: 500.0,
            cy: 960.0,
            ..Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, 1080, 1920)
        };
        let wide = photo.with_size(3840, 2160);
        assert_eq!((wide.fx, wide.fy), (2861.0, 2859.0));
        // The same relative place: 500 of 1080 across, half way down.
        assert!((wide.cx / 3840.0 - 500.0 / 1080.0).abs() < 1e-15);
        assert_eq!(wide.cy, 1080.0);
        let stretched = photo.resized(3840, 2160);
        assert!((stretched.fx / stretched.fy - wide.fx / wide.fy).abs() > 1.0);
        assert!((stretched.cx - wide.cx).abs() < 1e-9 && stretched.cy == wide.cy);
        assert_eq!(photo.with_size(1080, 1920), photo);
    }

    #[test]
    fn extent_is_inrias() {
        let at =
            |x: f64| Camera::look_at([x, 0.0, 0.0], [x, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, 8, 8);
        let cameras = [at(-1.0), at(3.0)];
        assert!((extent(cameras.iter()) - 2.2).abs() < 1e-9);
    }
}
