//! A dataset that needs no download: a garden square, ray-traced by a small renderer that knows
//! nothing of Gaussians, written as photos with a COLMAP text model.
//!
//! [`write_dataset`] writes it. [`World`] is the scene; [`World::look`] follows one ray, which is
//! how tests check photos and points against the truth. Axes: x right, y down, z forward, so up is
//! -y, as in most published Gaussian scenes. Lengths are in metres; cameras stand about 6 from the
//! centre; a painted sphere of radius 13 closes the scene.
//!
//! `shape`: solids and rays · `bvh`: which shapes a ray may meet · `texture`: noise and paints ·
//! `world`: what stands where · `trace`: light · `rig`: cameras · `render`: pixels and points ·
//! `colmap`: the text files.

mod bvh;
mod colmap;
mod options;
mod render;
mod rig;
mod shape;
mod texture;
mod trace;
mod vector;
mod world;

pub use options::{Motion, ProceduralOptions};
pub use trace::{Seen, encode_srgb};
pub use world::World;

use crate::DataError;
use crate::dataset::colmap::camera_model;
use crate::dataset::transforms::{self, PosedPhoto};
use crate::file::write_bytes;
use crate::picture;
use image::ExtendedColorType;
use rayon::prelude::*;
use splatcore_core::Camera;
use std::path::Path;
use std::sync::Mutex;

/// Renders the scene and writes it as a dataset: `images/view_0000.png` and so on, and
/// `sparse/0/{cameras,images,points3D}.txt`; if cameras move while they read their photos, the
/// latter below `colmap/`, with the poses in the middle, and `transforms.json` with the motion. A
/// lens that COLMAP does not have is in a `transforms.json` too, with the points alone in
/// `colmap/`.
/// `progress(done, all)` is called after every photo, from any thread, one call at a time and in
/// order.
///
/// # Errors
/// When the options are out of range, when `folder` already holds a binary COLMAP model (which
/// readers would take instead of this one), or when a file cannot be written. Files already
/// complete stay.
pub fn write_dataset(
    folder: &Path,
    options: &ProceduralOptions,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<(), DataError> {
    let defect = options.defect().or_else(|| lens_defect(options));
    if let Some(defect) = defect {
        return Err(DataError::new(
            folder,
            defect,
            "choose a value in that range",
        ));
    }
    let cameras = rig::cameras(options);
    let in_transforms = options.motion.is_some()
        || cameras
            .first()
            .is_some_and(|camera| camera_model(camera).is_none());
    let model = match in_transforms {
        false => folder.to_path_buf(),
        true => folder.join("colmap"),
    };
    let sparse = model.join("sparse").join("0");
    for name in ["cameras.bin", "images.bin", "points3D.bin"] {
        if sparse.join(name).exists() {
            return Err(DataError::new(
                &sparse.join(name),
                "belongs to another dataset in the same folder",
                "choose an empty folder",
            ));
        }
    }
    let world = World::new();
    let names: Vec<String> = (0..options.views)
        .map(|i| format!("view_{i:04}.png"))
        .collect();
    let done = Mutex::new(0);
    cameras
        .par_iter()
        .zip(&names)
        .enumerate()
        .try_for_each(|(view, (camera, name))| {
            let rgb = render::photo(&world, camera, view, options);
            write_png(&folder.join("images").join(name), options, &rgb)?;
            // A caller's panic in `progress` is the caller's; the count itself is always sound.
            let mut done = done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            *done += 1;
            progress(*done, options.views);
            Ok(())
        })?;
    let points = render::points(&world, &cameras, options);
    colmap::write(&sparse, &cameras, &names, &points)?;
    if !in_transforms {
        return Ok(());
    }
    let photo = |(camera, name): (Camera, &String)| PosedPhoto {
        file_path: format!("images/{name}"),
        camera,
        held_out: false,
    };
    let photos: Vec<PosedPhoto> = cameras.into_iter().zip(&names).map(photo).collect();
    transforms::write(&folder.join("transforms.json"), &photos)
}

/// What is wrong with the lens, or `None`.
fn lens_defect(options: &ProceduralOptions) -> Option<String> {
    let camera = rig::cameras(options).into_iter().next()?;
    let writes = camera_model(&camera).is_some() || transforms::has_model(&camera);
    (!writes).then(|| {
        format!(
            "photos through the lens '{}' were asked for, which neither COLMAP's files nor a \
             transforms.json have; pinhole, opencv, fisheye, f-theta, equirectangular and \
             orthographic are possible",
            options.lens.name()
        )
    })
}

fn write_png(path: &Path, options: &ProceduralOptions, rgb: &[u8]) -> Result<(), DataError> {
    let size = [options.width, options.height];
    let bytes = picture::png(rgb, size, ExtendedColorType::Rgb8)
        .map_err(|error| DataError::write(path, &std::io::Error::other(error)))?;
    write_bytes(path, &bytes)
}
