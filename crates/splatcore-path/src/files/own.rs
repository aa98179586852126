//! splatcore's own file, as the viewer's page saves it:
//!
//! ```json
//! {"splatcore": "camera path 1", "seconds": 4, "loop": false, "keyframes": [
//!   {"time": 0, "position": [0, 0, -3], "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
//!    "fov": 50, "easing": "rest"}]}
//! ```
//!
//! Times in seconds; positions in the scene's axes; the rows of `rotation` are the camera's right,
//! down and forward in them; `fov` is vertical, in degrees. `loop` and `easing` (`through`, `rest`
//! or `hold`) may be missing.

use super::fields::Field;
use super::format::{Format, Read};
use crate::{CameraPath, Easing, Keyframe, PathError, Pose};
use serde_json::json;

const VERSION: &str = "camera path 1";

pub fn parse(root: &Field) -> Result<Read, PathError> {
    let version = root.get("splatcore")?;
    if version.text()? != VERSION {
        let problem = format!("{:?} is not known, {VERSION:?} is", version.text()?);
        return Err(version.error(problem, "update splatcore"));
    }
    let keyframes: Result<Vec<_>, _> = root
        .get("keyframes")?
        .list()?
        .iter()
        .map(keyframe)
        .collect();
    let keyframes = keyframes?;
    let last = keyframes.last().map_or(0.0, |keyframe| keyframe.time);
    let seconds = match root.find("seconds") {
        Some(seconds) => seconds.number()?,
        None => last,
    };
    // A single keyframe of the page has no length: a second of it is a picture that stays.
    let seconds = if keyframes.len() == 1 && seconds == 0.0 {
        1.0
    } else {
        seconds
    };
    let path = CameraPath {
        seconds,
        looped: root
            .find("loop")
            .map_or(Ok(false), |looped| looped.truth())?,
        keyframes,
        fps: None,
        size: None,
    };
    let format = Format::Own;
    Ok(Read {
        path,
        format,
        notes: Vec::new(),
        world: None,
    })
}

fn keyframe(field: &Field) -> Result<Keyframe, PathError> {
    let rows: Result<Vec<[f64; 3]>, _> = field
        .get("rotation")?
        .list()?
        .iter()
        .map(Field::numbers)
        .collect();
    let rotation = field.get("rotation")?;
    let rotation: [[f64; 3]; 3] = rows?.try_into().map_err(|rows: Vec<_>| {
        let problem = format!("three rows are expected, there are {}", rows.len());
        rotation.error(problem, "save the path again")
    })?;
    let easing = match field.find("easing") {
        None => Easing::Through,
        Some(easing) => match easing.text()? {
            "through" => Easing::Through,
            "rest" => Easing::Rest,
            "hold" => Easing::Hold,
            other => {
                let other: String = other.chars().take(40).collect();
                let problem = format!("{other:?} is not known");
                return Err(easing.error(problem, "write through, rest or hold"));
            }
        },
    };
    let pose = Pose {
        position: field.get("position")?.numbers()?,
        rotation,
        fov: field.get("fov")?.degrees()?,
    };
    Ok(Keyframe {
        time: field.get("time")?.number()?,
        pose,
        easing,
    })
}

pub fn write(path: &CameraPath) -> String {
    let keyframes: Vec<_> = path
        .keyframes
        .iter()
        .map(|keyframe| {
            json!({
                "time": keyframe.time,
                "position": keyframe.pose.position,
                "rotation": keyframe.pose.rotation,
                "fov": keyframe.pose.fov.to_degrees(),
                "easing": keyframe.easing.name(),
            })
        })
        .collect();
    let content = json!({
        "splatcore": VERSION,
        "seconds": path.seconds,
        "loop": path.looped,
        "keyframes": keyframes,
    });
    format!("{content:#}\n")
}
