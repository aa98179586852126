//! nerfstudio's `camera_path.json`: a camera for each frame, `camera_to_world` as 16 numbers row by
//! row, cameras in OpenGL's axes (x right, y up, z back), `fov` vertical in degrees.
//!
//! Places are in nerfstudio's world: that of the dataset moved by `transform`, then scaled by
//! `scale`, of `dataparser_transforms.json`. `ns-export gaussian-splat` writes scenes in that
//! world; a scene trained elsewhere on the same dataset needs that file.

use super::fields::Field;
use super::format::{Format, Read};
use super::world::WorldTransform;
use crate::{CameraPath, Curve, MAX_KEYFRAMES, PathError, Pose};
use serde_json::json;
use splatcore_core::camera::normalize;

/// Whether bytes look like such a file, before all is read.
pub fn is_path(bytes: &[u8]) -> bool {
    bytes.windows(13).any(|window| window == b"\"camera_path\"")
}

pub fn parse(root: &Field, world: Option<&WorldTransform>) -> Result<Read, PathError> {
    let cameras = root.get("camera_path")?;
    let list = cameras.list()?;
    if list.is_empty() || list.len() > MAX_KEYFRAMES {
        let problem = format!(
            "there are {} cameras, 1 to {MAX_KEYFRAMES} are read",
            list.len()
        );
        return Err(cameras.error(problem, "save the path again"));
    }
    let mut notes = Vec::new();
    if let Some(kind) = root.find("camera_type")
        && kind.text()? != "perspective"
    {
        let shown: String = kind.text()?.chars().take(40).collect();
        notes.push(format!(
            "its cameras are of the type {shown:?}; they are taken as pinholes"
        ));
    }
    let poses: Result<Vec<Pose>, _> = list.iter().map(|camera| pose(camera, world)).collect();
    let poses = poses?;
    if world.is_none() {
        notes.push(
            "the scene is taken to lie in nerfstudio's world, as ns-export writes it; for one in \
             the dataset's world give its dataparser_transforms.json"
                .to_owned(),
        );
    }
    let fps = root.find("fps").map_or(Ok(24.0), |fps| fps.positive())?;
    // A cycle's frames end before its start comes again.
    let looped = root
        .find("is_cycle")
        .map_or(Ok(false), |cycle| cycle.truth())?;
    let seconds = match root.find("seconds") {
        Some(seconds) => seconds.positive()?,
        None => poses.len() as f64 / fps,
    };
    let mut path = CameraPath::through(&poses, seconds, looped && poses.len() > 1);
    path.fps = Some(poses.len() as f64 / seconds);
    path.size = size(root)?;
    Ok(Read {
        path,
        format: Format::Nerfstudio,
        notes,
        world: world.copied(),
    })
}

fn size(root: &Field) -> Result<Option<[u32; 2]>, PathError> {
    let (Some(width), Some(height)) = (root.find("render_width"), root.find("render_height"))
    else {
        return Ok(None);
    };
    let side = |field: &Field| match field.number()?.round() {
        side if (1.0..=16_384.0).contains(&side) => Ok(side as u32),
        side => Err(field.error(format!("{side} pixels is no size"), "write 1 to 16384")),
    };
    Ok(Some([side(&width)?, side(&height)?]))
}

fn pose(camera: &Field, world: Option<&WorldTransform>) -> Result<Pose, PathError> {
    let field = camera.get("camera_to_world")?;
    let m: [f64; 16] = field.numbers()?;
    let column = |k: usize| [m[k], m[4 + k], m[8 + k]];
    // A scaled world scales the axes too in some versions.
    let axis = |k: usize, sign: f64| {
        let unit = normalize(column(k)).map(|axis| axis.map(|v| sign * v));
        unit.ok_or_else(|| field.error(format!("column {k} has no length"), "save the path again"))
    };
    let rotation = [axis(0, 1.0)?, axis(1, -1.0)?, axis(2, -1.0)?];
    let position = column(3);
    let fov = camera.get("fov")?.degrees()?;
    let pose = match world {
        None => Pose {
            position,
            rotation,
            fov,
        },
        Some(world) => Pose {
            position: world.place(position),
            rotation: rotation.map(|row| world.direction(row)),
            fov,
        },
    };
    match pose.defect() {
        None => Ok(pose),
        Some(defect) => Err(field.error(defect, "save the path again")),
    }
}

/// A camera for each frame, and as many keyframes, so that nerfstudio's viewer can load them.
pub fn write(
    curve: &Curve,
    fps: f64,
    [width, height]: [u32; 2],
    world: Option<&WorldTransform>,
) -> (String, Vec<String>) {
    let count = curve.frames(fps);
    let aspect = f64::from(width) / f64::from(height);
    let matrix = |pose: &Pose| -> Vec<f64> {
        let [right, down, forward] = pose.rotation.map(|row| match world {
            Some(world) => world.turned(row),
            None => row,
        });
        let position = match world {
            Some(world) => {
                let p = world.turned(pose.position);
                std::array::from_fn(|k| world.scale * (p[k] + world.offset[k]))
            }
            None => pose.position,
        };
        let rows = (0..3).flat_map(|k| [right[k], -down[k], -forward[k], position[k]]);
        rows.chain([0.0, 0.0, 0.0, 1.0]).collect()
    };
    let (mut path, mut keyframes) = (Vec::new(), Vec::new());
    let mut fov = 0.0;
    for i in 0..count {
        let pose = curve.at(curve.frame_time(i as f64, count));
        let matrix = matrix(&pose);
        fov = pose.fov.to_degrees();
        path.push(json!({"camera_to_world": matrix, "fov": fov, "aspect": aspect}));
        keyframes.push(json!({
            "matrix": matrix, "fov": fov, "aspect": aspect,
            "override_transition_enabled": false, "override_transition_sec": null,
        }));
    }
    let content = json!({
        "default_fov": fov,
        "default_transition_sec": 1.0 / fps,
        "keyframes": keyframes,
        "camera_type": "perspective",
        "render_height": height,
        "render_width": width,
        "fps": fps,
        "seconds": count as f64 / fps,
        "is_cycle": curve.looped(),
        "smoothness_value": 0.0,
        "camera_path": path,
    });
    let mut notes = Vec::new();
    if world.is_none() {
        notes.push(
            "places are in the scene's world; for nerfstudio's, give its \
                    dataparser_transforms.json"
                .to_owned(),
        );
    }
    (format!("{content:#}\n"), notes)
}
