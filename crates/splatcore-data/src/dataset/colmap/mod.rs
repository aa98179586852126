//! COLMAP models: `cameras`, `images` and `points3D`, binary or text.

mod binary;
mod model;
mod pixels;
mod text;
pub(super) mod tracks;
mod write;

pub use binary::{parse_cameras_bin, parse_images_bin, parse_observations_bin, parse_points_bin};
pub use model::{ColmapCamera, ColmapImage, Observations, parameter_count};
pub use pixels::{mean_error, move_pixels};
pub use text::{parse_cameras_txt, parse_images_txt, parse_points_txt};
pub use write::{model as camera_model, write};

use super::finding::Finding;
use super::folder;
use super::format::Format;
use super::found::{Found, Points};
use super::frames;
use super::options::OpenOptions;
use super::plausible::values;
use crate::{DataError, Place};
use splatcore_core::camera::rotation_from_quaternion;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// The kind of model in a folder, if there is one.
pub(super) fn format_in(folder: &Path) -> Option<Format> {
    let has = |name: &str| folder.join(name).is_file();
    if has("cameras.bin") && has("images.bin") {
        Some(Format::ColmapBinary)
    } else if has("cameras.txt") && has("images.txt") {
        Some(Format::ColmapText)
    } else {
        None
    }
}

/// The dataset's folder for a model's folder: the nearest of it, its parent and its grandparent
/// that holds `images`; else the model's folder.
pub(super) fn root_of(model: &Path) -> PathBuf {
    let full = std::fs::canonicalize(model).unwrap_or_else(|_| model.to_path_buf());
    let nearest = full
        .ancestors()
        .take(3)
        .position(|folder| folder.join("images").is_dir());
    match nearest {
        Some(0) | None => model.to_path_buf(),
        Some(up) => full.ancestors().nth(up).unwrap_or(model).to_path_buf(),
    }
}

pub(super) fn open(
    root: &Path,
    model: &Path,
    format: Format,
    options: &OpenOptions,
) -> Result<Found, DataError> {
    let binary = format == Format::ColmapBinary;
    let files = match binary {
        true => ["cameras.bin", "images.bin", "points3D.bin"],
        false => ["cameras.txt", "images.txt", "points3D.txt"],
    };
    let [cameras, listed, points] = files.map(|name| model.join(name));
    let bytes = folder::read(&cameras)?;
    let cameras = match binary {
        true => binary::cameras(&bytes, &cameras)?,
        false => text::cameras(&bytes, &cameras)?,
    };
    let bytes = folder::read(&listed)?;
    let images = match binary {
        true => parse_images_bin(&bytes, &listed)?,
        false => parse_images_txt(&bytes, &listed)?,
    };
    let points = match (points.is_file(), binary) {
        (false, _) => Points::default(),
        (true, true) => parse_points_bin(&folder::read(&points)?, &points)?,
        (true, false) => parse_points_txt(&folder::read(&points)?, &points)?,
    };
    let photos = folder::photos(root, options)?;
    let mut found = Found::new(root, format, photos);
    found.points = points;
    let counted = (!binary).then(|| text::counted_images(&bytes)).flatten();
    if let Some(counted) = counted.filter(|&counted| counted > images.len()) {
        found.warnings.push(format!(
            "{}: {} images are listed, of {counted} that its header counts; if it was cut short, \
             export the model again",
            listed.display(),
            images.len()
        ));
    }
    let model::Cameras { known, unknown } = cameras;
    let cameras: HashMap<u32, &ColmapCamera> = known.iter().map(|c| (c.id, c)).collect();
    for image in &images {
        if let Some((_, model, error)) = unknown.iter().find(|(id, ..)| *id == image.camera) {
            add_unknown(&mut found, image, model, error);
            continue;
        }
        let Some(camera) = cameras.get(&image.camera) else {
            return Err(DataError::new(
                &listed,
                format!("camera {} is not in the cameras file", image.camera),
                "export the model again so that its files belong together",
            )
            .at(Place::Part(format!("image '{}'", image.name))));
        };
        add_image(&mut found, image, camera);
    }
    frames::give_motion(&mut found, options.readout);
    Ok(found)
}

/// Adds a listed image to the missing, or to those left out as its camera's model is not known.
fn add_unknown(found: &mut Found, image: &ColmapImage, model: &str, error: &DataError) {
    match folder::image(&found.images, &image.name) {
        None => found.missing.push(image.name.clone()),
        Some((name, _)) => {
            let expected = format!("{}; undistort the photo otherwise", model::known());
            let finding = Finding::refused("its camera model", model, expected);
            found.add_unknown(&name, finding, || error.clone());
        }
    }
}

/// Adds a listed image to the entries, to the missing, or to those left out.
fn add_image(found: &mut Found, image: &ColmapImage, camera: &ColmapCamera) {
    let Some((name, file)) = folder::image(&found.images, &image.name) else {
        found.missing.push(image.name.clone());
        return;
    };
    let Some(rotation) = rotation_from_quaternion(image.quaternion) else {
        let finding = values::no_rotation(image.quaternion);
        found.findings.push(finding.of(&name));
        return;
    };
    let mut camera = camera.camera.clone();
    camera.rotation = rotation;
    camera.translation = image.translation;
    found.add(name, file, Ok(camera));
}
