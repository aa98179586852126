//! What an encoder is, and the kinds of files.

use crate::{HAS_AV1, VideoError};
use std::path::PathBuf;

/// Takes frames of one size and writes a file.
pub trait Encoder {
    /// Takes the next frame, `[height][width][3]` bytes of sRGB.
    ///
    /// # Errors
    /// If it has another size, or the file cannot be written.
    fn write(&mut self, rgb: &[u8]) -> Result<(), VideoError>;
    /// Completes the file. Without this call it is no video.
    ///
    /// # Errors
    /// If the file cannot be written.
    fn finish(self: Box<Self>) -> Result<(), VideoError>;
}

/// A file to be made of frames.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The file's final name, for messages.
    pub path: PathBuf,
    /// The file that is written; the caller gives it its final name when it is complete. An older
    /// one is replaced.
    pub place: PathBuf,
    /// Width and height of the frames in pixels.
    pub size: [u32; 2],
    /// How many frames will come.
    pub frames: u64,
    /// Frames per second, above 0.
    pub fps: f64,
    /// From 0, the smallest file, to 100, the best picture. Videos only.
    pub quality: u8,
}

/// What videos are coded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// H.264, by ffmpeg's libx264.
    H264,
    /// H.265, by ffmpeg's libx265.
    H265,
    /// AV1, by ffmpeg's SVT-AV1.
    Av1,
    /// VP9, by ffmpeg's libvpx.
    Vp9,
    /// AV1, by rav1e, which is built in and takes several times as long.
    BuiltIn,
}

impl Codec {
    /// Its name in messages.
    fn name(self) -> &'static str {
        match self {
            Self::H264 => "H.264",
            Self::H265 => "H.265",
            Self::Av1 => "AV1",
            Self::Vp9 => "VP9",
            Self::BuiltIn => "the built-in AV1 encoder",
        }
    }
}

/// What videos lie in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// `.mp4`
    Mp4,
    /// `.mov`
    Mov,
    /// `.mkv`
    Mkv,
    /// `.webm`
    WebM,
}

/// What kind of file frames become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Output {
    /// Through the ffmpeg of that name.
    Ffmpeg(PathBuf, Codec, Container),
    /// AV1 in MP4, without ffmpeg.
    Av1,
    /// An animated PNG, without loss, which plays again and again.
    Apng,
    /// A GIF, 256 colours a frame, which plays again and again.
    Gif,
}

impl Output {
    /// What a video of a name is written with. Without a codec: H.264 by ffmpeg, for WebM VP9;
    /// without ffmpeg AV1, if this build has it ([`crate::HAS_AV1`]). `ffmpeg` is what
    /// [`crate::find_ffmpeg`] found.
    ///
    /// # Errors
    /// If the container cannot hold the codec, or what is needed is missing: ffmpeg, or the encoder
    /// that is built in.
    pub fn video(
        container: Container,
        codec: Option<Codec>,
        ffmpeg: Option<PathBuf>,
    ) -> Result<Self, VideoError> {
        let default = match container {
            Container::WebM => Codec::Vp9,
            Container::Mp4 if ffmpeg.is_none() && HAS_AV1 => Codec::BuiltIn,
            _ => Codec::H264,
        };
        let codec = codec.unwrap_or(default);
        if codec == Codec::BuiltIn && container == Container::Mp4 {
            return HAS_AV1.then_some(Self::Av1).ok_or(VideoError::NoAv1);
        }
        let fits = match container {
            Container::Mp4 | Container::Mkv => codec != Codec::BuiltIn,
            Container::Mov => matches!(codec, Codec::H264 | Codec::H265),
            Container::WebM => matches!(codec, Codec::Vp9 | Codec::Av1),
        };
        let what = format!("{} in .{}", codec.name(), container.extension());
        if !fits {
            return Err(VideoError::Unfit { what });
        }
        match ffmpeg {
            Some(ffmpeg) => Ok(Self::Ffmpeg(ffmpeg, codec, container)),
            None => Err(VideoError::NoFfmpeg { what }),
        }
    }
}

impl Container {
    /// The extension without its dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Mp4 => "mp4",
            Self::Mov => "mov",
            Self::Mkv => "mkv",
            Self::WebM => "webm",
        }
    }
}
