//! What to render.

use splatcore_core::Lens;
use splatcore_core::shutter::Readout;

/// What to render. The same options give the same files, byte for byte.
#[derive(Clone, Debug, PartialEq)]
pub struct ProceduralOptions {
    /// Width of a photo in pixels, 16 to 8192.
    pub width: u32,
    /// Height of a photo in pixels, 16 to 8192.
    pub height: u32,
    /// Number of photos, 2 to 9999.
    pub views: usize,
    /// Most rays a pixel, 1 to 1024; pixels of even colour get 4.
    pub samples: u32,
    /// Moves cameras a little, and chooses rays and points.
    pub seed: u64,
    /// Starting points wanted, at most 1,000,000.
    pub points: usize,
    /// What the photos are taken through: what COLMAP or a `transforms.json` has a model of and a
    /// renderer projects through. Photos of [`Lens::Equirectangular`] show all around, those of
    /// [`Lens::Orthographic`] as much as a pinhole's at what the cameras look at.
    pub lens: Lens,
    /// Vertical field of view in degrees without the lens, 5 to 150; of an upright photo the
    /// horizontal one.
    pub field_of_view: f64,
    /// How the cameras move while they read their photos; `None` if they read all pixels at once.
    pub motion: Option<Motion>,
}

/// How a camera moves while it reads a photo, each in directions of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// The order of the lines.
    pub readout: Readout,
    /// Degrees, at most 30.
    pub turn: f64,
    /// Metres, at most 1.
    pub shift: f64,
}

impl Default for ProceduralOptions {
    fn default() -> Self {
        Self {
            width: 320,
            height: 240,
            views: 48,
            samples: 8,
            seed: 0,
            points: 5000,
            lens: Lens::Pinhole,
            field_of_view: 42.0,
            motion: None,
        }
    }
}

impl ProceduralOptions {
    /// What is wrong with the options, or `None`.
    pub(super) fn defect(&self) -> Option<String> {
        let sides = 16..=8192;
        if !(sides.contains(&self.width) && sides.contains(&self.height)) {
            return Some(format!(
                "photos of {}x{} pixels were asked for; a side is 16 to 8192",
                self.width, self.height
            ));
        }
        if !(2..=9999).contains(&self.views) {
            return Some(format!(
                "{} views were asked for; 2 to 9999 are possible",
                self.views
            ));
        }
        if !(1..=1024).contains(&self.samples) {
            return Some(format!(
                "{} samples a pixel were asked for; 1 to 1024 are possible",
                self.samples
            ));
        }
        if self.points > 1_000_000 {
            return Some(format!(
                "{} points were asked for; at most 1000000 are possible",
                self.points
            ));
        }
        if !(5.0..=150.0).contains(&self.field_of_view) {
            return Some(format!(
                "a field of view of {} degrees was asked for; 5 to 150 are possible",
                self.field_of_view
            ));
        }
        let moves = |by: f64, most: f64| (0.0..=most).contains(&by);
        if let Some(Motion { turn, shift, .. }) = self.motion
            && !(moves(turn, 30.0) && moves(shift, 1.0))
        {
            return Some(format!(
                "cameras that turn by {turn} degrees and move by {shift} m were asked for; 0 to 30 \
                 and 0 to 1 are possible"
            ));
        }
        None
    }
}
