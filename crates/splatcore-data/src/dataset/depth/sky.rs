//! Which pixels show the sky: masks, white where they do, as depths of photos.

use super::{Loaded, of_view};
use crate::DataError;
use crate::dataset::posed::Dataset;
use crate::dataset::{Entry, folder, photo};
use splatcore_core::depth::{DepthMap, Known, SKY};
use splatcore_core::{Camera, Choice, View};
use std::path::{Path, PathBuf};

impl Dataset {
    /// The file of the mask of a photo's sky in a folder of the dataset, if there is one.
    pub fn sky_mask(&self, entry: &Entry, masks: &Path) -> Option<PathBuf> {
        folder::mask_in(&self.root.join(masks), &entry.name)
    }
}

/// The sky of a photo by its mask in the folder, if it has one. A photo whose mask ignores its sky
/// still shows it.
pub(crate) fn sky_of(
    dataset: &Dataset,
    entry: &Entry,
    source: &Camera,
    masks: &Path,
) -> Result<Option<DepthMap>, DataError> {
    let Some(file) = dataset.sky_mask(entry, masks) else {
        return Ok(None);
    };
    let mask = photo::decode_mask(&file, source.width, source.height)?;
    let sky = |white: &u8| if *white > 0 { SKY } else { 0.0 };
    Ok(Some(DepthMap {
        width: source.width,
        height: source.height,
        inverse: mask.as_raw().iter().map(sky).collect(),
        normals: Vec::new(),
    }))
}

/// What is known of the depths of a view, with the sky of its photo: where both say something, the
/// sky is right.
pub(crate) fn with_sky(
    of_photo: DepthMap,
    loaded: &Loaded<'_>,
    known: Option<DepthMap>,
) -> Option<DepthMap> {
    let mut sky = of_view(of_photo, loaded);
    if !sky.has_sky() {
        return known;
    }
    if let Some(known) = known {
        let size = [sky.width, sky.height];
        if !known.normals.is_empty() {
            let places = (0..sky.inverse.len() as u32).map(|i| [i % size[0], i / size[0]]);
            let normals = places.map(|at| known.normals[known.index(at, size)]);
            sky.normals = normals.collect();
        }
        for (i, value) in (0u32..).zip(&mut sky.inverse) {
            if *value != SKY {
                *value = known.inverse[known.index([i % size[0], i / size[0]], size)];
            }
        }
    }
    Some(sky)
}

/// Refuses a folder in which no photo has a mask with sky.
pub(crate) fn check_sky(dataset: &Dataset, masks: &Path, views: &[View]) -> Result<(), DataError> {
    let shows = |view: &View| view.photo.known_depths().is_some_and(Known::has_sky);
    if views.iter().any(shows) {
        return Ok(());
    }
    let folder = dataset.root.join(masks);
    let problem = "no photo has a mask there that shows sky";
    let remedy = "name the folder of the masks; each is called as its photo, NAME.png, and white \
                  where that shows the sky";
    Err(DataError::new(&folder, problem, remedy).depending_on(Choice::Sky))
}
