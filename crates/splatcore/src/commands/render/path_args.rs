//! The flags of `render --path`.

use splatcore_path::Ramp;
use splatcore_path::files::Format;
use splatcore_video::Codec;
use std::path::{Path, PathBuf};

/// A camera path and what is made of it.
#[derive(clap::Args)]
#[command(next_help_heading = "Camera path")]
pub struct PathArgs {
    /// Move the camera along a path and write a video. A file: of splatcore's viewer (Save),
    /// nerfstudio's camera_path.json, supersplat-viewer's settings.json, SuperSplat's .ssproj or
    /// splat-transform's camera track, told apart by what they hold. Or a path that is made: orbit
    /// (the circle of --orbit), ellipse (through the cameras of --dataset or --cameras, around what
    /// they look at), spline (through these cameras in the order of their names), dolly (straight
    /// ahead from the first of them, or of the orbit), dolly-zoom (the same, and what it moves to
    /// keeps its size)
    #[arg(long, value_name = "FILE_OR_KIND")]
    path: Option<PathBuf>,
    /// dataparser_transforms.json of nerfstudio's run, for a camera_path.json and a scene that lies
    /// in the dataset's world [the one beside the path, if there is one]
    #[arg(long, value_name = "FILE", requires = "path")]
    pub path_transforms: Option<PathBuf>,
    /// How much of the way to what it looks at a dolly moves; below 0 backwards
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, requires = "path")]
    pub dolly: f64,
    /// Length in seconds; the path is travelled faster or slower [the file's, or 8]. Time grows
    /// with it
    #[arg(long, value_name = "S", value_parser = seconds, requires = "path")]
    pub seconds: Option<f64>,
    /// Frames per second [the file's, or 30]. Time grows with them
    #[arg(long, value_name = "N", value_parser = rate, requires = "path")]
    pub fps: Option<f64>,
    /// Close the path: move back to its start, so that the video can be repeated without a jump
    /// (orbit and ellipse are closed anyway)
    #[arg(long = "loop", requires = "path")]
    pub looped: bool,
    /// Start from rest (in), end at rest (out), or both (in-out)
    #[arg(long, value_name = "KIND", default_value = "none", requires = "path")]
    pub easing: RampChoice,
    /// Move at one speed from start to end, whatever the keyframes' times
    #[arg(long, requires = "path")]
    pub constant_speed: bool,
    /// Only these frames, counted from 0, both included: 0-99, or 50- for all from 50 on
    #[arg(long, value_name = "A-B", requires = "path")]
    pub frames: Option<FrameRange>,
    /// Anti-aliasing: render N times as wide and as high and average, as light. Time and memory
    /// grow with the square
    #[arg(long, value_name = "N", default_value_t = 1, requires = "path",
          value_parser = clap::value_parser!(u32).range(1..=8))]
    pub samples: u32,
    /// Average N moments of each frame, as light, while the shutter is open. Time grows with N
    #[arg(long, value_name = "N", default_value_t = 1, requires = "path",
          value_parser = clap::value_parser!(u32).range(1..=64))]
    pub motion_blur: u32,
    /// For how much of a frame's time the shutter is open, 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share,
          requires = "motion_blur")]
    pub shutter: f64,
    /// What a video is coded with. All but built-in need ffmpeg; built-in, AV1 in .mp4, takes
    /// several times as long [h264; for .webm vp9; without ffmpeg built-in]
    #[arg(long, value_name = "NAME", requires = "path")]
    pub codec: Option<CodecChoice>,
    /// Quality of a video, from 0 (smallest file) to 100 [80]
    #[arg(long, value_name = "N", requires = "path",
          value_parser = clap::value_parser!(u8).range(0..=100))]
    pub quality: Option<u8>,
    /// Also write the path to a file, before rendering
    #[arg(long, value_name = "FILE", requires = "path")]
    pub save_path: Option<PathBuf>,
    /// Whose file --save-path writes: splatcore (keyframes), nerfstudio or settings
    /// (supersplat-viewer's settings.json), which hold each frame
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "splatcore",
        requires = "save_path"
    )]
    pub save_as: SaveAs,
}

