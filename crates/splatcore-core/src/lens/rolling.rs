//! When the pixels of a camera with a rolling shutter are read ([`crate::shutter`]), and where a
//! point is then.

use crate::camera::Camera;
use crate::shutter::{Shutter, Times};

/// A camera's motion, and when its pixels are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rolling {
    /// The motion.
    pub shutter: Shutter,
    /// When.
    pub times: Times,
}

/// A point when its row is read.
pub(super) struct Read {
    pub time: f64,
    /// How the time changes with the pixel.
    pub slope: [f64; 2],
    /// Where the point is in the camera's axes then.
    pub view: [f64; 3],
}

impl Rolling {
    /// `None` for a global shutter.
    pub fn of(camera: &Camera) -> Option<Self> {
        camera.shutter.map(|shutter| Self {
            shutter,
            times: Times::new(shutter.readout, camera.width, camera.height),
        })
    }

    /// A point that appears at a pixel, given where it is in the axes at time 0.
    pub(super) fn read(&self, pixel: [f64; 2], view: [f64; 3]) -> Read {
        let (time, slope) = self.times.at(pixel);
        let view = self.shutter.view_at(time, view);
        Read { time, slope, view }
    }
}
