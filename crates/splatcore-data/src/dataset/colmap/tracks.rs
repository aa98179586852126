//! Which points of a COLMAP model its photos show, and where.

use super::model::{ColmapImage, Sighting};
use super::{binary, text};
use crate::DataError;
use crate::dataset::folder;
use crate::dataset::limits::MAX_COORDINATE;
use splatcore_core::Camera;
use splatcore_core::camera::rotation_from_quaternion;
use std::collections::HashMap;
use std::path::Path;

/// Points that fewer photos show are left out: a wrong match of two photos fits both.
const MIN_PHOTOS: u64 = 3;
/// A photo is divided into so many cells along each side, and of each cell one point is kept.
const CELLS: usize = 12;

/// A point that a photo shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Where, in pixels of the image as the model declares it.
    pub pixel: [f64; 2],
    /// The point in the axes of the camera as the model has its pose.
    pub view: [f64; 3],
}

/// A point of the model: where it is, and how many photos show it.
type Point = ([f64; 3], u64);

/// The points that photos show, by the photo's name: of each cell of a grid over the photo that
/// which most photos show, the first of several. `cameras` are those of the photos that are asked
/// for, of the size that the model declares. References to points that the model lacks, and places
/// outside of the image or that are not finite, are left out.
///
/// # Errors
/// Files that cannot be read, or are corrupt.
pub fn read(
    model: &Path,
    is_binary: bool,
    cameras: &HashMap<&str, &Camera>,
) -> Result<HashMap<String, Vec<Seen>>, DataError> {
    let [listed, file] = match is_binary {
        true => ["images.bin", "points3D.bin"],
        false => ["images.txt", "points3D.txt"],
    }
    .map(|name| model.join(name));
    let mut found = HashMap::new();
    if !file.is_file() {
        return Ok(found);
    }
    let points = points(&file, is_binary)?;
    let mut see = |image: &ColmapImage, sightings: &mut dyn Iterator<Item = Sighting>| {
        let name = folder::candidates(&image.name).find(|name| cameras.contains_key(&**name));
        let rotation = rotation_from_quaternion(image.quaternion);
        if let (Some(name), Some(rotation)) = (name, rotation) {
            let declared = cameras[&*name];
            let camera = Camera {
                rotation,
                translation: image.translation,
                ..declared.clone()
            };
            // Of photos that are listed twice, the first counts.
            let seen = || spread(&camera, &points, sightings);
            found.entry(name).or_insert_with(seen);
        }
    };
    let bytes = folder::read(&listed)?;
    match is_binary {
        true => binary::images(&bytes, &listed, &mut see)?,
        false => text::images(&bytes, &listed, &mut see)?,
    };
    Ok(found)
}

/// The usable points of a model by their ids.
fn points(file: &Path, is_binary: bool) -> Result<HashMap<u64, Point>, DataError> {
    let mut points = HashMap::new();
    let bytes = folder::read(file)?;
    let each_point = match is_binary {
        true => binary::each_point,
        false => text::each_point,
    };
    each_point(&bytes, file, &mut |point| {
        // False of what is not a number.
        let usable = point.position.iter().all(|v| v.abs() <= MAX_COORDINATE);
        if usable && point.photos >= MIN_PHOTOS {
            points.insert(point.id, (point.position, point.photos));
        }
    })?;
    Ok(points)
}

/// One sighting of each cell of the photo.
fn spread(
    camera: &Camera,
    points: &HashMap<u64, Point>,
    sightings: &mut dyn Iterator<Item = Sighting>,
) -> Vec<Seen> {
    let mut cells: Vec<Option<(u64, Seen)>> = vec![None; CELLS * CELLS];
    let cell = |at: f64, side: u32| ((at / f64::from(side) * CELLS as f64) as usize).min(CELLS - 1);
    for Sighting { pixel, point } in sightings {
        // False of what is not a number.
        if !camera.inside(pixel) {
            continue;
        }
        let Some(&(position, photos)) = points.get(&point) else {
            continue;
        };
        let (column, row) = (cell(pixel[0], camera.width), cell(pixel[1], camera.height));
        let best = &mut cells[row * CELLS + column];
        if best.is_none_or(|(most, _)| photos > most) {
            let view = camera.to_view(position);
            *best = Some((photos, Seen { pixel, view }));
        }
    }
    cells.into_iter().flatten().map(|(_, seen)| seen).collect()
}
