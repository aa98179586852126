//! When the frames were taken that are photos, and how the camera turned meanwhile: what the
//! dataset's file `frames.json` says, with which training knows a rolling shutter's motion.

use super::gyro::{Aligned, Gyro, Misfit, Source, align};
use super::told::{about, ffmpeg_of};
use super::{own, y4m};
use crate::{Job, PosesError};
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::shutter::Readout;
use splatcore_data::dataset::colmap::ColmapImage;
use splatcore_data::dataset::{Frame, Frames};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

/// When frames were taken.
enum Clock {
    /// Frames a second.
    Steady(f64),
    /// Seconds of each.
    Each(Vec<f64>),
}

impl Clock {
    fn at(&self, frame: usize) -> Option<f64> {
        match self {
            Self::Steady(rate) => Some(frame as f64 / rate),
            Self::Each(seconds) => seconds.get(frame).copied(),
        }
    }
}

/// What a video tells of its photos.
pub struct Told {
    /// When they were taken, and if the gyroscope fits the poses how the camera turned.
    pub frames: Frames,
    /// What the gyroscope is worth, for people; nothing without one.
    pub gyro: Option<Result<String, String>>,
}

/// When the photos of these names and poses were taken, and how the camera turned. Nothing where
/// the file does not tell the times.
///
/// # Errors
/// ffmpeg cannot be run. What a video says is never an error.
pub fn tell(
    job: &Job,
    images: &[ColmapImage],
    stop: &dyn Fn() -> bool,
) -> Result<Option<Told>, PosesError> {
    let Some((clock, gyro, direction)) = read(job, stop)? else {
        return Ok(None);
    };
    let timed = |image: &ColmapImage| {
        let rotation = rotation_from_quaternion(image.quaternion)?;
        let seconds = clock.at(number(&image.name)?)?;
        Some((image.name.clone(), seconds, rotation))
    };
    let mut photos: Vec<_> = images.iter().filter_map(timed).collect();
    photos.sort_by(|a, b| a.1.total_cmp(&b.1));
    let poses: Vec<_> = photos.iter().map(|photo| (photo.1, photo.2)).collect();
    let gyro = gyro.map(|gyro| match fits(&gyro, &poses) {
        Ok(aligned) => Ok((gyro, aligned)),
        Err(why) => Err(format!("the video's gyroscope is not used: {why}")),
    });
    let turn = |seconds: f64| match &gyro {
        Some(Ok((gyro, aligned))) => aligned.velocity(&gyro.turns, seconds),
        _ => None,
    };
    let frames = photos.into_iter().map(|(name, seconds, _)| Frame {
        angular_velocity: turn(seconds),
        name,
        seconds,
    });
    let frames = Frames {
        frames: frames.collect(),
        readout_seconds: match &gyro {
            Some(Ok((gyro, _))) => gyro.readout,
            _ => None,
        },
        readout_direction: direction,
    };
    let gyro = gyro.map(|gyro| gyro.map(|(_, aligned)| said(&aligned)));
    Ok(Some(Told { frames, gyro }))
}

/// The times of a video's frames, its gyroscope, and the order of its photos' lines.
type Read = (Clock, Option<Gyro>, Option<Readout>);

fn read(job: &Job, stop: &dyn Fn() -> bool) -> Result<Option<Read>, PosesError> {
    if let Some(kind) = own::Kind::of(&job.input)? {
        return Ok(steady(&job.input, kind).map(|clock| (clock, None, None)));
    }
    let Some(ffmpeg) = ffmpeg_of(job) else {
        return Ok(None);
    };
    let source = Source {
        ffmpeg: &ffmpeg,
        video: &job.input,
        stop,
    };
    let about = about(&ffmpeg, &job.input)?;
    let packets = source.packets("0:V:0")?;
    // What is before the beginning is decoded and not shown.
    let shown = packets.iter().map(|packet| packet.seconds);
    let mut shown: Vec<f64> = shown.filter(|seconds| *seconds >= 0.0).collect();
    shown.sort_by(f64::total_cmp);
    if shown.is_empty() {
        return Ok(None);
    }
    let gyro = match job.no_gyro {
        true => None,
        false => source.gyro(&about)?,
    };
    Ok(Some((Clock::Each(shown), gyro, direction(&about))))
}

