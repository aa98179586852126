//! What a `transforms.json` says, as written.

use super::f_theta_keys;
use crate::words::one_line;
use crate::{DataError, Place};
use serde::Deserialize;
use std::path::Path;

/// Camera parameters, which may stand at the top, in a frame, or both (the frame's win). Pixels,
/// but for the angles, which are radians.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are the format's own")]
pub struct Intrinsics {
    pub camera_angle_x: Option<f64>,
    pub camera_angle_y: Option<f64>,
    pub fl_x: Option<f64>,
    pub fl_y: Option<f64>,
    pub cx: Option<f64>,
    pub cy: Option<f64>,
    pub w: Option<f64>,
    pub h: Option<f64>,
    pub k1: Option<f64>,
    pub k2: Option<f64>,
    pub k3: Option<f64>,
    pub k4: Option<f64>,
    pub k5: Option<f64>,
    pub k6: Option<f64>,
    pub p1: Option<f64>,
    pub p2: Option<f64>,
    pub sx1: Option<f64>,
    pub sy1: Option<f64>,
    /// FISHEYE624's k0 to k5, p0, p1, s0 to s3; of other models k1 to k4, p1, p2.
    pub distortion_params: Option<Vec<f64>>,
    pub camera_model: Option<String>,
    pub is_fisheye: Option<bool>,
    /// In which order the photo is read: GLOBAL, or ROLLING_TOP_TO_BOTTOM and its like.
    pub shutter_type: Option<String>,
    /// Seconds from the reading of the photo's one edge to that of the other.
    pub rolling_shutter_time: Option<f64>,
    /// instant-ngp's A, B, C and D: the pixel (u, v), from 0 to 1, has the pose A + B u + C v + D m
    /// of the way from the frame's first pose to its second, m being random from 0 to 1.
    pub rolling_shutter: Option<Vec<f64>>,
    /// Of the f-theta model alone.
    #[serde(flatten)]
    pub f_theta: f_theta_keys::Keys,
}

/// One photo.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Frame {
    /// Relative to the file's folder, perhaps without its ending.
    pub file_path: String,
    /// Camera to world, OpenGL axes (x right, y up, z backward), 4x4 or 3x4, rows.
    #[serde(default)]
    pub transform_matrix: Option<Vec<Vec<f64>>>,
    /// instant-ngp's name of it in files with two poses a frame; goes before it.
    #[serde(default)]
    pub transform_matrix_start: Option<Vec<Vec<f64>>>,
    /// The same when the last line of the photo is read; `transform_matrix` is of the first then.
    #[serde(default)]
    pub transform_matrix_end: Option<Vec<Vec<f64>>>,
    /// World units a second, in the axes of `transform_matrix`, which is of the middle then.
    #[serde(default)]
    pub camera_linear_velocity: Option<Vec<f64>>,
    /// Radians a second, in the same axes.
    #[serde(default)]
    pub camera_angular_velocity: Option<Vec<f64>>,
    /// When the photo was taken, seconds. With `rolling_shutter_time` and without velocities, the
    /// neighbours in time tell how the camera moved.
    #[serde(default)]
    pub timestamp: Option<f64>,
    /// Relative to the file's folder.
    #[serde(default)]
    pub mask_path: Option<String>,
    /// Relative to the file's folder.
    #[serde(default)]
    pub depth_file_path: Option<String>,
    /// What differs from the file's.
    #[serde(flatten)]
    pub intrinsics: Intrinsics,
}

impl Frame {
    /// Name and value of its pose, or of the first of two.
    pub(super) fn pose(&self) -> Option<(&'static str, &[Vec<f64>])> {
        let first = self.transform_matrix_start.as_deref();
        let first = first.map(|matrix| ("transform_matrix_start", matrix));
        first.or_else(|| Some(("transform_matrix", self.transform_matrix.as_deref()?)))
    }
}

/// A whole file. Unknown keys are ignored.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Transforms {
    /// The photos.
    pub frames: Vec<Frame>,
    /// For every frame that does not say otherwise.
    #[serde(flatten)]
    pub intrinsics: Intrinsics,
    /// nerfstudio's split, in the words of `file_path`.
    #[serde(default)]
    pub train_filenames: Option<Vec<String>>,
    /// See `train_filenames`.
    #[serde(default)]
    pub test_filenames: Option<Vec<String>>,
    /// See `train_filenames`.
    #[serde(default)]
    pub val_filenames: Option<Vec<String>>,
    /// Point cloud, relative to the file's folder.
    #[serde(default)]
    pub ply_file_path: Option<String>,
    /// What the poses have gone through since COLMAP, 3x4 or 4x4, rows.
    #[serde(default)]
    pub applied_transform: Option<Vec<Vec<f64>>>,
    /// And then the scale.
    #[serde(default)]
    pub applied_scale: Option<f64>,
    /// World units of a value of the depth maps.
    #[serde(default)]
    pub depth_unit_scale_factor: Option<f64>,
}

