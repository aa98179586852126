//! Rolling shutters: the rows, or columns, of a photo are read one after another, and meanwhile the
//! camera moves.
//!
//! Time runs from -1/2, at the edge of the image that is read first, to 1/2 at the edge that is
//! read last. The pose of a [`Camera`](crate::Camera) is that at 0, in the middle of the read-out.
//! The motion is given in the axes of that pose, so that whoever moves the camera moves all its
//! poses as one.
//!
//! Where a point appears depends on when its row is read, which depends on where it appears: each
//! point is projected at the time 0 and then [`ITERATIONS`] times at the time of the row where it
//! was (Wu et al. 2025, "3DGUT"). The error falls with each by the share of the image's height by
//! which the point moves while the photo is read.
//!
//! | question | file |
//! | --- | --- |
//! | where is a point in the axes of a camera that moves | `motion.rs` |
//! | which pose has a camera when | `of_camera.rs` |

mod motion;
mod of_camera;

use serde::{Deserialize, Serialize};

/// How often a point is projected again at the time of the row where it appears.
pub const ITERATIONS: usize = 5;
/// Beyond the image the motion goes on, up to this time before and after the middle.
pub const MAX_TIME: f64 = 1.0;

/// The order in which a photo is read.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Readout {
    /// Rows, the upper one first.
    TopToBottom,
    /// Rows, the lower one first.
    BottomToTop,
    /// Columns, the left one first.
    LeftToRight,
    /// Columns, the right one first.
    RightToLeft,
}

impl Readout {
    /// How many rows, or columns, are read one after another.
    fn lines(self, width: u32, height: u32) -> f64 {
        f64::from(match self {
            Self::TopToBottom | Self::BottomToTop => height,
            Self::LeftToRight | Self::RightToLeft => width,
        })
    }

    /// The time from the reading of the first line's middle to that of the last one's.
    pub fn span(self, width: u32, height: u32) -> f64 {
        let lines = self.lines(width, height);
        (lines - 1.0).max(1.0) / lines
    }
}

/// A camera's motion while it takes a photo.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Shutter {
    /// The order in which the photo is read.
    pub readout: Readout,
    /// By what the camera turns from time -1/2 to 1/2: axis times angle in radians, in its axes.
    pub turn: [f64; 3],
    /// By what its place moves, world units along its axes at time 0.
    pub shift: [f64; 3],
}

/// When the pixels of an image are read: a linear function of the pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Of the corner (0, 0).
    pub first: f64,
    /// By how much time grows with each pixel, along x and y.
    pub slope: [f64; 2],
}

impl Times {
    /// Of an image of a size.
    pub fn new(readout: Readout, width: u32, height: u32) -> Self {
        let step = 1.0 / readout.lines(width, height);
        let (first, slope) = match readout {
            Readout::TopToBottom => (-0.5, [0.0, step]),
            Readout::BottomToTop => (0.5, [0.0, -step]),
            Readout::LeftToRight => (-0.5, [step, 0.0]),
            Readout::RightToLeft => (0.5, [-step, 0.0]),
        };
        Self { first, slope }
    }

    /// The time of a pixel, also of one out of the image, and how it changes with the pixel.
    pub fn at(&self, [x, y]: [f64; 2]) -> (f64, [f64; 2]) {
        let time = self.first + self.slope[0] * x + self.slope[1] * y;
        match time.abs() <= MAX_TIME {
            true => (time, self.slope),
            false => (time.clamp(-MAX_TIME, MAX_TIME), [0.0; 2]),
        }
    }
}
