//! Photos of 360 degrees: each is cut into pinhole views, whose poses are found like those of other
//! photos, and gets the pose on which its views agree.
//!
//! The views look around the horizon, each 45 degrees further than the one before and 90 degrees
//! wide, so that whatever one shows at its rim the next one shows in its middle. They lie in
//! `views` of the dataset's folder, as does their model.

use crate::check::Found as Model;
use crate::photos::Found;
use crate::track::Track;
use crate::{Job, PosesError};
use image::{ExtendedColorType, RgbImage};
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::linear::{eigen, quaternion_from_rotation};
use splatcore_core::{Camera, panorama};
use splatcore_data::dataset::colmap::{self, ColmapImage, Observations};
use splatcore_data::dataset::{Points, undistort};
use splatcore_data::{DataError, file, picture};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Views of a panorama.
pub const VIEWS: usize = 8;
/// Folder of the views and their model, in the dataset's.
pub const FOLDER: &str = "views";
/// The views' lens.
pub const CAMERA_MODEL: &str = "SIMPLE_PINHOLE";
/// A panorama is this near to twice as wide as high.
const ASPECT_OFF: f64 = 0.01;
/// XMP data stand within so many bytes of a file's begin.
const XMP_WITHIN: u64 = 1 << 20;
/// A view whose rotation differs from that of the others by more than this, degrees, is wrong.
const APART: f64 = 5.0;
/// A view that shows fewer points than this share of those of the best one says nothing.
const FEW: f64 = 0.2;
/// Of JPEG.
const QUALITY: u8 = 95;

/// What a file says of showing all around.
enum Told {
    Yes,
    No,
    Nothing,
}

/// Whether the photos show all around: they are twice as wide as high, and each says so in its XMP
/// data (GPano), or says nothing of a focal length. Not if a kind of lens was named.
///
/// # Errors
/// A photo that cannot be read; photos of which only some show all around.
pub fn are_all(photos: &[Found], job: &Job) -> Result<bool, PosesError> {
    if job.camera_model.is_some() {
        return Ok(false);
    }
    let (mut whole, mut sure, mut other) = (0, None, None);
    for photo in photos {
        let (width, height) = picture::size(&photo.path)?;
        let told = if is_wide((f64::from(width), f64::from(height))) {
            told(&photo.path)?
        } else {
            Told::No
        };
        match told {
            Told::Yes => sure = sure.or(Some(photo)),
            Told::Nothing => {}
            Told::No => other = other.or(Some(photo)),
        }
        whole += usize::from(!matches!(told, Told::No));
    }
    match (sure, other) {
        (Some(sure), Some(other)) => {
            let problem = format!(
                "shows all around (360 degrees), but {} does not",
                other.name
            );
            let remedy = "find the poses of photos of 360 degrees and of others apart";
            Err(DataError::new(&sure.path, problem, remedy).into())
        }
        _ => Ok(whole == photos.len() && whole > 0),
    }
}

/// Whether an image of this width and height may show all around.
pub fn is_wide((width, height): (f64, f64)) -> bool {
    (width / (2.0 * height) - 1.0).abs() < ASPECT_OFF
}

fn told(path: &Path) -> Result<Told, PosesError> {
    let failed = |e: std::io::Error| PosesError::from(DataError::read(path, &e));
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(XMP_WITHIN)
        .read_to_end(&mut bytes)
        .map_err(failed)?;
    let has = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    if has(b"ProjectionType") && has(b"equirectangular") {
        return Ok(Told::Yes);
    }
    Ok(match crate::groups::has_focal_length(path) {
        true => Told::No,
        false => Told::Nothing,
    })
}

/// The name of a panorama's view.
fn view_name(panorama: &str, view: usize) -> String {
    format!("{panorama}-{view}.jpg")
}

/// The panorama of which a name is that of a view, and which view.
fn of_view(name: &str) -> Option<(&str, usize)> {
    let (panorama, view) = name.strip_suffix(".jpg")?.rsplit_once('-')?;
    Some((panorama, view.parse().ok().filter(|&view| view < VIEWS)?))
}

