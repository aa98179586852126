//! Datasets in: posed photos from COLMAP or from `transforms.json`.
//!
//! [`Dataset::open`] reads poses, lenses and points and decodes no pixel; [`Dataset::load_views`]
//! decodes photos, removes lens distortion, scales, and returns pinhole [`splatcore_core::View`]s.
//! Which file answers which question:
//!
//! | question | file |
//! | --- | --- |
//! | where are the model, the photos and the masks | `colmap/mod.rs`, `transforms/mod.rs`, `folder.rs` |
//! | what do the bytes mean | `colmap/binary.rs`, `colmap/text.rs`, `transforms/json.rs`, `point_cloud.rs` |
//! | how does a lens bend light | `lens.rs`, `lens_camera.rs` |
//! | how does a photo become a view | `photo.rs`, `undistort.rs`, `resize.rs`, `views.rs` |
//! | where do points come from when there are none | `random_points.rs` |

pub mod colmap;
mod folder;
mod info;
mod lens;
mod lens_camera;
mod photo;
mod point_cloud;
mod random_points;
mod resize;
mod split;
pub mod transforms;
pub mod undistort;
mod views;

pub use info::DatasetInfo;
pub use lens::Lens;
pub use lens_camera::LensCamera;
pub use point_cloud::parse as parse_point_cloud;
pub use split::Split;
pub use views::LoadOptions;

use crate::DataError;
use serde::Serialize;
use splatcore_core::Choice;
use std::path::{Path, PathBuf};

/// How to open a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenOptions {
    /// Folder of the photos in place of `images`, for example `images_4`.
    pub images: Option<String>,
    /// Seed of the random points.
    pub seed: u64,
    /// How many random points are made when the dataset has none.
    pub random_points: usize,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            images: None,
            seed: 0,
            random_points: 50_000,
        }
    }
}

/// What kind of files a dataset came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// COLMAP, `cameras.bin`, `images.bin`, `points3D.bin`.
    ColmapBinary,
    /// COLMAP, `cameras.txt`, `images.txt`, `points3D.txt`.
    ColmapText,
    /// One `transforms.json` (instant-ngp, nerfstudio).
    Transforms,
    /// `transforms_train.json` and its siblings (Blender).
    TransformsSplit,
}

/// Points to start from, world units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// World positions, all finite.
    pub positions: Vec<[f32; 3]>,
    /// sRGB colours, one a position.
    pub colours: Vec<[u8; 3]>,
    /// They were made up, because the dataset has none.
    pub random: bool,
}

/// One photo that exists, and what is known about its camera.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Name as the dataset spells it, without a leading `./`.
    pub name: String,
    /// The photo's file.
    pub image: PathBuf,
    /// The mask's file, if there is one.
    pub mask: Option<PathBuf>,
    /// Camera as read: pinhole part, lens, pose. Its size is the declared one, which the file may
    /// be a scaled version of.
    pub camera: LensCamera,
    /// The split that the files declare, if they do.
    pub declared_split: Option<Split>,
}

/// Posed photos.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Folder that holds the model and the photos.
    pub root: PathBuf,
    /// Kind of files.
    pub format: Format,
    /// The photos that exist, sorted by name (bytewise).
    pub entries: Vec<Entry>,
    /// Names of listed photos whose file does not exist.
    pub missing: Vec<String>,
    /// Points to start from.
    pub points: Points,
    /// What was left out or repaired, one line each.
    pub warnings: Vec<String>,
}

/// What a format's reader found, before it is checked.
struct Found {
    root: PathBuf,
    format: Format,
    entries: Vec<Entry>,
    missing: Vec<String>,
    points: Points,
    warnings: Vec<String>,
    /// Photos without a usable camera, a line each that says why.
    left_out: Vec<String>,
    /// Where the photos were looked for, for messages.
    images: PathBuf,
}

