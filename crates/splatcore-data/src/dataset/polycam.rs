//! Polycam's raw data ("Export", "Raw data"; PolyForm's repository, README, "Polycam raw data").
//!
//! `keyframes/cameras/TIME.json` holds the camera of `keyframes/images/TIME.jpg`; after Polycam's
//! own optimisation `corrected_cameras` and `corrected_images` hold better ones. A pose is ARKit's:
//! camera to world by rows, camera axes x right, y up, z backward; the world's y points up, units
//! are metres. `timestamp` is taken as microseconds: no description names its unit, and values of
//! 12 digits are hours of a phone that is on.

use super::finding::Finding;
use super::folder;
use super::format::Format;
use super::found::Found;
use super::options::OpenOptions;
use super::photo_index::PhotoIndex;
use super::plausible::values;
use super::pose::{Axes, Pose};
use super::timeline::{self, Timeline};
use crate::words::one_line;
use crate::{DataError, Place};
use serde::Deserialize;
use splatcore_core::{Camera, Lens};
use std::path::{Path, PathBuf};

/// One camera file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[expect(missing_docs, reason = "the names are the format's own")]
pub struct PolycamCamera {
    pub fx: f64,
    pub fy: f64,
    pub cx: f64,
    pub cy: f64,
    pub width: f64,
    pub height: f64,
    pub t_00: f64,
    pub t_01: f64,
    pub t_02: f64,
    pub t_03: f64,
    pub t_10: f64,
    pub t_11: f64,
    pub t_12: f64,
    pub t_13: f64,
    pub t_20: f64,
    pub t_21: f64,
    pub t_22: f64,
    pub t_23: f64,
    /// Polycam's measure of blur. No photo is left out for it.
    #[serde(default)]
    pub blur_score: Option<f64>,
    /// When the photo was taken, microseconds.
    #[serde(default, deserialize_with = "timeline::number")]
    pub timestamp: Option<f64>,
}

/// Reads a camera file. `path` is for messages only.
pub fn parse(bytes: &[u8], path: &Path) -> Result<PolycamCamera, DataError> {
    serde_json::from_slice(bytes).map_err(|e| {
        DataError::new(
            path,
            format!("no camera of Polycam's raw data ({})", one_line(&e)),
            "export the raw data again",
        )
        .at(Place::Line(e.line()))
    })
}

impl PolycamCamera {
    /// The camera, or what is wrong with it.
    pub fn camera(&self) -> Result<Camera, Finding> {
        let (width, height) = values::size(self.width, self.height)?;
        let to_world = [
            [self.t_00, self.t_01, self.t_02, self.t_03],
            [self.t_10, self.t_11, self.t_12, self.t_13],
            [self.t_20, self.t_21, self.t_22, self.t_23],
        ];
        let pose = Pose::from_camera_to_world(&to_world, Axes::OpenGl)
            .map_err(|problem| values::no_pose("its pose", problem))?;
        Ok(Camera {
            width,
            height,
            fx: self.fx,
            fy: self.fy,
            cx: self.cx,
            cy: self.cy,
            rotation: pose.rotation,
            translation: pose.translation,
            lens: Lens::Pinhole,
            shutter: None,
        })
    }
}

/// The folder that holds `cameras` and `images`: `keyframes` below a folder, or the folder itself,
/// if its first camera looks like one of Polycam's.
pub(super) fn keyframes_in(folder: &Path) -> Option<PathBuf> {
    let own = |place: &PathBuf| {
        let (cameras, _) = cameras_and_images(place)?;
        let bytes = folder::read(folder::with_ending(&cameras, "json").first()?).ok()?;
        bytes
            .windows(6)
            .any(|word| word == b"\"t_00\"")
            .then_some(())
    };
    [folder.join("keyframes"), folder.to_path_buf()]
        .into_iter()
        .find(|place| own(place).is_some())
}

/// The better pair of folders that there is, of cameras and of images.
fn cameras_and_images(keyframes: &Path) -> Option<(PathBuf, &'static str)> {
    let pairs = [
        ("corrected_cameras", "corrected_images"),
        ("cameras", "images"),
    ];
    pairs
        .map(|(cameras, images)| (keyframes.join(cameras), images))
        .into_iter()
        .find(|(cameras, images)| {
            keyframes.join(images).is_dir() && !folder::with_ending(cameras, "json").is_empty()
        })
}

/// Reads the cameras of a folder of key frames.
pub(super) fn open(
    root: &Path,
    keyframes: &Path,
    options: &OpenOptions,
) -> Result<Found, DataError> {
    let Some((cameras, images)) = cameras_and_images(keyframes) else {
        return Err(DataError::new(
            keyframes,
            "holds no cameras and images of Polycam's raw data",
            "export the raw data again",
        ));
    };
    let images = options.images.as_deref().unwrap_or(images);
    let photos = PhotoIndex::of(keyframes.join(images));
    let mut found = Found::new(root, Format::Polycam, photos.folder.clone());
    let mut timeline = Timeline::default();
    for file in folder::with_ending(&cameras, "json") {
        let stem = file.file_stem().and_then(|stem| stem.to_str());
        let Some(stem) = stem else { continue };
        let frame = parse(&folder::read(&file)?, &file)?;
        let seconds = frame.timestamp.map(|time| 1e-6 * time);
        let camera = frame.camera();
        let Some((name, image)) = photos.find(stem) else {
            timeline.add(None, seconds, camera.as_ref().ok());
            found.missing.push(stem.to_owned());
            continue;
        };
        timeline.add(Some(&name), seconds, camera.as_ref().ok());
        found.add(name, image, camera);
    }
    timeline.give_motion(&mut found, options.readout);
    Ok(found)
}
