//! A `transforms.json` that nerfstudio reads, and [`super::open_file`].

use super::shutter::type_of;
use crate::DataError;
use crate::file::write_bytes;
use serde_json::{Map, Value, json};
use splatcore_core::lens::FThetaCamera;
use splatcore_core::{Camera, Lens};
use std::path::Path;

/// A photo and its camera.
pub struct PosedPhoto {
    /// From the folder of the file to the photo, with `/`.
    pub file_path: String,
    /// Of the size and with the lens that the photo has.
    pub camera: Camera,
    /// Not to be trained on.
    pub held_out: bool,
}

/// Writes the photos, with the split if any is held out.
///
/// # Errors
/// If a lens is none that the format has, or the disk does not take the file.
pub fn write(path: &Path, photos: &[PosedPhoto]) -> Result<(), DataError> {
    let mut frames = Vec::new();
    for photo in photos {
        let Some(mut frame) = intrinsics(&photo.camera) else {
            let problem = format!(
                "transforms.json has no camera model for the lens '{}' of '{}'",
                photo.camera.lens.name(),
                photo.file_path
            );
            return Err(DataError::new(path, problem, "undistort the photos"));
        };
        frame.insert("file_path".into(), json!(photo.file_path));
        let [first, last] = photo.camera.ends();
        frame.insert("transform_matrix".into(), json!(pose(&first)));
        if let Some(shutter) = &photo.camera.shutter {
            frame.insert("shutter_type".into(), json!(type_of(shutter.readout)));
            frame.insert("transform_matrix_end".into(), json!(pose(&last)));
        }
        frames.push(Value::Object(frame));
    }
    let mut file = json!({ "camera_model": "OPENCV", "frames": frames });
    let of = |held_out: bool| -> Vec<&str> {
        let those = photos.iter().filter(|photo| photo.held_out == held_out);
        those.map(|photo| photo.file_path.as_str()).collect()
    };
    if photos.iter().any(|photo| photo.held_out) {
        file["train_filenames"] = json!(of(false));
        file["test_filenames"] = json!(of(true));
        file["val_filenames"] = json!(of(true));
    }
    let text = serde_json::to_vec_pretty(&file)
        .map_err(|error| DataError::write(path, &std::io::Error::other(error)))?;
    write_bytes(path, &text)
}

/// Whether the format has the camera's lens.
pub(crate) fn has_model(camera: &Camera) -> bool {
    intrinsics(camera).is_some()
}

/// Camera to world, OpenGL axes.
fn pose(camera: &Camera) -> [[f64; 4]; 4] {
    let (r, eye) = (&camera.rotation, camera.position());
    let row = |i: usize| [r[0][i], -r[1][i], -r[2][i], eye[i]];
    [row(0), row(1), row(2), [0.0, 0.0, 0.0, 1.0]]
}

/// What the format says of a camera besides its pose; nothing if it cannot.
fn intrinsics(camera: &Camera) -> Option<Map<String, Value>> {
    let (model, lens) = match camera.lens {
        Lens::Pinhole => ("OPENCV", json!({})),
        Lens::OpenCv { k, p, s } if s == [0.0; 4] => {
            let model = match k[3..] == [0.0; 3] {
                true => "OPENCV",
                false => "FULL_OPENCV",
            };
            let lens = json!({
                "k1": k[0], "k2": k[1], "k3": k[2], "k4": k[3], "k5": k[4], "k6": k[5],
                "p1": p[0], "p2": p[1],
            });
            (model, lens)
        }
        Lens::Fisheye { k, p, s } => {
            let model = match (p, s) == ([0.0; 2], [0.0; 2]) {
                true => "OPENCV_FISHEYE",
                false => "THIN_PRISM_FISHEYE",
            };
            let lens = json!({
                "k1": k[0], "k2": k[1], "k3": k[2], "k4": k[3], "p1": p[0], "p2": p[1],
                "sx1": s[0], "sy1": s[1],
            });
            (model, lens)
        }
        Lens::RadTanThinPrism { k, p, s } => {
            let numbers: Vec<f64> = k.into_iter().chain(p).chain(s).collect();
            ("FISHEYE624", json!({ "distortion_params": numbers }))
        }
        Lens::FTheta { .. } => {
            let of = FThetaCamera::of(camera)?;
            let mut lens = json!({
                "reference_poly": "ANGLE_TO_PIXELDIST", "angle_to_pixeldist_poly": of.polynomial,
                "linear_cde": of.linear,
            });
            if let Some(angle) = of.max_angle {
                lens["max_angle"] = json!(angle);
            }
            ("FTHETA", lens)
        }
        Lens::Equirectangular => ("EQUIRECTANGULAR", json!({})),
        Lens::Orthographic => ("ORTHOPHOTO", json!({})),
        _ => return None,
    };
    // As the reader has it: the side over which an angle grows by pi.
    let unit = match camera.lens {
        Lens::Equirectangular => std::f64::consts::PI,
        _ => 1.0,
    };
    let mut all = json!({
        "camera_model": model, "w": camera.width, "h": camera.height,
        "fl_x": unit * camera.fx, "fl_y": unit * camera.fy, "cx": camera.cx, "cy": camera.cy,
    });
    let (all, Value::Object(lens)) = (all.as_object_mut()?, lens) else {
        return None;
    };
    let mut all = std::mem::take(all);
    // What is not said is 0.
    all.extend(lens.into_iter().filter(|(_, value)| *value != json!(0.0)));
    Some(all)
}
