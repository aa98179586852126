//! Starts the encoder of a kind of file.

#[cfg(feature = "av1")]
use crate::av1;
use crate::encoder::{Encoder, Job, Output};
use crate::{VideoError, apng, ffmpeg, gif};
use std::fs::File;

/// Starts a file.
///
/// # Errors
/// If the size or the rate do not fit the kind of file, or it cannot be written.
pub fn open(output: &Output, job: Job) -> Result<Box<dyn Encoder>, VideoError> {
    let [width, height] = job.size;
    let area = u64::from(width) * u64::from(height);
    if area == 0 || area > 1 << 30 || !(job.fps.is_finite() && job.fps > 0.0) || job.frames == 0 {
        let problem = format!(
            "{} frames of {width}x{height} at {} a second",
            job.frames, job.fps
        );
        return Err(VideoError::new(
            &job.path,
            problem,
            "ask for at least one of each",
        ));
    }
    Ok(match output {
        Output::Ffmpeg(program, codec, container) => {
            Box::new(ffmpeg::Ffmpeg::start(program, *codec, *container, job)?)
        }
        #[cfg(feature = "av1")]
        Output::Av1 => Box::new(av1::Av1::start(job)?),
        #[cfg(not(feature = "av1"))]
        Output::Av1 => return Err(VideoError::NoAv1),
        Output::Apng => Box::new(apng::Apng::start(job)?),
        Output::Gif => Box::new(gif::Gif::start(job)?),
    })
}

impl Job {
    /// The file, empty.
    pub(crate) fn create(&self) -> Result<File, VideoError> {
        File::create(&self.place).map_err(|error| VideoError::write(&self.path, &error))
    }

    /// Whether a frame has the size of all.
    pub(crate) fn check(&self, rgb: &[u8]) -> Result<(), VideoError> {
        let [width, height] = self.size;
        if rgb.len() as u64 == 3 * u64::from(width) * u64::from(height) {
            return Ok(());
        }
        let problem = format!("a frame of {} bytes is not of {width}x{height}", rgb.len());
        Err(VideoError::new(
            &self.path,
            problem,
            "give frames of one size",
        ))
    }
}
