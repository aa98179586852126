//! [`SceneFile`]: what every parser gives; [`OpenScene`]: a scene that may still be in its file.

use super::plausible::{Counts, Unsound};
use super::rows::Rows;
use splatcore_core::Gaussians;

/// A scene as a file holds it.
#[derive(Clone, Debug)]
pub struct SceneFile {
    /// The Gaussians, unsound ones already dropped.
    pub gaussians: Gaussians,
    /// The format found, for people: "PLY, binary little-endian", "SPZ version 3", "SOG version 2,
    /// unbundled".
    pub format: String,
    /// Size of the file; for unbundled SOG of all its files.
    pub bytes: u64,
    /// Gaussians left out because a value was NaN or infinite or the rotation all zero.
    pub dropped: usize,
    /// What else a user may want to know, a line each: parts that were skipped, degrees that were
    /// cut.
    pub notes: Vec<String>,
    /// Whether the scene was trained with Mip-Splatting's 2D filter in place of the +0.3 px²
    /// dilation, and is to be rendered with it. Not every format can say so: PLY does in a comment,
    /// SPZ and SOG have a field.
    pub antialiased: bool,
}

impl SceneFile {
    /// Drops what is unsound and counts it, and says what hardly is a scene: the last step of every
    /// parser.
    pub(super) fn checked(
        mut gaussians: Gaussians,
        format: String,
        bytes: u64,
        mut notes: Vec<String>,
        antialiased: bool,
    ) -> Self {
        let mut unsound = Unsound::default();
        let wrong = (0..gaussians.len()).filter(|&i| !gaussians.is_sound(i));
        let wrong = wrong.inspect(|&i| unsound.add(&gaussians, i)).count();
        let dropped = match wrong {
            0 => 0,
            _ => gaussians.drop_unsound(),
        };
        notes.extend(unsound.note());
        notes.extend(Counts::of(&gaussians).notes(dropped));
        Self {
            gaussians,
            format,
            bytes,
            dropped,
            notes,
            antialiased,
        }
    }

    /// Cuts the spherical harmonics above a degree, and says so.
    pub(super) fn limit_sh_degree(&mut self, limit: u8) {
        let degree = self.gaussians.sh_degree;
        if degree > limit {
            self.gaussians = self.gaussians.with_sh_degree(limit);
            self.notes.push(format!(
                "spherical harmonics of degree {degree} are cut to {limit}"
            ));
        }
    }
}

/// A scene file that is open.
pub struct OpenScene {
    /// The Gaussians, unsound ones left out.
    pub rows: Box<dyn Rows>,
    /// As in [`SceneFile`].
    pub format: String,
    /// As in [`SceneFile`].
    pub bytes: u64,
    /// As in [`SceneFile`].
    pub dropped: usize,
    /// As in [`SceneFile`].
    pub notes: Vec<String>,
    /// As in [`SceneFile`].
    pub antialiased: bool,
}

impl From<SceneFile> for OpenScene {
    fn from(file: SceneFile) -> Self {
        Self {
            rows: Box::new(file.gaussians),
            format: file.format,
            bytes: file.bytes,
            dropped: file.dropped,
            notes: file.notes,
            antialiased: file.antialiased,
        }
    }
}
