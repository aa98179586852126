//! splat-transform's `--camera-track`, a list of a pose for each frame:
//! `{"frameRate": 30, "frames": [{"position", "target", "fov", "up"}]}`. Rate, `fov` and `up` may
//! be missing: 30, 60 degrees and y.

use super::fields::Field;
use super::format::{Format, Read};
use super::playcanvas::{UP, turned};
use crate::{CameraPath, MAX_KEYFRAMES, PathError, Pose};
use splatcore_core::camera::normalize;

pub fn parse(root: &Field) -> Result<Read, PathError> {
    let frames = root.get("frames")?;
    let list = frames.list()?;
    if list.is_empty() || list.len() > MAX_KEYFRAMES {
        let problem = format!(
            "there are {} frames, 1 to {MAX_KEYFRAMES} are read",
            list.len()
        );
        return Err(frames.error(problem, "correct it"));
    }
    if list[0].find("transform_matrix").is_some() {
        return Err(frames.error(
            "these are a dataset's cameras rather than a path",
            "give the file as a dataset, and a path through its cameras",
        ));
    }
    let poses: Result<Vec<Pose>, PathError> = list.iter().map(pose).collect();
    let poses = poses?;
    let rate = root
        .find("frameRate")
        .map_or(Ok(30.0), |rate| rate.positive())?;
    let mut path = CameraPath::through(&poses, poses.len() as f64 / rate, false);
    path.fps = Some(rate);
    let notes = vec!["positions are taken in PlayCanvas' axes, y up".to_owned()];
    Ok(Read {
        path,
        format: Format::Track,
        notes,
        world: None,
    })
}

fn pose(frame: &Field) -> Result<Pose, PathError> {
    let position = turned(frame.get("position")?.numbers()?);
    let target = turned(frame.get("target")?.numbers()?);
    if position == target {
        let problem = "the camera is where it looks";
        return Err(frame.error(problem, "move the target away from the position"));
    }
    let up = match frame.find("up") {
        None => UP,
        Some(up) => normalize(turned(up.numbers()?))
            .ok_or_else(|| up.error("has no direction", "correct it, or leave it out"))?,
    };
    let fov = frame
        .find("fov")
        .map_or(Ok(60.0_f64.to_radians()), |fov| fov.degrees())?;
    Ok(Pose::look_at(position, target, up, fov))
}
