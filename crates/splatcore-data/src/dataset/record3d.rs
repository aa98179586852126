//! Record3D's export "EXR + RGB" (record3d.app): `metadata.json` and `rgb/0.jpg`, `rgb/1.jpg`, ...
//!
//! `poses` holds a quaternion x y z w and a position for each frame, camera to world, camera axes x
//! right, y up, z backward (ARKit's); `K` the intrinsic matrix by columns, in pixels of a `w` by
//! `h` photo; `perFrameIntrinsicCoeffs` fx, fy, cx, cy of each frame, if the lens refocused;
//! `frameTimestamps` when each was taken, in seconds, else they are `fps` a second. Units are
//! metres.

use super::finding::Finding;
use super::folder;
use super::format::Format;
use super::found::Found;
use super::options::OpenOptions;
use super::plausible::values;
use super::pose::{Axes, Pose};
use super::timeline::{self, Timeline};
use crate::words::one_line;
use crate::{DataError, Place};
use serde::Deserialize;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::{Camera, Lens};
use std::path::Path;

/// A whole `metadata.json`; unknown keys are ignored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Metadata {
    /// Width of a photo in pixels.
    pub w: f64,
    /// Height of a photo in pixels.
    pub h: f64,
    /// Intrinsic matrix by columns: fx 0 0 0 fy 0 cx cy 1.
    #[serde(rename = "K")]
    pub k: [f64; 9],
    /// x y z w of the rotation and x y z of the position, camera to world.
    pub poses: Vec<[f64; 7]>,
    /// fx, fy, cx, cy of each frame.
    #[serde(default, rename = "perFrameIntrinsicCoeffs")]
    pub per_frame: Option<Vec<[f64; 4]>>,
    /// When each frame was taken, seconds.
    #[serde(
        default,
        rename = "frameTimestamps",
        deserialize_with = "timeline::numbers"
    )]
    pub times: Vec<Option<f64>>,
    /// Frames a second.
    #[serde(default, deserialize_with = "timeline::number")]
    pub fps: Option<f64>,
}

/// Reads a `metadata.json`. `path` is for messages only.
///
/// # Errors
/// No JSON with these keys, a size that is no photo's, or not as many intrinsics as poses.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Metadata, DataError> {
    let error =
        |problem: String| DataError::new(path, problem, "export the recording again, as EXR + RGB");
    let metadata: Metadata = serde_json::from_slice(bytes).map_err(|e| {
        error(format!("no metadata of Record3D ({})", one_line(&e))).at(Place::Line(e.line()))
    })?;
    values::size(metadata.w, metadata.h).map_err(|finding| error(finding.to_string()))?;
    match &metadata.per_frame {
        Some(own) if !own.is_empty() && own.len() != metadata.poses.len() => Err(error(format!(
            "{} intrinsics for {} poses",
            own.len(),
            metadata.poses.len()
        ))),
        _ => Ok(metadata),
    }
}

impl Metadata {
    /// When a frame was taken, seconds.
    fn time(&self, frame: usize) -> Option<f64> {
        match self.times.len() == self.poses.len() {
            true => self.times[frame],
            false => {
                let fps = self.fps.filter(|&fps| fps > 0.0)?;
                Some(frame as f64 / fps)
            }
        }
    }

    /// The camera of a frame, or what is wrong with it.
    ///
    /// # Panics
    /// If there is no such frame.
    pub fn camera(&self, frame: usize) -> Result<Camera, Finding> {
        let [x, y, z, w, px, py, pz] = self.poses[frame];
        let rotation = rotation_from_quaternion([w, x, y, z])
            .ok_or_else(|| values::no_rotation([x, y, z, w]))?;
        let position = [px, py, pz];
        let to_world = std::array::from_fn(|i| {
            let [a, b, c] = rotation[i];
            [a, b, c, position[i]]
        });
        let pose = Pose::from_camera_to_world(&to_world, Axes::OpenGl)
            .map_err(|problem| values::no_pose("its pose", problem))?;
        let own = self.per_frame.as_ref().and_then(|own| own.get(frame));
        let shared = [self.k[0], self.k[4], self.k[6], self.k[7]];
        let [fx, fy, cx, cy] = *own.unwrap_or(&shared);
        Ok(Camera {
            width: self.w.round() as u32,
            height: self.h.round() as u32,
            fx,
            fy,
            cx,
            cy,
            rotation: pose.rotation,
            translation: pose.translation,
            lens: Lens::Pinhole,
            shutter: None,
        })
    }
}

/// Whether a folder holds an export.
pub(super) fn is_in(folder: &Path) -> bool {
    folder.join("metadata.json").is_file() && folder.join("rgb").is_dir()
}

/// Reads the poses of an export.
pub(super) fn open(root: &Path, file: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let metadata = parse(&folder::read(file)?, file)?;
    let images = root.join(options.images.as_deref().unwrap_or("rgb"));
    let mut found = Found::new(root, Format::Record3d, images);
    let mut timeline = Timeline::default();
    for frame in 0..metadata.poses.len() {
        let (camera, seconds) = (metadata.camera(frame), metadata.time(frame));
        let Some((name, image)) = folder::image(&found.images, &frame.to_string()) else {
            timeline.add(None, seconds, camera.as_ref().ok());
            found.missing.push(frame.to_string());
            continue;
        };
        timeline.add(Some(&name), seconds, camera.as_ref().ok());
        found.add(name, image, camera);
    }
    timeline.give_motion(&mut found, options.readout);
    Ok(found)
}
