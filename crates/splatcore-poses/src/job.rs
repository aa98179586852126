//! What is asked for, and who hears of it.

use crate::progress::Progress;
use std::path::PathBuf;
use std::str::FromStr;

/// Which pairs of photos are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Matching {
    /// Sequential for videos, for 80 photos or more that look like frames of one (names that count
    /// up in equal steps, one size, no camera in EXIF), and for more than 300 photos whose names
    /// count up; else exhaustive.
    #[default]
    Auto,
    /// Each photo with each other: time grows with the square of their number.
    Exhaustive,
    /// Each photo with those that follow it by name.
    Sequential,
    /// Each photo with the 12 that look most like it, as words of a vocabulary tell that is made of
    /// the photos' own features. COLMAP only, not pycolmap.
    Similar,
}

/// How poses are made of matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mapper {
    /// Global if the program has it; incremental if it has not, if the global mapper fails, or if
    /// it places fewer than 80 % of the photos.
    #[default]
    Auto,
    /// All photos at once (GLOMAP, Pan et al. 2024): faster.
    Global,
    /// One photo after the other (Schoenberger & Frahm 2016).
    Incremental,
}

/// Which photos share one camera, that is focal length and lens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cameras {
    /// Photos of one size with the same maker, model and focal length in EXIF share a camera; if
    /// most photos would have one of their own, all have.
    #[default]
    Auto,
    /// All photos share one.
    One,
    /// The photos of a folder share one.
    Folder,
    /// Each photo has its own.
    Each,
}

macro_rules! names {
    ($type:ident, $($name:literal => $variant:ident),+) => {
        impl $type {
            /// Every choice as it is spelled.
            pub const NAMES: &[&str] = &[$($name),+];

            /// As it is spelled.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),+
                }
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $($name => Ok(Self::$variant),)+
                    _ => Err(format!("'{text}' is none of {}", Self::NAMES.join(", "))),
                }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

names!(Matching, "auto" => Auto, "exhaustive" => Exhaustive, "sequential" => Sequential,
    "similar" => Similar);
names!(Mapper, "auto" => Auto, "global" => Global, "incremental" => Incremental);
names!(Cameras, "auto" => Auto, "one" => One, "folder" => Folder, "each" => Each);

/// Lens models with which a dataset can be trained, as COLMAP spells them.
pub const CAMERA_MODELS: [&str; 9] = [
    "SIMPLE_PINHOLE",
    "PINHOLE",
    "SIMPLE_RADIAL",
    "RADIAL",
    "OPENCV",
    "FULL_OPENCV",
    "OPENCV_FISHEYE",
    "SIMPLE_RADIAL_FISHEYE",
    "RADIAL_FISHEYE",
];

/// What is asked for. Everything but the two paths has a default.
#[derive(Clone, Debug, Default)]
pub struct Job {
    /// A folder of photos (subfolders too), a dataset's folder with photos in `images`, or a video.
    pub input: PathBuf,
    /// The dataset's folder; made if need be.
    pub dataset: PathBuf,
    /// Begin anew: what earlier calls left in the dataset's folder is not used.
    pub overwrite: bool,
    /// Poses that an earlier call found stay, because something was made of them: where this job
    /// would find them anew, it is refused.
    pub keep: bool,
    /// The program `colmap` to use; else the first one on `PATH`.
    pub colmap: Option<PathBuf>,
    /// The Python whose pycolmap to use; else `python3` or `python`, if there is no `colmap`.
    pub python: Option<PathBuf>,
    /// Never use a graphics card.
    pub no_gpu: bool,
    /// Which pairs of photos are compared.
    pub matching: Matching,
    /// COLMAP's vocabulary tree file, for finding loops in sequential matching.
    pub vocabulary: Option<PathBuf>,
    /// How poses are made of matches.
    pub mapper: Mapper,
    /// One of [`CAMERA_MODELS`]; else OPENCV for a camera of 20 photos or more, SIMPLE_RADIAL
    /// for fewer.
    pub camera_model: Option<String>,
    /// Which photos share a camera.
    pub cameras: Cameras,
    /// Features are searched in photos scaled to at most this many pixels on the longer side; else
    /// the program's own limit, 3200. Keypoints count in pixels of the full size all the same.
    pub max_size: Option<u32>,
    /// Of a folder of photos only the first and every so many after it are used; else all.
    pub every: Option<u32>,
    /// Frames to take from a video; else two a second, at least 40 and at most 300.
    pub frames: Option<u32>,
    /// Write a video's frames as PNG in place of JPEG.
    pub png: bool,
    /// Frames of a video count as read at once, whatever its gyroscope says.
    pub no_gyro: bool,
    /// The program `ffmpeg`; else the first one on `PATH`.
    pub ffmpeg: Option<PathBuf>,
}

/// Hears what happens. All calls come from the thread that called.
pub trait Observer {
    /// Whether to stop. Asked several times a second.
    fn stop(&self) -> bool;

    /// How far the work is. Told whenever something happens, and twice a second while nothing
    /// does.
    fn progress(&mut self, progress: &Progress);

    /// Something worth knowing.
    fn note(&mut self, line: &str);
}
