//! Ways of reading videos.

use super::measure::Measured;
use super::told::Told;
use crate::PosesError;
use image::RgbImage;

/// All frames of a video, measured.
pub struct Survey {
    pub frames: Vec<Measured>,
    /// Frames a second, if the file tells.
    pub rate: Option<f64>,
    /// What the file says that it holds.
    pub told: Option<Told>,
}

/// Hears how many frames were measured so far; its error ends the work.
pub type Seen<'a> = dyn FnMut(u64) -> Result<(), PosesError> + 'a;
/// Gets a frame; its error ends the work.
pub type Taken<'a> = dyn FnMut(RgbImage) -> Result<(), PosesError> + 'a;

/// A way of reading a video.
pub trait Reader {
    /// Measures every frame, in order.
    fn survey(&self, seen: &mut Seen<'_>) -> Result<Survey, PosesError>;

    /// Gives the frames of ascending indices at full size, as they are to be looked at.
    fn take(&self, indices: &[usize], frame: &mut Taken<'_>) -> Result<(), PosesError>;
}
