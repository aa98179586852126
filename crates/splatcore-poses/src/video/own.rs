//! Videos that need no program: Y4M and Motion JPEG.

use super::jpeg_frames::JpegFrames;
use super::limits::MAX_SIDE;
use super::measure::{Measured, shrink};
use super::reader::{Reader, Seen, Survey, Taken};
use super::y4m;
use crate::PosesError;
use image::codecs::jpeg::JpegDecoder;
use image::{DynamicImage, ImageDecoder, Limits};
use splatcore_data::DataError;
use std::fs::File;
use std::io::{BufReader, Cursor, Read};
use std::path::Path;

/// What a file is, by its first bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Y4m,
    /// JPEG pictures, with or without AVI around them; frames a second, if the file tells.
    Jpeg(Option<f64>),
}

impl Kind {
    /// What a file is; nothing if it needs a program.
    pub fn of(path: &Path) -> Result<Option<Self>, PosesError> {
        let mut start = Vec::new();
        let file = File::open(path).map_err(|e| DataError::read(path, &e))?;
        // AVI's header lists take some kilobytes.
        file.take(4096)
            .read_to_end(&mut start)
            .map_err(|e| DataError::read(path, &e))?;
        if start.starts_with(b"YUV4MPEG2 ") {
            // Other samples than 8-bit ones are left to a program.
            return Ok(y4m::Frames::new(&start[..]).is_ok().then_some(Self::Y4m));
        }
        if start.starts_with(b"\xff\xd8\xff") {
            return Ok(Some(Self::Jpeg(None)));
        }
        let has = |what: &[u8]| {
            start
                .windows(4)
                .any(|window| window.eq_ignore_ascii_case(what))
        };
        if start.starts_with(b"RIFF") && start.get(8..12) == Some(b"AVI ") && has(b"MJPG") {
            return Ok(Some(Self::Jpeg(avi_rate(&start))));
        }
        Ok(None)
    }
}

/// Frames a second of an AVI: the first number of its chunk `avih` is microseconds a frame.
fn avi_rate(start: &[u8]) -> Option<f64> {
    let at = start.windows(4).position(|window| window == b"avih")?;
    let bytes = start.get(at + 8..)?.first_chunk::<4>()?;
    let microseconds = u32::from_le_bytes(*bytes);
    (microseconds > 0).then(|| 1e6 / f64::from(microseconds))
}

/// Reads such a video.
pub struct Own<'a> {
    pub path: &'a Path,
    pub kind: Kind,
}

impl Own<'_> {
    fn open(&self) -> Result<BufReader<File>, PosesError> {
        let file = File::open(self.path).map_err(|e| DataError::read(self.path, &e))?;
        Ok(BufReader::with_capacity(1 << 18, file))
    }

    fn odd(&self, error: &std::io::Error) -> PosesError {
        DataError::new(
            self.path,
            format!("cannot be decoded ({error})"),
            "check that the file is complete, or install ffmpeg and save it in another format",
        )
        .into()
    }

    fn y4m(&self) -> Result<y4m::Frames<BufReader<File>>, PosesError> {
        y4m::Frames::new(self.open()?).map_err(|e| self.odd(&e))
    }

    fn decode(&self, jpeg: Vec<u8>) -> Result<DynamicImage, PosesError> {
        let mut limits = Limits::default();
        limits.max_image_width = Some(MAX_SIDE);
        limits.max_image_height = Some(MAX_SIDE);
        let decoded = JpegDecoder::new(Cursor::new(jpeg)).and_then(|mut decoder| {
            limits.reserve(decoder.total_bytes())?;
            decoder.set_limits(limits)?;
            DynamicImage::from_decoder(decoder)
        });
        decoded.map_err(|e| self.odd(&std::io::Error::other(e.to_string())))
    }
}

impl Reader for Own<'_> {
    fn survey(&self, seen: &mut Seen<'_>) -> Result<Survey, PosesError> {
        let mut frames = Vec::new();
        let rate = match self.kind {
            Kind::Y4m => {
                let mut source = self.y4m()?;
                let [w, h] = [source.header().width, source.header().height].map(|v| v as usize);
                while source.advance().map_err(|e| self.odd(&e))? {
                    frames.push(Measured::of(&shrink(w, h, source.luma())));
                    seen(frames.len() as u64)?;
                }
                source.header().rate
            }
            Kind::Jpeg(rate) => {
                let mut source = JpegFrames::new(self.open()?);
                while let Some(jpeg) = source.next_frame().map_err(|e| self.odd(&e))? {
                    let grey = self.decode(jpeg)?.into_luma8();
                    let (w, h) = (grey.width() as usize, grey.height() as usize);
                    frames.push(Measured::of(&shrink(w, h, grey.as_raw())));
                    seen(frames.len() as u64)?;
                }
                rate
            }
        };
        Ok(Survey {
            frames,
            rate,
            told: None,
        })
    }

    fn take(&self, indices: &[usize], frame: &mut Taken<'_>) -> Result<(), PosesError> {
        let Some(last) = indices.last() else {
            return Ok(());
        };
        match self.kind {
            Kind::Y4m => {
                let mut source = self.y4m()?;
                for i in 0..=*last {
                    if !source.advance().map_err(|e| self.odd(&e))? {
                        break;
                    }
                    if indices.binary_search(&i).is_ok()
                        && let Some(image) = source.rgb()
                    {
                        frame(image)?;
                    }
                }
            }
            Kind::Jpeg(_) => {
                let mut source = JpegFrames::new(self.open()?);
                for i in 0..=*last {
                    let Some(jpeg) = source.next_frame().map_err(|e| self.odd(&e))? else {
                        break;
                    };
                    if indices.binary_search(&i).is_ok() {
                        frame(self.decode(jpeg)?.into_rgb8())?;
                    }
                }
            }
        }
        Ok(())
    }
}
