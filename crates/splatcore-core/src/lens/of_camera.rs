//! What a camera sees through its lens.

use super::{Lens, Projection};
use crate::camera::Camera;
use crate::shutter::ITERATIONS;

impl Camera {
    /// The same camera without its lens, with a global shutter.
    pub fn without_lens(&self) -> Self {
        Self {
            lens: Lens::Pinhole,
            shutter: None,
            ..self.clone()
        }
    }

    /// Whether both differ in nothing but the pose and its motion.
    pub fn same_intrinsics(&self, other: &Self) -> bool {
        let key = |c: &Self| (c.width, c.height, c.fx, c.fy, c.cx, c.cy, c.lens);
        key(self) == key(other)
    }

    /// The pixel of a ray (x/z, y/z in camera axes), in or out of the image.
    pub fn pixel(&self, ray: [f64; 2]) -> Option<[f64; 2]> {
        self.lens.distort(ray).map(|plane| self.scaled(plane))
    }

    /// The ray (x/z, y/z in camera axes) of a pixel; `None` beyond 90 degrees, too.
    pub fn ray(&self, pixel: [f64; 2]) -> Option<[f64; 2]> {
        self.lens.undistort(self.unscaled(pixel))
    }

    /// The direction in camera axes (of a rolling shutter those when the pixel is read) of a
    /// pixel's ray, unit length; a fisheye's may point backwards.
    pub fn direction(&self, pixel: [f64; 2]) -> Option<[f64; 3]> {
        self.lens.direction(self.unscaled(pixel))
    }

    /// Whether the depth of a point is its distance from the camera and not z
    /// ([`Projection::depth_is_distance`]).
    pub fn depth_is_distance(&self) -> bool {
        // Quick for cameras of which it is known by the lens.
        let polynomial = self.lens.polynomial();
        polynomial.is_some_and(|polynomial| polynomial.plane.shows_behind())
            && Projection::new(self).is_some_and(|projection| projection.depth_is_distance())
    }

    /// The world point that a pixel shows, when it is read, at a depth: along the view axis, or for
    /// cameras whose depth is a distance ([`Camera::depth_is_distance`]) along the ray. `None`
    /// where the lens forms no image, or for a depth along the axis beyond 90 degrees.
    pub fn point_at(&self, pixel: [f64; 2], depth: f64) -> Option<[f64; 3]> {
        self.point_with(self.depth_is_distance(), pixel, depth)
    }

    /// [`Camera::point_at`] for many pixels: [`Camera::depth_is_distance`] is known.
    pub fn point_with(
        &self,
        depth_is_distance: bool,
        pixel: [f64; 2],
        depth: f64,
    ) -> Option<[f64; 3]> {
        if self.shutter.is_some() {
            let camera = self.at_pixel(pixel);
            return camera.point_with(depth_is_distance, pixel, depth);
        }
        let view = match self.lens {
            Lens::Orthographic => {
                let [x, y] = self.unscaled(pixel);
                [x, y, depth]
            }
            _ if depth_is_distance => self.direction(pixel)?.map(|v| v * depth),
            _ => {
                let [x, y] = self.ray(pixel)?;
                [x * depth, y * depth, depth]
            }
        };
        let (r, t) = (&self.rotation, self.translation);
        let axis = |j: usize| (0..3).map(|k| r[k][j] * (view[k] - t[k])).sum();
        Some([axis(0), axis(1), axis(2)])
    }

    /// The pixel of a world point that the lens images, in or out of the image, when its row is
    /// read.
    pub fn project(&self, point: [f64; 3]) -> Option<[f64; 2]> {
        let view = self.to_view(point);
        let image = |view| self.lens.image(view).map(|plane| self.scaled(plane));
        let mut pixel = image(view)?;
        if let Some(shutter) = &self.shutter {
            for _ in 0..ITERATIONS {
                pixel = image(shutter.view_at(self.time(pixel), view))?;
            }
        }
        Some(pixel)
    }

    /// Whether a world point is inside the image.
    pub fn sees(&self, point: [f64; 3]) -> bool {
        self.project(point).is_some_and(|pixel| self.inside(pixel))
    }

    /// Whether a pixel position is inside the image.
    pub fn inside(&self, [x, y]: [f64; 2]) -> bool {
        (0.0..=self.width as f64).contains(&x) && (0.0..=self.height as f64).contains(&y)
    }

    /// A point of the real image plane in pixels.
    fn scaled(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [self.fx * x + self.cx, self.fy * y + self.cy]
    }

    fn unscaled(&self, [x, y]: [f64; 2]) -> [f64; 2] {
        [(x - self.cx) / self.fx, (y - self.cy) / self.fy]
    }
}
