//! Bundler's `bundle.out` and `list.txt` (Snavely; Bundler 0.4 user's manual, "Output format").
//!
//! A camera of that format looks down its -z axis, with x right and y up; the image's origin is its
//! centre, with y up; r = |p| for p = (-x/z, -y/z), pixel = f (1 + k1 r² + k2 r⁴) p.

mod list;
mod parse;

pub use list::parse as parse_list;
pub(super) use parse::is_bundle;
pub use parse::{Bundle, BundleCamera, parse};

use super::folder;
use super::format::Format;
use super::found::Found;
use super::options::OpenOptions;
use super::photo;
use super::photo_index::PhotoIndex;
use crate::DataError;
use splatcore_core::{Camera, Lens};
use std::path::{Path, PathBuf};

/// Reads a bundle and the list of its photos.
pub(super) fn open(root: &Path, file: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let bundle = parse(&folder::read(file)?, file)?;
    let (list, names) = names(root, file)?;
    if names.len() != bundle.cameras.len() {
        return Err(DataError::new(
            &list,
            format!(
                "it lists {} photos but {} has {} cameras",
                names.len(),
                file.display(),
                bundle.cameras.len()
            ),
            "use the list that was exported with the bundle",
        ));
    }
    let photos = PhotoIndex::new(root, options)?;
    // Focal lengths are in pixels of the photos that were posed, not of smaller copies.
    let posed = match options.images {
        Some(_) => Some(PhotoIndex::new(root, &OpenOptions::default())?),
        None => None,
    };
    let mut found = Found::new(root, Format::Bundler, photos.folder.clone());
    found.points = bundle.points;
    let mut unposed = 0;
    for (name, camera) in names.iter().zip(&bundle.cameras) {
        let Some(camera) = camera else {
            unposed += 1;
            continue;
        };
        let Some((name, image)) = photos.find(name) else {
            found.missing.push(name.clone());
            continue;
        };
        let original = posed.as_ref().and_then(|posed| posed.find(&name));
        let size = photo::size(original.as_ref().map_or(&image, |(_, path)| path))?;
        found.add(name, image, Ok(camera_of(camera, size)));
    }
    if unposed > 0 {
        found.warnings.push(format!(
            "{unposed} of {} photos have no pose in the bundle and are left out",
            names.len()
        ));
    }
    Ok(found)
}

fn camera_of(camera: &BundleCamera, (width, height): (u32, u32)) -> Camera {
    // y and z of the camera point the other way.
    let sign = [1.0, -1.0, -1.0];
    let lens = Lens::OpenCv {
        k: [camera.k[0], camera.k[1], 0.0, 0.0, 0.0, 0.0],
        p: [0.0; 2],
        s: [0.0; 4],
    };
    Camera {
        width,
        height,
        fx: camera.focal,
        fy: camera.focal,
        cx: width as f64 / 2.0,
        cy: height as f64 / 2.0,
        rotation: std::array::from_fn(|i| camera.rotation[i].map(|v| sign[i] * v)),
        translation: std::array::from_fn(|i| sign[i] * camera.translation[i]),
        lens: lens.simplified(),
        shutter: None,
    }
}

/// Files that may list the photos of a bundle, the likeliest first: `list.txt` of Bundler and
/// OpenMVG, `X.list.txt` of COLMAP for `X.bundle.out`, `list.rd.txt` for `bundle.rd.out`, and one
/// with the bundle's own name.
fn candidates(root: &Path, file: &Path) -> Vec<PathBuf> {
    let folder = folder::of_file(file);
    let name = file.file_name().and_then(|n| n.to_str()).unwrap_or("");
    let stem = name.strip_suffix(".out").unwrap_or(name);
    let names = [
        format!("{}.txt", stem.replace("bundle", "list")),
        format!("{stem}.list.txt"),
        format!("{stem}.txt"),
        format!("{stem}.lst"),
        "list.txt".to_owned(),
    ];
    let places = [folder.as_path(), root];
    let all = places
        .iter()
        .flat_map(|place| names.iter().map(|name| place.join(name)));
    all.filter(|path| path != file).collect()
}

fn names(root: &Path, file: &Path) -> Result<(PathBuf, Vec<String>), DataError> {
    let list = candidates(root, file)
        .into_iter()
        .find(|path| path.is_file());
    let Some(list) = list else {
        return Err(DataError::new(
            file,
            "there is no list of photos beside it",
            "put list.txt there: a photo a line, in the order of the bundle's cameras (COLMAP \
             writes it with `model_converter --output_type Bundler`)",
        ));
    };
    let names = parse_list(&folder::read(&list)?, &list)?;
    Ok((list, names))
}
