//! A raw scan of an iPhone or iPad as "3D Scanner App" (Laan Labs) exports "all data": beside each
//! `frame_00000.jpg` a `frame_00000.json` with ARKit's camera, and perhaps `depth_00000.png` (16
//! bits, millimetres) with `conf_00000.png`.
//!
//! `cameraPoseARFrame` is camera to world by rows, camera axes x right, y up, z backward, of the
//! photo as the sensor takes it; `intrinsics` a 3x3 matrix by rows, in pixels of the photo. Units
//! are metres, `time` is in seconds. Frames without a photo, of which an export has many, only tell
//! how the camera moved.

use super::finding::Finding;
use super::folder;
use super::format::Format;
use super::found::Found;
use super::options::OpenOptions;
use super::photo;
use super::plausible::values;
use super::pose::{Axes, Pose};
use super::timeline::{self, Timeline};
use crate::words::one_line;
use crate::{DataError, Place};
use serde::Deserialize;
use splatcore_core::Camera;
use std::path::Path;

/// The key by which such a file is known.
const KEY: &[u8] = b"\"cameraPoseARFrame\"";
/// How the names of cameras and photos begin.
const FRAME: &str = "frame_";

/// A frame's JSON; unknown keys are ignored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Frame {
    /// fx 0 cx, 0 fy cy, 0 0 1.
    pub intrinsics: [f64; 9],
    /// Four rows of four.
    #[serde(rename = "cameraPoseARFrame")]
    pub pose: [f64; 16],
    /// When it was taken, seconds.
    #[serde(default, deserialize_with = "timeline::number")]
    pub time: Option<f64>,
}

/// Reads a frame's JSON. `path` is for messages only.
///
/// # Errors
/// No JSON with these keys.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Frame, DataError> {
    serde_json::from_slice(bytes).map_err(|e| {
        DataError::new(
            path,
            format!("no camera of an ARKit scan ({})", one_line(&e)),
            "export the scan again, as all data",
        )
        .at(Place::Line(e.line()))
    })
}

impl Frame {
    /// The camera of a photo of a size in pixels, or what is wrong with it.
    pub fn camera(&self, (width, height): (u32, u32)) -> Result<Camera, Finding> {
        let m = &self.pose;
        let to_world = [0, 1, 2].map(|i| [m[4 * i], m[4 * i + 1], m[4 * i + 2], m[4 * i + 3]]);
        let pose = Pose::from_camera_to_world(&to_world, Axes::OpenGl)
            .map_err(|problem| values::no_pose("its pose", problem))?;
        let k = &self.intrinsics;
        Ok(Camera {
            fx: k[0],
            fy: k[4],
            cx: k[2],
            cy: k[5],
            rotation: pose.rotation,
            translation: pose.translation,
            ..Camera::pinhole(width, height, 1.0)
        })
    }
}

/// Whether a folder holds such a scan: its first JSON of a frame looks like one.
pub(super) fn is_in(folder: &Path) -> bool {
    let files = folder::with_ending(folder, "json");
    let first = files.iter().find(|file| number(file).is_some());
    let bytes = first.and_then(|file| folder::read(file).ok());
    bytes.is_some_and(|bytes| bytes.windows(KEY.len()).any(|word| word == KEY))
}

/// What stands behind `frame_` in a file's name.
fn number(file: &Path) -> Option<&str> {
    file.file_stem()?.to_str()?.strip_prefix(FRAME)
}

/// Reads the cameras of a scan's photos.
pub(super) fn open(root: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let images = match &options.images {
        Some(below) => root.join(below),
        None => root.to_path_buf(),
    };
    let mut found = Found::new(root, Format::Arkit, images);
    let mut timeline = Timeline::default();
    let mut without_photo = Vec::new();
    for file in folder::with_ending(root, "json") {
        let Some(number) = number(&file) else {
            continue;
        };
        let bytes = folder::read(&file)?;
        let Some((name, image)) = folder::image(&found.images, &format!("{FRAME}{number}")) else {
            without_photo.push(format!("{FRAME}{number}"));
            if let Ok(frame) = parse(&bytes, &file) {
                timeline.add(None, frame.time, frame.camera((1, 1)).ok().as_ref());
            }
            continue;
        };
        let frame = parse(&bytes, &file)?;
        let before = found.entries.len();
        let camera = frame.camera(photo::size(&image)?);
        timeline.add(Some(&name), frame.time, camera.as_ref().ok());
        found.add(name, image, camera);
        let depth = root.join(format!("depth_{number}.png"));
        if let Some(entry) = found.entries.get_mut(before).filter(|_| depth.is_file()) {
            entry.depth = Some(depth);
        }
    }
    if found.entries.is_empty() && found.findings.is_empty() {
        found.missing = without_photo;
    }
    timeline.give_motion(&mut found, options.readout);
    Ok(found)
}
