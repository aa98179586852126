//! The points of a dataset's model that its photos show, for views.

use super::colmap::tracks::{self, Seen};
use super::{Dataset, Entry, Format};
use crate::DataError;
use splatcore_core::{Camera, TrackedPoint, Tracks, View};
use std::collections::HashMap;

impl Dataset {
    /// Which points of the model each view shows, and where it should: through the view's own lens,
    /// at its size. The points are placed as seen from the dataset's pose of the photo, so they
    /// follow [`Dataset::turn`]. None of a dataset that is no COLMAP model, of the parts of a
    /// panorama, and of views that are none of the dataset's photos. Reads the model's files again.
    ///
    /// # Errors
    /// Files of the model that cannot be read, or are corrupt.
    pub fn tracks<'a>(
        &self,
        views: impl IntoIterator<Item = &'a View>,
    ) -> Result<Vec<Tracks>, DataError> {
        let views: Vec<&View> = views.into_iter().collect();
        let is_binary = match self.format {
            Format::ColmapBinary => true,
            Format::ColmapText => false,
            _ => return Ok(vec![Tracks::default(); views.len()]),
        };
        let Some(model) = self.files.first() else {
            return Ok(vec![Tracks::default(); views.len()]);
        };
        let entries = self.entries.iter().map(|entry| (&*entry.name, entry));
        let entries: HashMap<&str, &Entry> = entries.collect();
        let known = |view: &&View| {
            let entry = entries.get(&*view.name)?;
            Some((&*entry.name, &entry.camera))
        };
        let cameras: HashMap<&str, &Camera> = views.iter().filter_map(known).collect();
        let seen = tracks::read(model, is_binary, &cameras)?;
        let of_view = |view: &&View| {
            let found = seen.get(&view.name).zip(cameras.get(&*view.name));
            found.map_or_else(Tracks::default, |(seen, source)| {
                in_view(seen, source, view)
            })
        };
        Ok(views.iter().map(of_view).collect())
    }
}

/// What a view of a photo shows of what the photo does; `source` is the photo's camera.
fn in_view(seen: &[Seen], source: &Camera, view: &View) -> Tracks {
    let camera = &view.camera;
    let unposed = Camera {
        rotation: Camera::pinhole(1, 1, 1.0).rotation,
        translation: [0.0; 3],
        shutter: None,
        ..camera.clone()
    };
    let point = |seen: &Seen| {
        let pixel = unposed.project(source.direction(seen.pixel)?)?;
        Some(TrackedPoint {
            pixel,
            position: camera.to_world(seen.view),
        })
    };
    Tracks {
        points: seen.iter().filter_map(point).collect(),
        pixel: f64::from(camera.width) / f64::from(source.width.max(1)),
    }
}