/// The names of the views of photos.
pub fn view_names(photos: &[Found]) -> Vec<String> {
    let names = photos.iter().map(|photo| &photo.name);
    names
        .flat_map(|name| (0..VIEWS).map(move |view| view_name(name, view)))
        .collect()
}

/// The side of the views of photos of this width, pixels.
pub fn side(width: u32) -> u32 {
    let whole = panorama::whole(&unposed(), width, width / 2);
    panorama::around(&whole, VIEWS)[0].width
}

/// The parameters of the lens of views that are so many pixels wide.
pub fn parameters(side: u32) -> String {
    let half = 0.5 * f64::from(side);
    format!("{half},{half},{half}")
}

/// Cuts photos into their views, but for those that are there.
///
/// # Errors
/// A photo that cannot be decoded, a view that cannot be written, a stop that was asked for.
pub fn cut(
    photos: &[Found],
    job: &Job,
    (phase, track): (usize, &mut Track<'_>),
) -> Result<Vec<Found>, PosesError> {
    let images = job.dataset.join(FOLDER).join("images");
    let total = photos.len() as u64;
    track.begin(phase, "views", total, [None, None]);
    let mut views = Vec::with_capacity(VIEWS * photos.len());
    for (done, photo) in (1u64..).zip(photos) {
        if track.stop() {
            return Err(PosesError::Stopped {
                dataset: job.dataset.clone(),
                repeated: None,
            });
        }
        let names = (0..VIEWS).map(|view| view_name(&photo.name, view));
        let paths: Vec<PathBuf> = names.map(|name| images.join(name)).collect();
        if !paths.iter().all(|path| path.is_file()) {
            cut_one(photo, &paths)?;
        }
        for (view, path) in paths.into_iter().enumerate() {
            let data = std::fs::metadata(&path).map_err(|e| DataError::read(&path, &e))?;
            views.push(Found {
                name: view_name(&photo.name, view),
                bytes: data.len(),
                path,
                changed: photo.changed,
            });
        }
        track.count(done, total);
    }
    Ok(views)
}

/// Removes what [`cut`] wrote, and the model of it.
///
/// # Errors
/// The folder cannot be removed.
pub fn remove(dataset: &Path) -> Result<(), PosesError> {
    let folder = dataset.join(FOLDER);
    match folder.join("images").is_dir() {
        true => std::fs::remove_dir_all(&folder).map_err(|e| DataError::write(&folder, &e).into()),
        false => Ok(()),
    }
}

fn cut_one(photo: &Found, paths: &[PathBuf]) -> Result<(), PosesError> {
    let image = picture::read(&photo.path).map_err(|error| {
        let problem = format!("cannot be decoded ({error})");
        DataError::new(&photo.path, problem, "save it again as JPEG or PNG")
    })?;
    let image: RgbImage = image.to_rgb8();
    let whole = panorama::whole(&unposed(), image.width(), image.height());
    for (camera, path) in panorama::around(&whole, VIEWS).iter().zip(paths) {
        let (view, _) = undistort::part(&whole, camera, &image, None);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|e| DataError::write(folder, &e))?;
        }
        let size = [view.width(), view.height()];
        let bytes = picture::jpeg(&view, size, ExtendedColorType::Rgb8, QUALITY)
            .map_err(|e| DataError::write(path, &std::io::Error::other(e)))?;
        file::write_bytes(path, &bytes)?;
    }
    Ok(())
}

fn unposed() -> Camera {
    Camera::pinhole(2, 1, 1.0)
}

