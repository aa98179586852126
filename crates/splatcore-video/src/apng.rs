//! Animated PNG.

use crate::VideoError;
use crate::encoder::{Encoder, Job};
use crate::rate::fraction;
use png::{BitDepth, ColorType, SrgbRenderingIntent, Writer};
use std::fs::File;
use std::io::BufWriter;

/// A picture being written.
pub struct Apng {
    job: Job,
    writer: Writer<BufWriter<File>>,
}

impl Apng {
    pub fn start(job: Job) -> Result<Self, VideoError> {
        let failed = |error: &dyn std::fmt::Display| VideoError::write(&job.path, error);
        let Ok(frames) = u32::try_from(job.frames) else {
            let problem = format!("{} frames are too many for a PNG", job.frames);
            return Err(VideoError::new(&job.path, problem, "write a video"));
        };
        let file = BufWriter::new(job.create()?);
        let mut encoder = png::Encoder::new(file, job.size[0], job.size[1]);
        encoder.set_color(ColorType::Rgb);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_source_srgb(SrgbRenderingIntent::Perceptual);
        let (numerator, denominator) = delay(job.fps);
        encoder
            .set_animated(frames, 0)
            .map_err(|error| failed(&error))?;
        encoder
            .set_frame_delay(numerator, denominator)
            .map_err(|error| failed(&error))?;
        let writer = encoder.write_header().map_err(|error| failed(&error))?;
        Ok(Self { job, writer })
    }
}

/// Seconds of a frame as a fraction of 16 bits each.
fn delay(fps: f64) -> (u16, u16) {
    let (rate, unit) = fraction(fps);
    match (u16::try_from(unit), u16::try_from(rate)) {
        (Ok(unit), Ok(rate)) => (unit, rate),
        _ => ((60_000.0 / fps).round().clamp(1.0, 65_535.0) as u16, 60_000),
    }
}

impl Encoder for Apng {
    fn write(&mut self, rgb: &[u8]) -> Result<(), VideoError> {
        self.job.check(rgb)?;
        let written = self.writer.write_image_data(rgb);
        written.map_err(|error| VideoError::write(&self.job.path, &error))
    }

    fn finish(self: Box<Self>) -> Result<(), VideoError> {
        let Self { job, writer } = *self;
        writer
            .finish()
            .map_err(|error| VideoError::write(&job.path, &error))
    }
}
