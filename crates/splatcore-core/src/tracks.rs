//! Points of a reconstruction that a photo shows, and where it shows them.

use crate::Camera;

/// A point and its place in a photo.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TrackedPoint {
    /// Where it was found, in pixels of the photo; the centre of the first pixel is (0.5, 0.5).
    pub pixel: [f64; 2],
    /// World units.
    pub position: [f64; 3],
}

/// The points of a photo that photos taken elsewhere show too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tracks {
    /// Some of them, spread over the photo.
    pub points: Vec<TrackedPoint>,
    /// The width of a pixel of the image in which they were found, in pixels of the photo: below 1
    /// for a photo that was scaled down.
    pub pixel: f64,
}

impl Tracks {
    /// How far from its place each point is through a camera, in pixels of the image in which it
    /// was found; `None` for a point that the camera's lens does not image.
    pub fn errors(&self, camera: &Camera) -> impl Iterator<Item = Option<f64>> {
        self.points.iter().map(|point| {
            let [x, y] = camera.project(point.position)?;
            let error = (x - point.pixel[0]).hypot(y - point.pixel[1]) / self.pixel;
            error.is_finite().then_some(error)
        })
    }
}