/// The model of the panoramas, of that of their views.
pub fn together(model: Model) -> Model {
    let mut views: BTreeMap<String, Vec<(usize, &ColmapImage)>> = BTreeMap::new();
    for image in &model.images {
        if let Some((panorama, view)) = of_view(&image.name) {
            views
                .entry(panorama.to_owned())
                .or_default()
                .push((view, image));
        }
    }
    let mut images = Vec::with_capacity(views.len());
    let mut of_images = BTreeMap::new();
    for (name, views) in views {
        let seen = |image: &ColmapImage| {
            let points = model.seen.of_images.get(&image.id).copied();
            points.unwrap_or(0)
        };
        let id = images.len() as u32 + 1;
        let cameras: Vec<(Camera, u64)> = (views.iter())
            .filter_map(|&(view, image)| {
                let camera = panorama::from_around(&posed(image)?, view, VIEWS);
                Some((camera, seen(image)))
            })
            .collect();
        let Some(camera) = agreed(&cameras) else {
            continue;
        };
        of_images.insert(id, views.iter().map(|(_, image)| seen(image)).sum());
        images.push(ColmapImage {
            id,
            name,
            camera: 1,
            quaternion: quaternion_from_rotation(&camera.rotation),
            translation: camera.translation,
        });
    }
    Model {
        images,
        seen: Observations {
            of_images,
            ..model.seen
        },
        cameras: 1,
    }
}

fn posed(image: &ColmapImage) -> Option<Camera> {
    Some(Camera {
        rotation: rotation_from_quaternion(image.quaternion)?,
        translation: image.translation,
        ..unposed()
    })
}

/// The camera on which some agree that show so many points each: the mean of those near the one
/// that is nearest to all, by their points. Those that show few do not count: they are off by much.
fn agreed(cameras: &[(Camera, u64)]) -> Option<Camera> {
    let most = cameras.iter().map(|(_, points)| *points).max()?;
    let least = (FEW * most as f64).ceil() as u64;
    let shown: Vec<(&Camera, f64)> = (cameras.iter())
        .filter(|(_, points)| *points >= least)
        .map(|(camera, points)| (camera, *points as f64 + 1.0))
        .collect();
    let angle = |a: &Camera, b: &Camera| {
        let trace: f64 = (a.rotation.iter().flatten())
            .zip(b.rotation.iter().flatten())
            .map(|(a, b)| a * b)
            .sum();
        (0.5 * (trace - 1.0)).clamp(-1.0, 1.0).acos().to_degrees()
    };
    let far = |camera: &Camera| {
        let to = shown
            .iter()
            .map(|(other, weight)| weight * angle(camera, other));
        to.sum::<f64>()
    };
    let (middle, _) = (shown.iter()).min_by(|(a, _), (b, _)| far(a).total_cmp(&far(b)))?;
    let near = || (shown.iter()).filter(|(camera, _)| angle(camera, middle) <= APART);
    // The mean of quaternions of either sign: the largest axis of their products (Markley et al.
    // 2007, "Averaging Quaternions").
    let mut products = [[0.0; 4]; 4];
    let (mut eye, mut all) = ([0.0; 3], 0.0);
    for (camera, weight) in near() {
        let q = quaternion_from_rotation(&camera.rotation);
        for (i, row) in products.iter_mut().enumerate() {
            for (j, sum) in row.iter_mut().enumerate() {
                *sum += weight * q[i] * q[j];
            }
        }
        for (sum, place) in eye.iter_mut().zip(camera.position()) {
            *sum += weight * place;
        }
        all += weight;
    }
    let (values, vectors) = eigen(products);
    let largest = (0..4).max_by(|&a, &b| values[a].total_cmp(&values[b]))?;
    let rotation = rotation_from_quaternion(vectors[largest])?;
    let eye = eye.map(|sum| sum / all);
    Some(Camera {
        translation: rotation.map(|row| -(0..3).map(|k| row[k] * eye[k]).sum::<f64>()),
        rotation,
        ..(*middle).clone()
    })
}

