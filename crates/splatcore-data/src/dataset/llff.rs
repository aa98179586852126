//! LLFF's `poses_bounds.npy` (Mildenhall et al. 2019; the repository's README, "Using your own
//! poses").
//!
//! A row of 17 numbers a photo, photos sorted by name: a 3x5 matrix by rows, whose columns are the
//! camera's down, right and backward axes in the world, its position, and (height, width, focal
//! length) in pixels; then the depths of the closest and the farthest thing.

use super::finding::Finding;
use super::folder;
use super::format::Format;
use super::found::Found;
use super::npy::{self, Matrix};
use super::options::OpenOptions;
use super::photo_index::PhotoIndex;
use super::plausible::values;
use super::pose::{Axes, Pose};
use crate::{DataError, Place};
use splatcore_core::Camera;
use std::path::{Path, PathBuf};

/// Camera of a photo, and the depths between which it sees things.
#[derive(Clone, Debug, PartialEq)]
pub struct LlffPhoto {
    /// Size, focal length and pose, or what is wrong with them.
    pub camera: Result<Camera, Finding>,
    /// Closest and farthest depth, world units. They may be non-finite.
    pub bounds: [f64; 2],
}

/// Reads a `poses_bounds.npy`. `path` is for messages only.
pub fn parse(bytes: &[u8], path: &Path) -> Result<Vec<LlffPhoto>, DataError> {
    let Matrix {
        columns, values, ..
    } = npy::parse(bytes, path)?;
    if columns != 17 {
        return Err(DataError::new(
            path,
            format!("a row has {columns} numbers, and not 17"),
            "write a pose (3x5) and two bounds for each photo, as LLFF's imgs2poses does",
        ));
    }
    let rows = values.as_chunks::<17>().0;
    Ok(rows.iter().map(photo).collect())
}

fn photo(row: &[f64; 17]) -> LlffPhoto {
    LlffPhoto {
        camera: camera(row),
        bounds: [row[15], row[16]],
    }
}

fn camera(row: &[f64; 17]) -> Result<Camera, Finding> {
    let m = |i: usize, j: usize| row[5 * i + j];
    let [height, width, focal] = [m(0, 4), m(1, 4), m(2, 4)];
    let (width, height) = values::size(width, height)?;
    // Right, down, forward.
    let to_world = std::array::from_fn(|i| [m(i, 1), m(i, 0), -m(i, 2), m(i, 3)]);
    let pose = Pose::from_camera_to_world(&to_world, Axes::OpenCv)
        .map_err(|problem| values::no_pose("its pose", problem))?;
    Ok(Camera {
        rotation: pose.rotation,
        translation: pose.translation,
        ..Camera::pinhole(width, height, focal)
    })
}

/// Reads the poses and gives them to the photos by the order of their names.
pub(super) fn open(root: &Path, file: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let poses = parse(&folder::read(file)?, file)?;
    let photos = PhotoIndex::of(photos(root, options)?);
    let names: Vec<&str> = photos.flat().collect();
    if names.len() != poses.len() {
        return Err(DataError::new(
            file,
            format!(
                "{} poses, but {} holds {} photos, and they belong together by the order of names",
                poses.len(),
                photos.folder.display(),
                names.len()
            ),
            "put exactly the posed photos there, or name their folder",
        )
        .at(Place::File)
        .depending_on(splatcore_core::Choice::PhotoFolder));
    }
    let mut found = Found::new(root, Format::Llff, photos.folder.clone());
    let mut depths = [f64::INFINITY, 0.0f64];
    for (name, pose) in names.into_iter().zip(poses) {
        let [near, far] = pose.bounds;
        match values::bounds(pose.bounds) {
            Some(finding) => found.findings.push(finding.of(name)),
            None => depths = [depths[0].min(near), depths[1].max(far)],
        }
        found.add(name.to_owned(), photos.folder.join(name), pose.camera);
    }
    found.depths = (depths[0] < depths[1]).then_some(depths);
    Ok(found)
}

/// The folder of photos: the options', else `images`, else the largest of the smaller copies.
fn photos(root: &Path, options: &OpenOptions) -> Result<PathBuf, DataError> {
    let copies = ["images", "images_2", "images_4", "images_8"];
    let copy = copies
        .map(|name| root.join(name))
        .into_iter()
        .find(|f| f.is_dir());
    match (&options.images, copy) {
        (None, Some(folder)) => Ok(folder),
        _ => folder::photos(root, options),
    }
}
