//! SuperSplat's project: a zip with `document.json`, of which `poseSets[0].poses` lie on
//! `timeline`. The editor sorts poses by frame, leaves out those past the end, and closes the
//! spline over its length unless `loop` is false.

use super::bytes::{HELP, MAX_BYTES, parse_json};
use super::fields::Field;
use super::format::{Format, Read};
use super::playcanvas::{Key, Track};
use crate::PathError;
use std::io::{Cursor, Read as _};
use std::path::Path;

/// Of a project without one.
const FRAME_RATE: f64 = 30.0;
const FOV: f64 = 60.0;

pub fn parse_archive(bytes: &[u8], file: &Path) -> Result<Read, PathError> {
    let damaged = |error: &dyn std::fmt::Display| {
        let problem = format!("is not a project of SuperSplat ({error})");
        PathError::file(file, "document.json", problem, HELP)
    };
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).map_err(|e| damaged(&e))?;
    let entry = archive.by_name("document.json").map_err(|e| damaged(&e))?;
    let mut document = Vec::new();
    // Read up to a limit, whatever the archive says of its size.
    entry
        .take(MAX_BYTES)
        .read_to_end(&mut document)
        .map_err(|e| damaged(&e))?;
    let json = parse_json(&document, file)?;
    parse(&Field::root(&json, file))
}

pub fn parse(root: &Field) -> Result<Read, PathError> {
    let timeline = root.get("timeline")?;
    let frames = timeline.get("frames")?.positive()?.floor();
    let or = |name: &str, otherwise: f64| {
        timeline
            .find(name)
            .map_or(Ok(otherwise), |field| field.number())
    };
    let frame_rate = match timeline.find("frameRate") {
        Some(rate) => rate.positive()?,
        None => FRAME_RATE,
    };
    let closed = timeline
        .find("loop")
        .map_or(Ok(true), |field| field.truth())?;
    let fov = match root.find("camera").and_then(|camera| camera.find("fov")) {
        Some(fov) => fov.degrees()?,
        None => FOV.to_radians(),
    };
    let sets = root.get("poseSets")?;
    let first = sets.list()?.into_iter().next();
    let poses = first.map_or(Ok(Vec::new()), |set| set.get("poses")?.list())?;
    let mut keys = Vec::new();
    for (i, pose) in poses.iter().enumerate() {
        let time = match pose.find("frame") {
            Some(frame) => frame.number()?,
            None => i as f64 * frame_rate,
        };
        let key = Key {
            time,
            position: pose.get("position")?.numbers()?,
            target: pose.get("target")?.numbers()?,
            fov: pose.find("fov").map_or(Ok(fov), |field| field.degrees())?,
        };
        if time < frames {
            keys.push(key);
        }
    }
    keys.sort_by(|a, b| a.time.total_cmp(&b.time));
    keys.dedup_by(|a, b| a.time == b.time);
    if keys.is_empty() {
        return Err(sets.error("the timeline has no camera pose", "add one in SuperSplat"));
    }
    let track = Track {
        keys,
        frame_rate,
        frames,
        period: closed.then_some(frames),
        looped: closed,
        smoothness: or("smoothness", 1.0)?,
        stepped: false,
    };
    let notes = vec!["positions are taken in PlayCanvas' axes, y up".to_owned()];
    Ok(Read {
        path: track.path(&timeline)?,
        format: Format::Ssproj,
        notes,
        world: None,
    })
}
