//! `frames.json`, beside the folder `images` of a dataset of COLMAP: when the frames of a video
//! were taken, and how the camera turned meanwhile by its gyroscope. `splatcore poses` writes it.

use super::found::Found;
use super::options::ReadoutTime;
use super::timeline::Timeline;
use crate::words::one_line;
use crate::{DataError, file};
use serde::{Deserialize, Serialize};
use splatcore_core::Camera;
use splatcore_core::shutter::Readout;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const NAME: &str = "frames.json";
/// A read-out is shorter than this many seconds.
const LONGEST: f64 = 1.0;

/// When the frames of a video were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frames {
    /// Seconds from the reading of a frame's one edge to that of the other, if the video says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readout_seconds: Option<f64>,
    /// The order in which the lines of the photos are read, if the video says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub readout_direction: Option<Readout>,
    /// The frames that are photos of the dataset.
    pub frames: Vec<Frame>,
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Frame {
    /// The photo below `images`.
    pub name: String,
    /// Seconds since the video began.
    pub seconds: f64,
    /// How the camera turned when it read the middle of the frame: radians a second about its axes
    /// (x right, y down, z forward).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub angular_velocity: Option<[f64; 3]>,
}

impl Frames {
    /// The file of a dataset.
    #[must_use]
    pub fn path(dataset: &Path) -> PathBuf {
        dataset.join(NAME)
    }

    /// Writes the file of a dataset.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, dataset: &Path) -> Result<(), DataError> {
        let path = Self::path(dataset);
        let text = serde_json::to_string_pretty(self)
            .map_err(|e| DataError::write(&path, &std::io::Error::other(e)))?;
        file::write_bytes(&path, format!("{text}\n").as_bytes())
    }

    /// The file of a dataset, if there is one.
    ///
    /// # Errors
    /// One line: what is wrong with it.
    fn read(dataset: &Path) -> Result<Option<Self>, String> {
        let path = Self::path(dataset);
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(DataError::read(&path, &error).to_string()),
        };
        let wrong = |what: String| {
            let path = path.display();
            format!("{path}: {what}; times of frames are not used: find the poses again")
        };
        let frames: Self = serde_json::from_slice(&bytes).map_err(|e| wrong(one_line(&e)))?;
        if let Some(seconds) = frames.readout_seconds
            && !(0.0..LONGEST).contains(&seconds)
        {
            return Err(wrong(format!("a read-out of {seconds} s")));
        }
        Ok(Some(frames))
    }

    /// The read-out that the file tells. Each part that it does not tell is that of `given`.
    fn readout(&self, given: Option<ReadoutTime>) -> Option<ReadoutTime> {
        let seconds = self.readout_seconds.or(given.map(|given| given.seconds))?;
        let order = self.readout_direction.or(given.map(|given| given.order));
        Some(ReadoutTime {
            seconds,
            order: order.unwrap_or(Readout::TopToBottom),
        })
    }
}

/// Gives photos the motion that the dataset's file of frames tells, if there is one. What is wrong
/// with the file is a warning.
pub(super) fn give_motion(found: &mut Found, given: Option<ReadoutTime>) {
    let frames = match Frames::read(&found.root) {
        Ok(Some(frames)) => frames,
        Ok(None) => return,
        Err(warning) => return found.warnings.push(warning),
    };
    let mut timeline = Timeline::default();
    let photos = found.entries.iter().map(|e| (e.name.as_str(), &e.camera));
    let photos: HashMap<&str, &Camera> = photos.collect();
    for frame in &frames.frames {
        if let Some(camera) = photos.get(frame.name.as_str()) {
            timeline.add(Some(&frame.name), Some(frame.seconds), Some(camera));
            if let Some(velocity) = frame.angular_velocity {
                timeline.turns(&frame.name, velocity);
            }
        }
    }
    timeline.give_motion(found, frames.readout(given));
}
