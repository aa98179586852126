//! Where photos show points, by a binary model: read, changed, and compared with the cameras.

use super::binary;
use super::model::{ColmapCamera, ColmapImage};
use crate::DataError;
use crate::dataset::folder;
use splatcore_core::Camera;
use splatcore_core::camera::rotation_from_quaternion;
use std::collections::HashMap;
use std::path::Path;

/// Where a 2D point goes, by its image, its number there, and its place, in pixels.
pub type Move<'a> = dyn FnMut(&ColmapImage, usize, [f64; 2]) -> [f64; 2] + 'a;

/// `images.bin` with other places of its 2D points. `path` is for messages only.
///
/// # Errors
/// The file is corrupt.
pub fn move_pixels(bytes: &[u8], path: &Path, to: &mut Move<'_>) -> Result<Vec<u8>, DataError> {
    let mut moved = bytes.to_vec();
    binary::each_image(bytes, path, &mut |image, records| {
        for (number, record) in moved[records]
            .as_chunks_mut::<24>()
            .0
            .iter_mut()
            .enumerate()
        {
            if let ([x, y, _], _) = record.as_chunks_mut::<8>() {
                let was = [*x, *y].map(f64::from_le_bytes);
                [*x, *y] = to(&image, number, was).map(f64::to_le_bytes);
            }
        }
    })?;
    Ok(moved)
}

/// The mean distance, in pixels, of a model's points from the places where photos show them. Files
/// are those of `folder`. NaN of a model without points.
///
/// # Errors
/// Files that cannot be read, or are corrupt.
pub fn mean_error(folder: &Path) -> Result<f64, DataError> {
    let [cameras, listed, points] =
        ["cameras.bin", "images.bin", "points3D.bin"].map(|name| folder.join(name));
    let cameras = binary::parse_cameras_bin(&folder::read(&cameras)?, &cameras)?;
    let cameras: HashMap<u32, &ColmapCamera> = cameras.iter().map(|c| (c.id, c)).collect();
    let mut places = HashMap::new();
    binary::each_point(&folder::read(&points)?, &points, &mut |point| {
        places.insert(point.id, point.position);
    })?;
    let (mut sum, mut count) = (0.0, 0.0);
    binary::images(&folder::read(&listed)?, &listed, &mut |image, sightings| {
        let rotation = rotation_from_quaternion(image.quaternion);
        let (Some(camera), Some(rotation)) = (cameras.get(&image.camera), rotation) else {
            return;
        };
        let camera = Camera {
            rotation,
            translation: image.translation,
            ..camera.camera.clone()
        };
        for seen in sightings {
            let shown = places
                .get(&seen.point)
                .and_then(|point| camera.project(*point));
            if let Some([x, y]) = shown {
                sum += (x - seen.pixel[0]).hypot(y - seen.pixel[1]);
                count += 1.0;
            }
        }
    })?;
    Ok(sum / count)
}
