//! The frames of a capture in time, for formats whose files say when photos were taken and not how
//! long the camera read them: 3D Scanner App, Polycam, Record3D, frames of a video. The time of the
//! read-out is that of the options with which the dataset is opened.

use super::finding::Finding;
use super::found::Found;
use super::neighbours::{self, Neighbours};
use super::options::ReadoutTime;
use super::pose::Pose;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use splatcore_core::Camera;
use std::collections::{HashMap, HashSet};

/// Times and poses of a capture's frames, of those too that have no photo.
#[derive(Default)]
pub(super) struct Timeline {
    /// Number, seconds, and pose.
    frames: Vec<(usize, f64, Pose)>,
    /// The frame's number by the name of its photo.
    photos: HashMap<String, usize>,
    /// How many frames there are, with a time or without.
    count: usize,
    /// How the camera of a frame turned by a gyroscope, radians a second about its own axes.
    turns: HashMap<usize, [f64; 3]>,
}

impl Timeline {
    /// Takes a frame with its camera, if that can be one.
    pub fn add(&mut self, photo: Option<&str>, seconds: Option<f64>, camera: Option<&Camera>) {
        let frame = self.count;
        self.count += 1;
        if let Some(name) = photo {
            self.photos.insert(name.to_owned(), frame);
        }
        if let (Some(seconds), Some(camera)) = (seconds.filter(|s| s.is_finite()), camera) {
            let pose = Pose {
                rotation: camera.rotation,
                translation: camera.translation,
            };
            self.frames.push((frame, seconds, pose));
        }
    }

    /// Notes how a photo's camera turned, radians a second about its own axes. Then neighbours tell
    /// only how its place moved.
    pub fn turns(&mut self, photo: &str, velocity: [f64; 3]) {
        if let Some(&frame) = self.photos.get(photo) {
            self.turns.insert(frame, velocity);
        }
    }

    /// Gives photos the motion that their neighbours in time tell. What keeps one from it is
    /// doubtful, and the photo has a global shutter.
    pub fn give_motion(self, found: &mut Found, readout: Option<ReadoutTime>) {
        found.tells_motion = !self.frames.is_empty();
        let Some(readout) = readout.filter(|r| found.tells_motion && r.seconds > 0.0) else {
            return;
        };
        let timed: HashSet<usize> = self.frames.iter().map(|&(frame, ..)| frame).collect();
        let neighbours = Neighbours::of(self.frames.into_iter());
        for entry in &mut found.entries {
            let Some(&frame) = self.photos.get(&entry.name) else {
                continue;
            };
            let moved = match timed.contains(&frame) {
                true => {
                    let mut motion = neighbours.motion(frame);
                    if let Some(&turn) = self.turns.get(&frame) {
                        let known = motion.unwrap_or_default();
                        motion = Some(known.with_turn(turn, &entry.camera));
                    }
                    neighbours::shutter(motion, &entry.camera, readout)
                }
                false => Err(Finding::doubtful(
                    "the time when it was taken",
                    "not given",
                    "seconds, as others have; the photo is used as one of a global shutter",
                )),
            };
            match moved {
                Ok(shutter) => entry.camera.shutter = Some(shutter),
                Err(doubt) => found.findings.push(doubt.of(&entry.name)),
            }
        }
    }
}

/// A number, or nothing where a file has something else: a time is not worth an error.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(Value::deserialize(from)?.as_f64())
}

/// The same of a list; none where a file has no list.
pub(super) fn numbers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Option<f64>>, D::Error> {
    let list = Value::deserialize(from)?;
    let list = list.as_array().map_or(&[][..], Vec::as_slice);
    Ok(list.iter().map(Value::as_f64).collect())
}