/// Writes the dataset's model: the panoramas, and the points of their views.
///
/// # Errors
/// A file of the views' model that cannot be read, or one that cannot be written.
pub fn write(photos: &[Found], model: &Path, place: &Path) -> Result<(), PosesError> {
    let path = model.join("points3D.bin");
    let bytes = std::fs::read(&path).map_err(|e| DataError::read(&path, &e))?;
    let points: Points = colmap::parse_points_bin(&bytes, &path)?;
    let found = together(Model::read(model)?);
    let mut cameras = Vec::new();
    for image in &found.images {
        let photo = photos.iter().find(|photo| photo.name == image.name);
        if let (Some(photo), Some(camera)) = (photo, posed(image)) {
            let (width, height) = picture::size(&photo.path)?;
            cameras.push((photo.name.as_str(), panorama::whole(&camera, width, height)));
        }
    }
    let cameras: Vec<(&str, &Camera)> = cameras.iter().map(|(name, of)| (*name, of)).collect();
    std::fs::create_dir_all(place).map_err(|e| DataError::write(place, &e))?;
    Ok(colmap::write(place, &cameras, &points)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera(degrees: f64, eye: [f64; 3]) -> Camera {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let rotation = [[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]];
        Camera {
            rotation,
            translation: rotation.map(|row| -(0..3).map(|k| row[k] * eye[k]).sum::<f64>()),
            ..unposed()
        }
    }

    #[test]
    fn names_of_views_name_their_panorama() {
        for view in 0..VIEWS {
            let name = view_name("a-b/c-9.jpg", view);
            assert_eq!(of_view(&name), Some(("a-b/c-9.jpg", view)));
        }
        assert_eq!(of_view("a-8.jpg"), None);
        assert_eq!(of_view("a.jpg"), None);
    }

    /// Views that show few points or stand alone change nothing; the others count by their points.
    #[test]
    fn views_that_show_much_decide() {
        let near = |by: f64| camera(30.0 + by, [1.0 + by, 2.0, 3.0]);
        let all = [
            (near(-0.5), 100),
            (near(0.0), 50),
            (near(0.5), 100),
            (camera(120.0, [9.0, 9.0, 9.0]), 60),
            (near(4.0), 10),
        ];
        let found = agreed(&all).unwrap();
        let wanted = camera(30.0, [1.0, 2.0, 3.0]);
        let numbers = |camera: &Camera| camera.rotation.as_flattened().to_vec();
        for (a, b) in numbers(&found).iter().zip(numbers(&wanted)) {
            assert!((a - b).abs() < 1e-9, "{found:?}");
        }
        for (a, b) in found.position().iter().zip(wanted.position()) {
            assert!((a - b).abs() < 1e-9, "{found:?}");
        }
        assert_eq!(agreed(&[]), None);
        // Of a model that counts no points all views count alike.
        assert!(agreed(&all.map(|(camera, _)| (camera, 0))).is_some());
    }

    /// The cameras of a panorama's views, seen as those of a model, give its camera.
    #[test]
    fn views_of_a_camera_give_it_back() {
        let whole = panorama::whole(&camera(77.0, [0.3, -2.0, 5.0]), 64, 32);
        let views = panorama::around(&whole, VIEWS);
        let images = views.iter().enumerate().map(|(view, camera)| ColmapImage {
            id: view as u32 + 7,
            name: view_name("a.jpg", view),
            camera: 1,
            quaternion: quaternion_from_rotation(&camera.rotation),
            translation: camera.translation,
        });
        let model = Model {
            images: images.collect(),
            seen: Observations {
                points: 10,
                mean_error: 0.5,
                of_images: (7..15).map(|id| (id, 3)).collect(),
            },
            cameras: 1,
        };
        let found = together(model);
        assert_eq!(found.seen.of_images, BTreeMap::from([(1, 24)]));
        let camera = posed(&found.images[0]).unwrap();
        assert_eq!(found.images[0].name, "a.jpg");
        for (a, b) in camera.position().iter().zip(whole.position()) {
            assert!((a - b).abs() < 1e-9);
        }
        for (a, b) in camera
            .rotation
            .iter()
            .flatten()
            .zip(whole.rotation.iter().flatten())
        {
            assert!((a - b).abs() < 1e-9);
        }
    }
}
