//! Which pixels show the sky: masks, white where they do, as depths of photos.

use super::{Loaded, of_view};
use crate::dataset::posed::Dataset;
use crate::dataset::{Entry, folder, photo};
use crate::{DataError, Place};
use splatcore_core::depth::{DepthMap, SKY};
use splatcore_core::{Choice, View};
use std::path::Path;

/// What is known of the depths of a photo, with the sky of its mask in the folder, if it has one: a
/// mask is right where both say something. A photo whose mask ignores its sky still shows it.
pub(crate) fn with_sky(
    dataset: &Dataset,
    entry: &Entry,
    loaded: &Loaded<'_>,
    masks: &Path,
    known: Option<DepthMap>,
) -> Result<Option<DepthMap>, DataError> {
    let Some(file) = folder::mask_in(&dataset.root.join(masks), &entry.name) else {
        return Ok(known);
    };
    let source = loaded.source;
    let mask = photo::decode_mask(&file, source.width, source.height)?;
    let sky = |white: &u8| if *white > 0 { SKY } else { 0.0 };
    let of_photo = DepthMap {
        width: source.width,
        height: source.height,
        inverse: mask.as_raw().iter().map(sky).collect(),
        normals: Vec::new(),
    };
    let mut sky = of_view(of_photo, loaded);
    if !sky.has_sky() {
        return Ok(known);
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
    Ok(Some(sky))
}

/// Refuses a folder in which no photo has a mask with sky.
pub(crate) fn check_sky(dataset: &Dataset, masks: &Path, views: &[View]) -> Result<(), DataError> {
    let shows = |view: &View| view.photo.depth.as_ref().is_some_and(|map| map.has_sky());
    if views.iter().any(shows) {
        return Ok(());
    }
    let folder = dataset.root.join(masks);
    let problem = "no photo has a mask there that shows sky";
    let remedy = "name the folder of the masks; each is called as its photo, NAME.png, and white \
                  where that shows the sky";
    Err(DataError::new(&folder, problem, remedy).depending_on(Choice::Sky))
}

/// Refuses the sky of a photo of 360 degrees, whose views are cut out of it.
pub(crate) fn no_sky_around(entry: &Entry) -> DataError {
    let problem = "masks of the sky of photos of 360 degrees are not read";
    let remedy = "leave the masks out, or cut the photos into pinholes first";
    DataError::new(&entry.image, problem, remedy)
        .at(Place::Part(format!("image '{}'", entry.name)))
        .depending_on(Choice::Sky)
}
