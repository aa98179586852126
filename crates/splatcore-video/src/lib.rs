//! Frames to files: videos, animated pictures, folders of PNG files.
//!
//! Frames are 8-bit sRGB, `[height][width][3]`, all of one size. An [`Encoder`] takes them one by
//! one; its file has its final name only when [`Encoder::finish`] returns. Videos store 4:2:0 with
//! BT.709's matrix in limited range, tagged with BT.709's primaries and sRGB's transfer function,
//! so both sides must be even: an odd side gets one more column or row, a copy of the last.
//!
//! Which file answers which question:
//!
//! | question | file |
//! | --- | --- |
//! | which encoder writes which file | `encoder.rs`, `open.rs` |
//! | how is ffmpeg found and fed | `ffmpeg.rs` |
//! | how is AV1 written without it | `av1.rs`, `yuv.rs` |
//! | animated PNG and GIF | `apng.rs`, `gif.rs` |
//! | which frames of a folder are kept | `frames.rs` |
//! | how are several samples of a pixel averaged | `average.rs` |

mod apng;
#[cfg(feature = "av1")]
mod av1;
mod average;
mod encoder;
mod error;
mod ffmpeg;
mod frames;
mod gif;
mod open;
mod rate;
mod yuv;

pub use average::Average;
pub use encoder::{Codec, Container, Encoder, Job, Output};
pub use error::VideoError;
pub use ffmpeg::find as find_ffmpeg;
pub use frames::FrameFolder;
pub use gif::MAX_FPS as MAX_GIF_FPS;
pub use open::open;

/// Whether this build writes AV1 without ffmpeg: the feature `av1`.
pub const HAS_AV1: bool = cfg!(feature = "av1");
