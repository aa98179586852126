//! Depth maps of photos: where they lie, what their files say, and the inverse depths that follow;
//! and masks of the sky, where nothing stands.
//!
//! | question | file |
//! | --- | --- |
//! | what can be asked for | `options.rs` |
//! | which file holds a photo's depths | `find.rs` |
//! | what do the bytes of it mean | `read.rs`, of normals `vectors.rs` |
//! | which measurements are not to be trusted | `trusted.rs` |
//! | how do depths without a scale get one | `fit.rs` |
//! | what of it belongs to a view | here |
//! | which pixels show the sky | `sky.rs` |
//! | which normals have surfaces | `normals.rs` |
//! | which points are on the surfaces that depths show | `points.rs` |
//! | which depths have points that are known | `of_points.rs` |

mod find;
mod fit;
mod normals;
mod of_points;
mod options;
mod points;
mod read;
mod sky;
mod trusted;
mod vectors;

pub use fit::depth_factor;
pub(super) use normals::{check_normals, with_normals};
pub use of_points::depths_of_points;
pub use options::{DepthOptions, DepthValues, NormalFrame, NormalOptions};
pub use points::points_of;
pub(super) use sky::{check_sky, sky_of, with_sky};

use super::finding::Finding;
use super::photo::same_shape;
use super::posed::Dataset;
use super::{Entry, Points, undistort};
use crate::{DataError, Place};
use read::Measured;
use splatcore_core::depth::DepthMap;
use splatcore_core::{Camera, Choice, panorama};
use std::path::Path;

/// The cameras of a photo that is loaded.
pub(super) struct Loaded<'a> {
    /// Of the file's pixels.
    pub source: &'a Camera,
    /// Of the view.
    pub view: &'a Camera,
    /// Of the view, nonzero where a pixel counts.
    pub mask: Option<&'a [u8]>,
}

/// A map of another shape than its photo, which is used without it.
#[derive(Clone, Debug)]
pub(super) struct Unfit {
    pub finding: Finding,
    /// What to say if too many maps are.
    pub error: DataError,
}

impl Unfit {
    /// `what` the values are; `None` if the map has its photo's shape.
    fn find(
        what: &str,
        [width, height]: [u32; 2],
        (file, entry, photo): (&Path, &Entry, &Camera),
    ) -> Option<Self> {
        if same_shape((width, height), (photo.width, photo.height)) {
            return None;
        }
        let of_photo = format!("{}x{}", photo.width, photo.height);
        let problem = format!(
            "the {what} are {width}x{height} values but their photo is {of_photo} pixels, which is \
             another shape"
        );
        let remedy = "make them from the whole photo, in any size of its shape, or remove the file";
        let finding = Finding::doubtful(
            format!("its map of {what}"),
            format!("{width}x{height} values"),
            format!(
                "one of the whole photo, {of_photo} or scaled; the photo is used without its {what}"
            ),
        );
        Some(Self {
            finding: finding.of(&entry.name),
            error: refused(file, entry, problem, remedy),
        })
    }
}

/// Refuses depths without a scale where nothing gives them one.
pub(super) fn check(dataset: &Dataset, options: &DepthOptions) -> Result<(), DataError> {
    let Points {
        positions, random, ..
    } = &dataset.points;
    if options.values == DepthValues::Metric || !(*random || positions.is_empty()) {
        return Ok(());
    }
    let problem = "its depths have no scale, and the dataset no points that give them one";
    let remedy = "take depths in units of the world, or a dataset with points, as COLMAP's have";
    Err(DataError::new(&dataset.root, problem, remedy).depending_on(Choice::Depths))
}

/// Refuses a dataset of which no photo has depths.
pub(super) fn none_found(dataset: &Dataset, options: &DepthOptions) -> DataError {
    let root = &dataset.root;
    let (path, where_to) = match &options.folder {
        Some(folder) => (root.join(folder), String::new()),
        None => (
            root.clone(),
            format!(" ({} were looked into)", find::DEPTHS.folders.join(", ")),
        ),
    };
    let folder = options.folder.as_deref();
    let has_map = |entry: &&Entry| find::file_of(root, entry, folder, &find::DEPTHS).is_some();
    let (problem, remedy) = match (
        dataset.entries.iter().filter(has_map).count(),
        options.values,
    ) {
        (0, _) => (
            format!("no photo has depths: no depth map was found{where_to}"),
            "name their folder; a depth map is called as its photo, with the ending png, exr, npy \
             or npz",
        ),
        (maps, DepthValues::Metric) => (
            format!(
                "no value of its {maps} depth maps is known, trusted and unmasked in the photos \
                 used"
            ),
            "look at the maps (0 is unknown), at their confidences and masks, and at which photos \
             are used",
        ),
        (maps, _) => (
            format!(
                "the dataset's points tell the scale of none of its {maps} depth maps: too few \
                 points are where values are known, or what is farther has not the larger depth"
            ),
            "check what the maps' values are",
        ),
    };
    DataError::new(&path, problem, remedy).depending_on(Choice::Depths)
}

impl Dataset {
    /// How many photos have a depth map where it is looked for without a folder
    /// ([`DepthOptions::folder`]); none is read.
    pub fn depth_maps(&self) -> usize {
        let has_map =
            |entry: &&Entry| find::file_of(&self.root, entry, None, &find::DEPTHS).is_some();
        self.entries.iter().filter(has_map).count()
    }
}