impl PathArgs {
    /// What `--path` names.
    pub fn given(&self) -> Option<Kind<'_>> {
        let path = self.path.as_deref()?;
        Some(match path.to_str() {
            Some("orbit") => Kind::Orbit,
            Some("ellipse") => Kind::Ellipse,
            Some("spline") => Kind::Spline,
            Some("dolly") => Kind::Dolly { zoom: false },
            Some("dolly-zoom") => Kind::Dolly { zoom: true },
            _ => Kind::File(path),
        })
    }
}

/// What a path is made from.
pub enum Kind<'a> {
    /// A circle around the scene.
    Orbit,
    /// An ellipse through cameras.
    Ellipse,
    /// A spline through cameras.
    Spline,
    /// Straight ahead.
    Dolly {
        /// With a changing field of view.
        zoom: bool,
    },
    /// A file.
    File(&'a Path),
}

/// `--easing`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum RampChoice {
    /// At full speed from start to end
    None,
    /// Start from rest
    In,
    /// End at rest
    Out,
    /// Both
    InOut,
}

impl From<RampChoice> for Ramp {
    fn from(choice: RampChoice) -> Self {
        match choice {
            RampChoice::None => Self::None,
            RampChoice::In => Self::In,
            RampChoice::Out => Self::Out,
            RampChoice::InOut => Self::InOut,
        }
    }
}

/// `--codec`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum CodecChoice {
    /// H.264, which everything plays
    H264,
    /// H.265
    H265,
    /// AV1, the smallest files
    Av1,
    /// VP9
    Vp9,
    /// AV1 without ffmpeg, slower
    BuiltIn,
}

impl From<CodecChoice> for Codec {
    fn from(choice: CodecChoice) -> Self {
        match choice {
            CodecChoice::H264 => Self::H264,
            CodecChoice::H265 => Self::H265,
            CodecChoice::Av1 => Self::Av1,
            CodecChoice::Vp9 => Self::Vp9,
            CodecChoice::BuiltIn => Self::BuiltIn,
        }
    }
}

/// `--save-as`.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub enum SaveAs {
    /// The viewer's keyframes
    Splatcore,
    /// camera_path.json
    Nerfstudio,
    /// settings.json of supersplat-viewer
    Settings,
}

impl From<SaveAs> for Format {
    fn from(choice: SaveAs) -> Self {
        match choice {
            SaveAs::Splatcore => Self::Own,
            SaveAs::Nerfstudio => Self::Nerfstudio,
            SaveAs::Settings => Self::Settings,
        }
    }
}

/// Frames `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameRange {
    pub first: u64,
    pub last: Option<u64>,
}

impl std::str::FromStr for FrameRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let range = || {
            let (first, last) = text.split_once('-')?;
            let first = first.parse().ok()?;
            let last = match last {
                "" => None,
                last => Some(last.parse().ok()?),
            };
            Some(Self { first, last })
        };
        match range() {
            Some(range) if range.last.is_none_or(|last| last >= range.first) => Ok(range),
            _ => Err(format!(
                "'{text}' is no range of frames; write 0-99, or 50-"
            )),
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err(format!(
            "'{text}' is not a length; write seconds above 0, at most 86400"
        )),
    }
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(fps) if (0.001..=1000.0).contains(&fps) => Ok(fps),
        _ => Err(format!(
            "'{text}' is not a rate; write frames per second, 0.001 to 1000"
        )),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        _ => Err(format!("'{text}' is not between 0 and 1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        let range = |first, last| Ok(FrameRange { first, last });
        assert_eq!("0-99".parse(), range(0, Some(99)));
        assert_eq!("50-".parse(), range(50, None));
        for bad in ["9", "9-3", "-3", "a-b", ""] {
            assert!(bad.parse::<FrameRange>().is_err(), "{bad}");
        }
    }
}
