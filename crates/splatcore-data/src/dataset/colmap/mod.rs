//! COLMAP models: `cameras`, `images` and `points3D`, binary or text.

mod binary;
mod model;
mod text;

pub use binary::{parse_cameras_bin, parse_images_bin, parse_points_bin};
pub use model::{ColmapCamera, ColmapImage, LARGEST_SIDE, parameter_count};
pub use text::{parse_cameras_txt, parse_images_txt, parse_points_txt};

use super::folder;
use super::found::{Entry, Format, Found, Points};
use super::options::OpenOptions;
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
    let read = |name: &str| {
        let path = model.join(name);
        let bytes = std::fs::read(&path).map_err(|e| DataError::read(&path, &e))?;
        Ok::<_, DataError>((path, bytes))
    };
    let binary = format == Format::ColmapBinary;
    let (cameras, images, points) = if binary {
        ("cameras.bin", "images.bin", "points3D.bin")
    } else {
        ("cameras.txt", "images.txt", "points3D.txt")
    };
    let (path, bytes) = read(cameras)?;
    let cameras = if binary {
        parse_cameras_bin(&bytes, &path)?
    } else {
        parse_cameras_txt(&bytes, &path)?
    };
    let (images_path, bytes) = read(images)?;
    let images = if binary {
        parse_images_bin(&bytes, &images_path)?
    } else {
        parse_images_txt(&bytes, &images_path)?
    };
    let points = if model.join(points).is_file() {
        let (path, bytes) = read(points)?;
        if binary {
            parse_points_bin(&bytes, &path)?
        } else {
            parse_points_txt(&bytes, &path)?
        }
    } else {
        Points::default()
    };
    let photos = photo_folder(root, options)?;
    let mut found = Found {
        root: root.to_path_buf(),
        format,
        entries: Vec::new(),
        missing: Vec::new(),
        points,
        warnings: Vec::new(),
        left_out: Vec::new(),
        images: photos.clone(),
    };
    let cameras: HashMap<u32, &ColmapCamera> = cameras.iter().map(|c| (c.id, c)).collect();
    for image in &images {
        let Some(camera) = cameras.get(&image.camera) else {
            return Err(DataError::new(
                &images_path,
                format!("camera {} is not in the cameras file", image.camera),
                "export the model again so that its files belong together",
            )
            .at(Place::Part(format!("image '{}'", image.name))));
        };
        let Some((name, file)) = folder::image(&photos, &image.name) else {
            found.missing.push(image.name.clone());
            continue;
        };
        let Some(rotation) = rotation_from_quaternion(image.quaternion) else {
            found.left_out.push(format!(
                "{name}: left out, its quaternion {:?} is no rotation",
                image.quaternion
            ));
            continue;
        };
        let mut camera = camera.camera.clone();
        camera.camera.rotation = rotation;
        camera.camera.translation = image.translation;
        found.entries.push(Entry {
            mask: folder::mask(root, &name),
            name,
            image: file,
            camera,
            declared_split: None,
        });
    }
    Ok(found)
}

fn photo_folder(root: &Path, options: &OpenOptions) -> Result<PathBuf, DataError> {
    if let Some(name) = &options.images {
        let folder = root.join(name);
        if folder.is_dir() {
            return Ok(folder);
        }
        return Err(DataError::new(
            &folder,
            "there is no such folder of photos",
            "name a folder of the dataset, for example images_4",
        ));
    }
    let folder = root.join("images");
    Ok(if folder.is_dir() {
        folder
    } else {
        root.to_path_buf()
    })
}
