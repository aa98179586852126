//! What a video's file says of itself.

use crate::child::{self, Call};
use crate::{Job, PosesError};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// With fewer than this share of the frames that its file tells of, a video is not complete. Rates
/// of uneven frames are off by less.
const COMPLETE: f64 = 0.9;

/// What a video's file says of itself, before any frame is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Told {
    /// Seconds that it lasts.
    pub seconds: f64,
    /// Frames in it.
    pub frames: f64,
    /// Pixels of a frame: width, height.
    pub size: (f64, f64),
}

impl Told {
    /// What is wrong if only so many frames can be read.
    pub fn cut(&self, frames: usize) -> Option<String> {
        let share = frames as f64 / self.frames.max(1.0);
        (share < COMPLETE).then(|| {
            format!(
                "only {:.1} of {:.1} s can be read: the file is cut short or damaged; copy the \
                 video again for the rest",
                share * self.seconds,
                self.seconds
            )
        })
    }
}

/// The ffmpeg that the job names, else the one on `PATH`.
pub fn ffmpeg_of(job: &Job) -> Option<PathBuf> {
    job.ffmpeg.clone().or_else(|| child::on_path("ffmpeg"))
}

/// What the file of the job's video says of itself, as far as ffmpeg understands it.
pub fn told(job: &Job) -> Option<Told> {
    told_by(&ffmpeg_of(job)?, &job.input)
}

/// What this ffmpeg says of a video's file.
pub fn about(ffmpeg: &Path, video: &Path) -> Result<String, PosesError> {
    let call = Call::new(ffmpeg)
        .args(["-hide_banner", "-nostdin", "-i"])
        .arg(video);
    // Without an output it says what the file is, and fails.
    child::output(&call, Duration::from_secs(10)).map(|(_, text)| text)
}

/// What a video's file says of itself, asked by this ffmpeg.
pub fn told_by(ffmpeg: &Path, video: &Path) -> Option<Told> {
    parse(&about(ffmpeg, video).ok()?)
}

/// `Duration: 00:01:02.50, ...` and `Stream #0:0: Video: h264 ..., 1280x720 [...], 30 fps, ...`.
fn parse(text: &str) -> Option<Told> {
    let (_, after) = text.split_once("Duration: ")?;
    let mut seconds = 0.0;
    for part in after.split(',').next()?.split(':') {
        seconds = 60.0 * seconds + part.trim().parse::<f64>().ok()?;
    }
    let stream = text.lines().find(|line| line.contains(" Video: "))?;
    let words = || stream.split([' ', ',']);
    let size = words().find_map(|word| {
        let (width, height) = word.split_once('x')?;
        let side = |text: &str| text.parse::<f64>().ok().filter(|side| *side >= 2.0);
        Some((side(width)?, side(height)?))
    })?;
    let words: Vec<&str> = words().collect();
    let rate = words.windows(2).find(|pair| pair[1] == "fps");
    let rate = rate.and_then(|pair| pair[0].parse::<f64>().ok());
    Some(Told {
        seconds,
        frames: seconds * rate.unwrap_or(30.0),
        size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_tells_its_length_and_size() {
        let text = "Input #0, mov,mp4,m4a, from 'a.mp4':\n  Duration: 00:01:02.50, start: 0.0, \
                    bitrate: 80 kb/s\n  Stream #0:0[0x1](und): Video: h264 (High) (avc1 / \
                    0x31637661), yuv420p(progressive), 1280x720 [SAR 1:1 DAR 16:9], 78 kb/s, 24 \
                    fps, 24 tbr, 12288 tbn (default)\n";
        let wanted = Told {
            seconds: 62.5,
            frames: 1500.0,
            size: (1280.0, 720.0),
        };
        assert_eq!(parse(text), Some(wanted));
        assert_eq!(wanted.cut(1498), None);
        let half = wanted.cut(750).unwrap();
        assert!(
            half.starts_with("only 31.2 of 62.5 s can be read"),
            "{half}"
        );
        assert_eq!(parse("a.mp4: Invalid data found"), None);
        assert_eq!(parse("Duration: N/A, bitrate: N/A"), None);
    }
}