impl Dataset {
    /// Reads poses, lenses and points; decodes no pixels (it may read headers of photos for their
    /// sizes).
    ///
    /// `path` is a dataset's folder, a folder with `cameras.bin` or `cameras.txt`, or a
    /// `transforms*.json`. Looked for in this order: COLMAP in `sparse/0` and `sparse`;
    /// `transforms.json`; `transforms_train.json`; COLMAP in the folder itself and in
    /// `colmap/sparse/0` (nerfstudio).
    ///
    /// # Errors
    /// Nothing known in the folder, a file that is truncated or corrupt, an unknown camera model,
    /// or no photo that has both a file and a usable camera.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Dataset, DataError> {
        let found = find(path, options)?;
        let (mut warnings, mut left_out) = (found.warnings, found.left_out);
        let mut entries = found.entries;
        entries.retain(|entry| match entry.camera.defect() {
            None => true,
            Some(defect) => {
                left_out.push(format!("{}: left out, {defect}", entry.name));
                false
            }
        });
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries.dedup_by(|later, first| {
            let same = later.name == first.name;
            if same {
                warnings.push(format!("{}: listed twice, the first is used", first.name));
            }
            same
        });
        if entries.is_empty() {
            return Err(none_left(&found.images, &found.missing, &left_out));
        }
        warnings.append(&mut left_out);
        let mut missing = found.missing;
        missing.sort();
        missing.dedup();
        let mut points = found.points;
        points.drop_non_finite(&mut warnings);
        if points.positions.is_empty() {
            points =
                random_points::inside_what_is_seen(&entries, options.random_points, options.seed);
        }
        Ok(Dataset {
            root: found.root,
            format: found.format,
            entries,
            missing,
            points,
            warnings,
        })
    }
}

impl Points {
    fn drop_non_finite(&mut self, warnings: &mut Vec<String>) {
        let before = self.positions.len();
        let kept = |p: &[f32; 3]| p.iter().all(|v| v.is_finite());
        if self.positions.iter().all(kept) {
            return;
        }
        let both = self
            .positions
            .iter()
            .zip(&self.colours)
            .filter(|(p, _)| kept(p));
        (self.positions, self.colours) = both.map(|(p, c)| (*p, *c)).unzip();
        warnings.push(format!(
            "{} of {before} points dropped: their position is not finite",
            before - self.positions.len()
        ));
    }
}

fn none_left(images: &Path, missing: &[String], left_out: &[String]) -> DataError {
    let elsewhere = left_out.is_empty() && !missing.is_empty();
    let (problem, remedy) = match (left_out.first(), missing.first()) {
        (Some(first), _) => (
            format!("no image with a usable camera is left ({first})"),
            "export the cameras again",
        ),
        (None, Some(first)) => (
            format!(
                "none of the {} listed images exists here (the first is '{first}')",
                missing.len()
            ),
            "put the photos there or name their folder",
        ),
        (None, None) => (
            "the dataset lists no image".into(),
            "check that the reconstruction registered at least one photo",
        ),
    };
    let error = DataError::new(images, problem, remedy);
    match elsewhere {
        true => error.depending_on(Choice::PhotoFolder),
        false => error,
    }
}

fn find(path: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let kind = std::fs::metadata(path).map_err(|e| DataError::read(path, &e))?;
    if kind.is_file() {
        if path
            .extension()
            .is_some_and(|e| e.eq_ignore_ascii_case("json"))
        {
            return transforms::open_file(path, options);
        }
        return Err(DataError::new(
            path,
            "is a file, not a dataset",
            "give the dataset's folder, or a transforms.json",
        ));
    }
    for model in [path.join("sparse/0"), path.join("sparse")] {
        if let Some(format) = colmap::format_in(&model) {
            return colmap::open(path, &model, format, options);
        }
    }
    let json = path.join("transforms.json");
    if json.is_file() {
        return transforms::open_file(&json, options);
    }
    if path.join("transforms_train.json").is_file() {
        return transforms::open_splits(path, options);
    }
    if let Some(format) = colmap::format_in(path) {
        return colmap::open(&colmap::root_of(path), path, format, options);
    }
    let model = path.join("colmap/sparse/0");
    if let Some(format) = colmap::format_in(&model) {
        return colmap::open(path, &model, format, options);
    }
    let remedy = match path.join("scene.ply").is_file() {
        true => {
            "it seems to be the results of a run: give its scene.ply, or the folder of the photos"
        }
        false => "pose the photos with COLMAP first, or give the folder that holds the model",
    };
    Err(DataError::new(
        path,
        "holds neither a COLMAP model (cameras.bin or cameras.txt in sparse/0, sparse or the \
         folder itself) nor \
         transforms.json or transforms_train.json",
        remedy,
    ))
}