/// The depths of a photo as its map has them ([`fit::has_distances`]); `None` if there is no file
/// of it, or nothing of it is of use. A map of another shape is added to `unfit`.
pub(super) fn measured(
    dataset: &Dataset,
    entry: &Entry,
    source: &Camera,
    options: &DepthOptions,
    unfit: &mut Vec<Unfit>,
) -> Result<Option<DepthMap>, DataError> {
    let folder = options.folder.as_deref();
    let Some(file) = find::file_of(&dataset.root, entry, folder, &find::DEPTHS) else {
        return Ok(None);
    };
    let Measured {
        width,
        height,
        mut values,
    } = read::read(&file, options.unit.or(entry.depth_unit))?;
    if let Some(map) = Unfit::find("depths", [width, height], (&file, entry, source)) {
        unfit.push(map);
        return Ok(None);
    }
    if let Some(confidence) = find::confidence_of(&file) {
        trusted::by_confidence(&mut values, [width, height], &confidence)?;
    }
    if matches!(options.values, DepthValues::Metric | DepthValues::Scaled) {
        trusted::away_from_edges(&mut values, width as usize);
    }
    let scaled = &source.resized(width, height);
    let points = &dataset.points.positions;
    let inverse = fit::inverse_depths(&values, scaled, points, options.values);
    Ok(inverse.map(|inverse| DepthMap {
        width,
        height,
        inverse,
        normals: Vec::new(),
    }))
}

/// What is known of the depths of a view of a photo, as the view's camera has depths; `None`
/// if nothing.
pub(super) fn seen(of_photo: DepthMap, loaded: &Loaded<'_>) -> Option<DepthMap> {
    let map = masked(converted(of_view(of_photo, loaded), loaded), loaded);
    (map.known() > 0).then_some(map)
}

/// From z to distances or back, where the view's camera does not have what the photo's map has.
/// Nothing is known beside and behind a camera by z.
fn converted(mut map: DepthMap, loaded: &Loaded<'_>) -> DepthMap {
    let (view, distances) = (loaded.view, fit::has_distances(loaded.source));
    if distances == view.depth_is_distance() {
        return map;
    }
    let scale = [
        f64::from(view.width) / f64::from(map.width),
        f64::from(view.height) / f64::from(map.height),
    ];
    for (i, inverse) in (0u32..).zip(&mut map.inverse) {
        let at = [i % map.width, i / map.width];
        let pixel = [0, 1].map(|k| (f64::from(at[k]) + 0.5) * scale[k]);
        let cosine = view.direction(pixel).map_or(0.0, |towards| towards[2]);
        let is = f64::from(*inverse);
        *inverse = match cosine > 0.0 {
            true if distances => (is / cosine) as f32,
            true => (is * cosine) as f32,
            false => 0.0,
        };
    }
    map
}

fn refused(file: &Path, entry: &Entry, problem: String, remedy: &str) -> DataError {
    let error = DataError::new(file, problem, remedy);
    error.at(Place::Part(format!("image '{}'", entry.name)))
}

/// Resampled, at the nearest place, where the view is not what the photo shows, or smaller than the
/// map.
fn of_view(map: DepthMap, loaded: &Loaded<'_>) -> DepthMap {
    let (source, view) = (loaded.source, loaded.view);
    let [width, height] = [view.width, view.height];
    let is_part = panorama::is_whole(source);
    let same = source.lens == view.lens && !is_part;
    if same && map.width <= width {
        return map;
    }
    let pixels = (0..height).flat_map(|y| (0..width).map(move |x| [x, y]));
    let on_panorama = undistort::shown(source, view);
    let place = |at: [u32; 2]| {
        if same {
            return Some(map.index(at, [width, height]));
        }
        let pixel = at.map(|v| f64::from(v) + 0.5);
        let shown = match is_part {
            true => on_panorama(pixel)?,
            false => source
                .pixel(view.ray(pixel)?)
                .filter(|&at| source.inside(at))?,
        };
        let size = [source.width, source.height];
        Some(map.index(undistort::pixel_at(shown, size), size))
    };
    let places: Vec<Option<usize>> = pixels.map(place).collect();
    let normals = match map.normals.is_empty() {
        true => &[],
        false => &places[..],
    };
    DepthMap {
        inverse: (places.iter())
            .map(|place| place.map_or(0.0, |i| map.inverse[i]))
            .collect(),
        normals: (normals.iter())
            .map(|place| place.map_or([0.0; 3], |i| map.normals[i]))
            .collect(),
        width,
        height,
    }
}

/// Nothing is known where the photo does not count.
fn masked(mut map: DepthMap, loaded: &Loaded<'_>) -> DepthMap {
    let Some(mask) = loaded.mask else { return map };
    let size = [map.width, map.height];
    let of_mask = DepthMap {
        width: loaded.view.width,
        height: loaded.view.height,
        inverse: Vec::new(),
        normals: Vec::new(),
    };
    for i in 0..map.inverse.len() {
        let at = [i as u32 % size[0], i as u32 / size[0]];
        if mask[of_mask.index(at, size)] == 0 {
            map.inverse[i] = 0.0;
            if let Some(normal) = map.normals.get_mut(i) {
                *normal = [0.0; 3];
            }
        }
    }
    map
}
