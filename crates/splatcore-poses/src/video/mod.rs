//! Frames of a video: which are sharp and show something new, written as photos.
//!
//! Two passes: the first decodes every frame small and measures it, the second takes the chosen
//! frames at full size. Once photos have poses, `when.rs` says when they were taken, and how the
//! camera turned if the video has a gyroscope (`gyro/`).

mod choose;
mod ffmpeg;
mod gyro;
pub mod jpeg_frames;
mod limits;
mod measure;
mod own;
mod pipe;
mod ppm;
mod reader;
mod told;
mod when;
pub mod y4m;

use crate::track::Track;
use crate::{Job, PosesError};
use image::{ExtendedColorType, RgbImage};
use reader::Reader;
use splatcore_data::{DataError, file, picture};
use std::path::Path;
pub use told::{Told, told};
pub use when::tell as tell_times;

/// Quality of the JPEG files.
const QUALITY: u8 = 95;
/// Frames a second taken where nothing was asked for, and their bounds.
const PER_SECOND: f64 = 2.0;
const FEWEST: usize = 40;
const MAX: usize = 300;

/// Looking at a video's frames and taking some: phases of the work.
pub const PHASES: usize = 2;

/// Writes frames of the job's video into a folder.
///
/// # Errors
/// The video cannot be decoded, no program for it is there, or nothing can be written.
pub fn take(job: &Job, folder: &Path, track: &mut Track<'_>) -> Result<(), PosesError> {
    let path = job.input.as_path();
    let track = std::cell::RefCell::new(track);
    // Asked several times a second, so it is the clock too.
    let stop = || {
        let mut track = track.borrow_mut();
        track.tick();
        track.stop()
    };
    let stopped = || PosesError::Stopped {
        dataset: job.dataset.clone(),
        repeated: Some("the search for frames"),
    };
    let reader: Box<dyn Reader + '_> = match own::Kind::of(path)? {
        Some(kind) => Box::new(own::Own { path, kind }),
        None => Box::new(ffmpeg::Ffmpeg::find(job, path, &stop)?),
    };
    track
        .borrow_mut()
        .begin(1, "looking at frames", 0, [None; 2]);
    // A program that is ended because of a stop fails.
    let told = |error| if stop() { stopped() } else { error };
    let survey = reader.survey(&mut |seen| {
        track.borrow_mut().count(seen, 0);
        if stop() { Err(stopped()) } else { Ok(()) }
    });
    let survey = survey.map_err(told)?;
    let found = survey.frames.len();
    if let Some(cut) = survey.told.and_then(|told| told.cut(found)) {
        let line = format!("warning: {}: {cut}", path.display());
        track.borrow_mut().note(&line);
    }
    let wanted = job
        .frames
        .map_or_else(|| usual(found, survey.rate), |n| n as usize);
    let chosen = choose::choose(&survey.frames, wanted);
    if chosen.frames.len() < 2 {
        let problem = match found {
            0 | 1 => format!("holds {found} frames"),
            _ => "shows the same all the time".to_owned(),
        };
        let remedy = "give a video of a walk around the object";
        return Err(DataError::new(path, problem, remedy).into());
    }
    track
        .borrow_mut()
        .note(&chosen.described(found, survey.rate));
    let (total, mut done) = (chosen.frames.len() as u64, 0);
    track
        .borrow_mut()
        .begin(2, "taking frames", total, [None; 2]);
    let mut names = chosen.frames.iter();
    let taken = reader.take(&chosen.frames, &mut |image| {
        if stop() {
            return Err(stopped());
        }
        if let Some(index) = names.next() {
            let ending = if job.png { "png" } else { "jpg" };
            write(
                &folder.join(format!("frame_{index:06}.{ending}")),
                &image,
                job.png,
            )?;
        }
        done += 1;
        track.borrow_mut().count(done, total);
        Ok(())
    });
    taken.map_err(told)?;
    if done < total {
        let problem = format!("gave {done} of {total} frames when it was read again");
        return Err(DataError::new(path, problem, "check that the file is complete").into());
    }
    Ok(())
}

/// How many frames are taken of a video that lasts so many seconds.
pub fn usual_of_seconds(seconds: f64) -> usize {
    ((seconds * PER_SECOND) as usize).clamp(FEWEST, MAX)
}

/// How many frames to take of `found`.
fn usual(found: usize, rate: Option<f64>) -> usize {
    let seconds = found as f64 / rate.filter(|r| (1.0..=240.0).contains(r)).unwrap_or(30.0);
    usual_of_seconds(seconds)
}

fn write(path: &Path, image: &RgbImage, png: bool) -> Result<(), PosesError> {
    let size = [image.width(), image.height()];
    let encoded = match png {
        true => picture::png(image, size, ExtendedColorType::Rgb8),
        false => picture::jpeg(image, size, ExtendedColorType::Rgb8, QUALITY),
    };
    let bytes = encoded.map_err(|e| DataError::write(path, &std::io::Error::other(e)))?;
    Ok(file::write_bytes(path, &bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_videos_give_more_frames_within_bounds() {
        assert_eq!(usual(300, Some(30.0)), 40);
        assert_eq!(usual(3000, Some(30.0)), 200);
        assert_eq!(usual(30000, Some(60.0)), 300);
        assert_eq!(usual(3000, Some(0.0)), 200);
        assert_eq!(usual(3000, Some(f64::NAN)), 200);
    }
}
