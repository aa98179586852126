//! A camera as a dataset describes it: a pinhole behind a lens.

use super::lens::Lens;
use splatcore_core::Camera;

/// A pinhole camera (size, focal lengths, principal point, pose) whose rays a lens bends first.
#[derive(Clone, Debug, PartialEq)]
pub struct LensCamera {
    /// The pinhole part; pixel = focal * bent + principal point.
    pub camera: Camera,
    /// The lens.
    pub lens: Lens,
}

impl LensCamera {
    /// What makes this camera unusable, or `None`.
    pub fn defect(&self) -> Option<String> {
        self.camera.defect().or_else(|| self.lens.defect())
    }

    /// Whether both differ in nothing but the pose.
    pub fn same_intrinsics(&self, other: &Self) -> bool {
        let key = |c: &Self| {
            let p = &c.camera;
            (p.width, p.height, p.fx, p.fy, p.cx, p.cy, c.lens)
        };
        key(self) == key(other)
    }

    /// The pixel of a ray (x/z, y/z in camera axes), in or out of the image.
    pub fn pixel(&self, ray: [f64; 2]) -> Option<[f64; 2]> {
        let [x, y] = self.lens.distort(ray)?;
        let c = &self.camera;
        Some([c.fx * x + c.cx, c.fy * y + c.cy])
    }

    /// The ray (x/z, y/z in camera axes) of a pixel.
    pub fn ray(&self, pixel: [f64; 2]) -> Option<[f64; 2]> {
        let c = &self.camera;
        self.lens
            .undistort([(pixel[0] - c.cx) / c.fx, (pixel[1] - c.cy) / c.fy])
    }

    /// The pixel of a world point in front of the camera, in or out of the image.
    pub fn project(&self, point: [f64; 3]) -> Option<[f64; 2]> {
        let [x, y, z] = self.camera.to_view(point);
        if z <= 0.0 {
            return None;
        }
        self.pixel([x / z, y / z])
    }

    /// Whether a world point is in front of the camera and inside the image.
    pub fn sees(&self, point: [f64; 3]) -> bool {
        self.project(point).is_some_and(|pixel| self.inside(pixel))
    }

    /// Whether a pixel position is inside the image.
    pub fn inside(&self, [x, y]: [f64; 2]) -> bool {
        (0.0..=self.camera.width as f64).contains(&x)
            && (0.0..=self.camera.height as f64).contains(&y)
    }

    /// The same view at another size.
    pub fn resized(&self, width: u32, height: u32) -> Self {
        Self {
            camera: self.camera.resized(width, height),
            lens: self.lens,
        }
    }
}