/// Reads a `transforms.json`. `path` is for messages only.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Transforms, DataError> {
    // A byte order mark is no JSON, but some editors write one.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(|b| b.is_ascii_whitespace()) {
        return Err(DataError::new(
            path,
            "the file is empty",
            "export the cameras again",
        ));
    }
    serde_json::from_slice(bytes).map_err(|e| {
        let place = if e.line() > 0 {
            Place::Line(e.line())
        } else {
            Place::File
        };
        DataError::new(
            path,
            problem(bytes, &e),
            "repair that place or export the cameras again",
        )
        .at(place)
    })
}

/// What is wrong with the JSON, in words of the file and not of this program.
fn problem(bytes: &[u8], error: &serde_json::Error) -> String {
    let line = bytes
        .split(|&b| b == b'\n')
        .nth(error.line().saturating_sub(1));
    let rest = line.and_then(|line| line.get(error.column().saturating_sub(1)..));
    let rest = rest.unwrap_or_default();
    // Where files are one line, as many are, its number says nothing.
    let column = match error.column() {
        0 => String::new(),
        column => format!(" (column {column})"),
    };
    let words = match error.classify() {
        serde_json::error::Category::Eof => "the JSON ends too early".to_owned(),
        // Python writes these; a program that could not solve a pose leaves them.
        _ if ["NaN", "Infinity"]
            .iter()
            .any(|word| rest.starts_with(word.as_bytes())) =>
        {
            "a number is NaN or infinite, which JSON does not know".to_owned()
        }
        // The message ends with the place, which is given already.
        _ => {
            let text = error.to_string();
            let words = text
                .rsplit_once(" at line ")
                .map_or(&*text, |(words, _)| words);
            one_line(&words)
                .replace("struct Transforms", "an object with \"frames\"")
                .replace("struct Frame", "an object")
                .replace("f64", "a number")
        }
    };
    format!("{words}{column}")
}

impl Intrinsics {
    /// These, with `general` where they say nothing.
    pub fn or(&self, general: &Intrinsics) -> Intrinsics {
        // A frame with its own focal length or angle must not inherit the other one.
        let own_focal = self.fl_x.is_some() || self.camera_angle_x.is_some();
        let unless_own = |value: Option<f64>| if own_focal { None } else { value };
        Intrinsics {
            camera_angle_x: self.camera_angle_x.or(unless_own(general.camera_angle_x)),
            camera_angle_y: self.camera_angle_y.or(unless_own(general.camera_angle_y)),
            fl_x: self.fl_x.or(unless_own(general.fl_x)),
            fl_y: self.fl_y.or(unless_own(general.fl_y)),
            cx: self.cx.or(general.cx),
            cy: self.cy.or(general.cy),
            w: self.w.or(general.w),
            h: self.h.or(general.h),
            k1: self.k1.or(general.k1),
            k2: self.k2.or(general.k2),
            k3: self.k3.or(general.k3),
            k4: self.k4.or(general.k4),
            k5: self.k5.or(general.k5),
            k6: self.k6.or(general.k6),
            p1: self.p1.or(general.p1),
            p2: self.p2.or(general.p2),
            sx1: self.sx1.or(general.sx1),
            sy1: self.sy1.or(general.sy1),
            distortion_params: self
                .distortion_params
                .clone()
                .or_else(|| general.distortion_params.clone()),
            camera_model: self
                .camera_model
                .clone()
                .or_else(|| general.camera_model.clone()),
            is_fisheye: self.is_fisheye.or(general.is_fisheye),
            shutter_type: self
                .shutter_type
                .clone()
                .or_else(|| general.shutter_type.clone()),
            rolling_shutter_time: self.rolling_shutter_time.or(general.rolling_shutter_time),
            rolling_shutter: self
                .rolling_shutter
                .clone()
                .or_else(|| general.rolling_shutter.clone()),
            f_theta: self.f_theta.or(&general.f_theta),
        }
    }
}

/// A `file_path` without a leading `./`.
pub(super) fn plain(name: &str) -> &str {
    name.trim_start_matches("./")
}