/// Aligns a gyroscope with the poses of photos.
///
/// # Errors
/// Why it is of no use.
fn fits(gyro: &Gyro, poses: &[(f64, [[f64; 3]; 3])]) -> Result<Aligned, String> {
    if gyro.stabilised {
        let why = "the camera stabilised the pictures, whose turns it does not tell then; turn \
                   that off for captures";
        return Err(why.into());
    }
    if gyro.readout.is_none() {
        return Err("the video does not say how long a frame is read".into());
    }
    align(&gyro.turns, poses).map_err(|misfit| match misfit {
        Misfit::Few => "too few photos have a pose and values of it between them".into(),
        Misfit::Still => "the camera hardly turned, or about one axis only".into(),
        Misfit::Differs(share) => format!(
            "its turns and those of the poses differ by {:.0} %",
            100.0 * share.min(10.0)
        ),
    })
}

/// How well a gyroscope fits.
fn said(aligned: &Aligned) -> String {
    format!(
        "the video's gyroscope fits the poses to {:.1} %, its clock is {:+.0} ms off",
        100.0 * aligned.misfit,
        1e3 * aligned.shift
    )
}

/// The rate of a video that needs no program, if its file tells.
fn steady(path: &Path, kind: own::Kind) -> Option<Clock> {
    let rate = match kind {
        own::Kind::Jpeg(rate) => rate,
        own::Kind::Y4m => {
            let file = File::open(path).ok()?;
            y4m::Frames::new(BufReader::new(file)).ok()?.header().rate
        }
    };
    rate.filter(|rate| rate.is_finite() && *rate > 0.0)
        .map(Clock::Steady)
}

/// The number of a frame by its photo, as [`super::take`] names it.
fn number(name: &str) -> Option<usize> {
    let digits = name.strip_prefix("frame_")?;
    let end = digits.find('.')?;
    digits[..end].parse().ok()
}

/// How lines of the photos are read, if frames are turned to be upright: `displaymatrix: rotation
/// of -90.00 degrees`, counterclockwise, or an older ffmpeg's `rotate : 90`, clockwise. Sensors are
/// read from what they hold to be the top.
fn direction(about: &str) -> Option<Readout> {
    let number = |text: &str| {
        let word = text.split_whitespace().next()?;
        word.parse::<f64>().ok()
    };
    let clockwise = about.lines().find_map(|line| {
        let of = line.split_once("rotation of ").map(|(_, text)| text);
        let old = line.trim().strip_prefix("rotate");
        let old = old.and_then(|text| text.trim_start().strip_prefix(':'));
        of.and_then(number).map(|v| -v).or(old.and_then(number))
    })?;
    Some(match clockwise.rem_euclid(360.0).round() as i32 {
        90 => Readout::RightToLeft,
        180 => Readout::BottomToTop,
        270 => Readout::LeftToRight,
        _ => Readout::TopToBottom,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turned_frames_are_read_from_their_side() {
        for (about, wanted) in [
            (
                "      displaymatrix: rotation of -90.00 degrees",
                Some(Readout::RightToLeft),
            ),
            (
                "      displaymatrix: rotation of 90.00 degrees",
                Some(Readout::LeftToRight),
            ),
            (
                "      displaymatrix: rotation of -180.00 degrees",
                Some(Readout::BottomToTop),
            ),
            ("      rotate          : 90", Some(Readout::RightToLeft)),
            ("  Stream #0:0: Video: h264", None),
        ] {
            assert_eq!(direction(about), wanted, "{about}");
        }
    }

    #[test]
    fn photos_tell_their_frames() {
        assert_eq!(number("frame_000120.jpg"), Some(120));
        assert_eq!(number("frame_.jpg"), None);
        assert_eq!(number("a.jpg"), None);
    }
}
