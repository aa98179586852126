//! `settings.json` of supersplat-viewer, version 2: the first of `animTracks`. Times are in frames.
//! Schema: supersplat-viewer 1.36.2, `docs/api.md`.

use super::fields::Field;
use super::format::{Format, Read};
use super::playcanvas::{Key, Track, UP, turned};
use crate::generate::focus_of;
use crate::{Curve, PathError, Pose};
use serde_json::json;
use splatcore_core::camera::dot;

pub fn parse(root: &Field) -> Result<Read, PathError> {
    let tracks = root.get("animTracks")?;
    let Some(track) = tracks.list()?.into_iter().next() else {
        return Err(tracks.error("there is no track", "add an animation in SuperSplat"));
    };
    let keyframes = track.get("keyframes")?;
    let values = keyframes.get("values")?;
    let times = keyframes.get("times")?;
    let keys = keys(&times, &values)?;
    let frame_rate = track.get("frameRate")?.positive()?;
    let duration = track.get("duration")?.positive()?;
    let loop_mode = track
        .find("loopMode")
        .map_or(Ok("none"), |mode| mode.text())?;
    let interpolation = track
        .find("interpolation")
        .map_or(Ok("spline"), |field| field.text())?;
    let smoothness = track
        .find("smoothness")
        .map_or(Ok(1.0), |field| field.number())?;
    // A last key at the very end gets a frame of its own before the loop starts again.
    let last = keys.last().map_or(0.0, |key| key.time);
    let extra = if duration == last / frame_rate {
        1.0
    } else {
        0.0
    };
    let repeats = loop_mode == "repeat";
    let read = Track {
        keys,
        frame_rate,
        frames: duration * frame_rate,
        period: repeats.then_some((duration + extra) * frame_rate),
        // With the extra frame the loop is not closed in the frames that are shown.
        looped: repeats && extra == 0.0,
        smoothness,
        stepped: interpolation == "step",
    };
    let path = read.path(&track)?;
    let mut notes = vec!["positions are taken in PlayCanvas' axes, y up".to_owned()];
    if loop_mode == "pingpong" {
        notes.push("the track goes forth and back; the way forth is taken".to_owned());
    }
    if tracks.list()?.len() > 1 {
        notes.push("of several tracks the first is taken".to_owned());
    }
    let format = Format::Settings;
    Ok(Read {
        path,
        format,
        notes,
        world: None,
    })
}

fn keys(times: &Field, values: &Field) -> Result<Vec<Key>, PathError> {
    let position = values.get("position")?;
    let target = values.get("target")?;
    let numbers = times.all_numbers()?;
    let [positions, targets] =
        [&position, &target].map(|field| -> Result<Vec<[f64; 3]>, PathError> {
            let all = field.all_numbers()?;
            if all.len() != 3 * numbers.len() {
                let problem = format!(
                    "{} numbers for {} times, three each are expected",
                    all.len(),
                    numbers.len()
                );
                return Err(field.error(problem, "save the settings again"));
            }
            Ok(all.as_chunks::<3>().0.to_vec())
        });
    let (positions, targets) = (positions?, targets?);
    let fovs = match values.find("fov") {
        Some(fovs) => fovs
            .list()?
            .iter()
            .map(Field::degrees)
            .collect::<Result<Vec<_>, _>>()?,
        None => vec![60.0_f64.to_radians(); numbers.len()],
    };
    if numbers.is_empty() || fovs.len() != numbers.len() {
        let problem = format!("{} times and {} fields of view", numbers.len(), fovs.len());
        return Err(times.error(problem, "save the settings again"));
    }
    if let Some(i) = (1..numbers.len()).find(|&i| numbers[i] <= numbers[i - 1]) {
        let problem = format!("time {i} is not after the one before");
        return Err(times.error(problem, "save the settings again"));
    }
    let key = |i: usize| Key {
        time: numbers[i],
        position: positions[i],
        target: targets[i],
        fov: fovs[i],
    };
    Ok((0..numbers.len()).map(key).collect())
}

/// A key for each frame. Targets lie as far ahead as the focus of all poses is on average.
pub fn write(curve: &Curve, fps: f64) -> (String, Vec<String>) {
    let count = curve.frames(fps);
    let poses: Vec<Pose> = (0..count)
        .map(|i| curve.at(curve.frame_time(i as f64, count)))
        .collect();
    let focus = focus_of(&poses);
    let ahead = poses
        .iter()
        .map(|p| crate::linear::distance(p.position, focus))
        .sum::<f64>();
    let ahead = (ahead / count as f64).max(1e-3);
    let (mut positions, mut targets, mut fovs) = (Vec::new(), Vec::new(), Vec::new());
    let mut rolled: f64 = 0.0;
    for pose in &poses {
        let forward = pose.rotation[2];
        positions.extend(turned(pose.position));
        targets.extend(turned(std::array::from_fn(|k| {
            pose.position[k] + ahead * forward[k]
        })));
        fovs.push(pose.fov.to_degrees());
        let level = Pose::look_at([0.0; 3], forward, UP, 1.0);
        rolled = rolled.max(dot(level.rotation[1], pose.rotation[0]).abs());
    }
    let initial = json!({"initial": {
        "position": positions[..3], "target": targets[..3], "fov": fovs[0],
    }});
    let off = |extra: serde_json::Value| {
        let mut effect = extra;
        effect["enabled"] = false.into();
        effect
    };
    let content = json!({
        "version": 2,
        "tonemapping": "none",
        "highPrecisionRendering": false,
        "background": {"color": [0, 0, 0]},
        "postEffectSettings": {
            "sharpness": off(json!({"amount": 0})),
            "bloom": off(json!({"intensity": 0.1, "blurLevel": 2})),
            "grading": off(json!({
                "brightness": 1, "contrast": 1, "saturation": 1, "tint": [1, 1, 1],
            })),
            "vignette": off(json!({"intensity": 0.5, "inner": 0.3, "outer": 0.75, "curvature": 1})),
            "fringing": off(json!({"intensity": 0.5})),
        },
        "animTracks": [{
            "name": "splatcore",
            "duration": count as f64 / fps,
            "frameRate": fps,
            "loopMode": if curve.looped() { "repeat" } else { "none" },
            "interpolation": "spline",
            "smoothness": 1,
            "keyframes": {
                "times": (0..count).collect::<Vec<_>>(),
                "values": {"position": positions, "target": targets, "fov": fovs},
            },
        }],
        "cameras": [initial],
        "annotations": [],
        "startMode": "animTrack",
    });
    let mut notes = Vec::new();
    if rolled > 1e-3 {
        notes.push("supersplat-viewer's cameras have no roll; that of the path is lost".to_owned());
    }
    (format!("{content:#}\n"), notes)
}
