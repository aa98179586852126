//! GIF.

use crate::VideoError;
use crate::encoder::{Encoder, Job};
use std::fs::File;
use std::io::{BufWriter, Write as _};

/// Browsers show frames shorter than two hundredths of a second for ten.
pub const MAX_FPS: f64 = 50.0;
/// Of NeuQuant, which chooses the colours of each frame: every tenth pixel teaches it.
const SPEED: i32 = 10;

/// A picture being written.
pub struct Gif {
    job: Job,
    encoder: ::gif::Encoder<BufWriter<File>>,
    written: u64,
}

impl Gif {
    pub fn start(job: Job) -> Result<Self, VideoError> {
        let [width, height] = job.size.map(u16::try_from);
        let (Ok(width), Ok(height)) = (width, height) else {
            let problem = "a GIF has at most 65535 pixels a side";
            return Err(VideoError::new(&job.path, problem, "choose a smaller size"));
        };
        if job.fps > MAX_FPS {
            let problem = format!("a GIF shows at most {MAX_FPS} frames a second");
            return Err(VideoError::new(
                &job.path,
                problem,
                "choose fewer, or another format",
            ));
        }
        let file = BufWriter::new(job.create()?);
        let started = ::gif::Encoder::new(file, width, height, &[]).and_then(|mut encoder| {
            encoder.set_repeat(::gif::Repeat::Infinite)?;
            Ok(encoder)
        });
        let encoder = started.map_err(|error| VideoError::write(&job.path, &error))?;
        Ok(Self {
            job,
            encoder,
            written: 0,
        })
    }
}

impl Encoder for Gif {
    fn write(&mut self, rgb: &[u8]) -> Result<(), VideoError> {
        self.job.check(rgb)?;
        let [width, height] = self.job.size.map(|side| side as u16);
        let mut frame = ::gif::Frame::from_rgb_speed(width, height, rgb, SPEED);
        // Hundredths of a second, rounded so that the sum is right.
        let at = |i: u64| (100.0 * i as f64 / self.job.fps).round();
        let delay = at(self.written + 1) - at(self.written);
        frame.delay = delay.clamp(0.0, 65_535.0) as u16;
        self.written += 1;
        let written = self.encoder.write_frame(&frame);
        written.map_err(|error| VideoError::write(&self.job.path, &error))
    }

    fn finish(self: Box<Self>) -> Result<(), VideoError> {
        let Self { job, encoder, .. } = *self;
        let failed = |error: &dyn std::fmt::Display| VideoError::write(&job.path, error);
        let mut file = encoder.into_inner().map_err(|error| failed(&error))?;
        file.flush().map_err(|error| failed(&error))
    }
}
