//! Agisoft Metashape's (PhotoScan's) cameras as XML.
//!
//! A photo's transformation goes from its camera (x right, y down, z forward) to the axes of its
//! chunk; that of the component, or of the chunk, from there to the world. Points come from a PLY
//! beside the file.

mod calibration;
mod xml;

pub use calibration::Calibration;
pub(super) use xml::is_metashape;
pub use xml::{Affine, Chunk, Photo, Sensor, parse};

use super::finding::Finding;
use super::folder;
use super::format::Format;
use super::found::Found;
use super::options::OpenOptions;
use super::photo_index::PhotoIndex;
use super::plausible::values;
use super::pose::{self, Axes, Pose};
use super::{points_beside, remote};
use crate::{DataError, Place};
use splatcore_core::Camera;
use std::collections::HashMap;
use std::path::Path;

const UNIT: Affine = [
    [1.0, 0.0, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0],
    [0.0, 0.0, 1.0, 0.0],
];

/// Reads the cameras, and the points of a PLY beside them.
///
/// # Errors
/// Besides those of [`parse`]: a photo that is used was taken by a sensor that cannot be read.
pub(super) fn open(root: &Path, file: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let chunk = parse(&folder::read(file)?, file)?;
    let photos = PhotoIndex::new(root, options)?;
    let mut found = Found::new(root, Format::Metashape, photos.folder.clone());
    found.warnings = warnings(&chunk, file);
    let usable = usable(&chunk, &mut found.warnings);
    let to_world = chunk.world(
        usable
            .first()
            .and_then(|(photo, _)| photo.component.as_deref()),
    );
    // Georeferenced chunks have their origin in the centre of the earth.
    let centres = usable.iter().map(|(_, transform)| {
        let placed = pose::product(&to_world, transform);
        placed.map(|row| row[3])
    });
    let to_world = match remote::distance(centres) {
        None => to_world,
        Some(far) => {
            found.warnings.push(format!(
                "the chunk is georeferenced: {far}; its own axes and units are used instead of the \
                 world's, and points must be in those"
            ));
            UNIT
        }
    };
    let sensors: HashMap<&str, &Sensor> = chunk
        .sensors
        .iter()
        .map(|sensor| (sensor.id.as_str(), sensor))
        .collect();
    for (photo, transform) in usable {
        let Some((name, image)) = photos.find(&photo.label) else {
            found.missing.push(photo.label.clone());
            continue;
        };
        let calibration = match sensors.get(photo.sensor.as_str()) {
            Some(sensor) => sensor.calibration.as_ref().map_err(String::as_str),
            None => Err("its sensor is not in the file"),
        };
        let calibration = calibration.map_err(|problem| {
            DataError::new(file, problem, "or disable these cameras and export again")
                .at(Place::Part(format!("camera '{}'", photo.label)))
        })?;
        let camera = values::last_row("its transform", &photo.last_row)
            .and_then(|()| camera(calibration, &pose::product(&to_world, transform)));
        found.add(name, image, camera);
    }
    points_beside::read(
        &mut found,
        file,
        "export the points again, in Metashape with Coordinate System: Local Coordinates",
    );
    Ok(found)
}

impl Chunk {
    /// From the axes of a component to the world.
    pub fn world(&self, component: Option<&str>) -> Affine {
        let own = self
            .components
            .iter()
            .find(|(id, _)| Some(id.as_str()) == component)
            .and_then(|(_, transform)| *transform);
        own.or(self.transform).unwrap_or(UNIT)
    }
}

/// A sensor's camera at a place.
fn camera(calibration: &Calibration, to_world: &Affine) -> Result<Camera, Finding> {
    let pose = Pose::from_camera_to_world(to_world, Axes::OpenCv)
        .map_err(|problem| values::no_pose("its pose", problem))?;
    Ok(Camera {
        width: calibration.width,
        height: calibration.height,
        fx: calibration.focal[0],
        fy: calibration.focal[1],
        cx: calibration.principal[0],
        cy: calibration.principal[1],
        rotation: pose.rotation,
        translation: pose.translation,
        lens: calibration.lens,
        shutter: None,
    })
}

fn warnings(chunk: &Chunk, file: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    if chunk.chunks > 1 {
        warnings.push(format!(
            "{}: the first of {} chunks is used",
            file.display(),
            chunk.chunks
        ));
    }
    if chunk.rolling_shutter {
        warnings.push(
            "Metashape compensated the rolling shutter, which is ignored here: renders of photos \
             from a moving camera may be blurred"
                .into(),
        );
    }
    warnings
}

/// The photos that are enabled, aligned, no part of a rig, and in the largest component, with their
/// transformations; warns of the others.
fn usable<'a>(chunk: &'a Chunk, warnings: &mut Vec<String>) -> Vec<(&'a Photo, &'a Affine)> {
    let count = |what: &dyn Fn(&&Photo) -> bool| chunk.cameras.iter().filter(what).count();
    let disabled = count(&|photo| !photo.enabled);
    let rig = count(&|photo| photo.enabled && photo.in_rig && photo.transform.is_none());
    let unaligned = count(&|photo| photo.enabled && !photo.in_rig && photo.transform.is_none());
    let mut leave_out = |count: usize, why: &str| {
        if count > 0 {
            warnings.push(format!("{count} photos {why}"));
        }
    };
    leave_out(disabled, "are disabled in Metashape and left out");
    leave_out(unaligned, "were not aligned and are left out");
    leave_out(
        rig,
        "hang on the master camera of a rig and are left out; align the photos as single cameras \
         to use them",
    );
    let placed: Vec<(&Photo, &Affine)> = chunk
        .cameras
        .iter()
        .filter(|photo| photo.enabled)
        .filter_map(|photo| Some((photo, photo.transform.as_ref()?)))
        .collect();
    let mut sizes: Vec<(Option<&str>, usize)> = Vec::new();
    for (photo, _) in &placed {
        let own = photo.component.as_deref();
        match sizes.iter_mut().find(|(component, _)| *component == own) {
            Some((_, size)) => *size += 1,
            None => sizes.push((own, 1)),
        }
    }
    // The first of the largest.
    let largest = sizes.iter().rev().max_by_key(|(_, size)| *size);
    let Some(&(largest, size)) = largest else {
        return placed;
    };
    leave_out(
        placed.len() - size,
        "belong to smaller components, aligned apart from the largest, and are left out",
    );
    placed
        .into_iter()
        .filter(|(photo, _)| photo.component.as_deref() == largest)
        .collect()
}
