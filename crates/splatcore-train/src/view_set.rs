//! The set of training photos as a whole: can it be trained on, and is it the one that a checkpoint
//! knew.

use crate::Checkpoint;
use crate::error::{Difference, TrainError};
use rayon::prelude::*;
use splatcore_core::depth::Known;
use splatcore_core::random::{hash_bytes as of_bytes, mix};
use splatcore_core::{Camera, View};
use std::sync::{Arc, OnceLock};

/// Indices of the views whose mask leaves a pixel to learn from.
pub(crate) fn usable_views(views: &[View]) -> Result<Vec<u32>, TrainError> {
    for view in views {
        let (photo, camera) = (&view.photo, &view.camera);
        let pixels = photo.width as usize * photo.height as usize;
        let mask = photo.mask.as_ref().map_or(pixels, Vec::len);
        let full = photo.rgb.len() == 3 * pixels && mask == pixels;
        let problem = if (photo.width, photo.height) != (camera.width, camera.height) {
            format!(
                "the photo is {}x{}, its camera {}x{}",
                photo.width, photo.height, camera.width, camera.height
            )
        } else if photo.elsewhere.is_none() && !full {
            format!(
                "its pixels or its mask do not fill {}x{}",
                photo.width, photo.height
            )
        } else if let Some(defect) = camera.defect() {
            defect
        } else {
            continue;
        };
        return Err(TrainError::View {
            view: view.name.clone(),
            problem,
        });
    }
    let usable: Vec<u32> = (0u32..)
        .zip(views)
        .filter(|(_, view)| view.photo.counted_pixels() > 0)
        .map(|(i, _)| i)
        .collect();
    match usable.is_empty() {
        true => Err(TrainError::NoViews),
        false => Ok(usable),
    }
}

/// Tells one set of training photos from another.
#[derive(Clone, Debug)]
pub(crate) struct PhotoSet {
    /// By number, names and sizes.
    pub photos: String,
    /// By their cameras, as the dataset has them.
    pub cameras: String,
    /// Whether the pixels of some are not held.
    pub read_ahead: bool,
    views: Arc<Vec<View>>,
    contents: OnceLock<Contents>,
}

/// Hashes of what takes time to read.
#[derive(Clone, Debug)]
pub(crate) struct Contents {
    /// Of pixels and masks.
    pub pixels: String,
    /// Of depth maps, if there are any.
    pub depths: Option<String>,
}

impl PhotoSet {
    /// Of the views of a run.
    pub fn of(views: &Arc<Vec<View>>) -> Self {
        Self {
            photos: names(views),
            cameras: of_all(views, |view| of_camera(&view.camera)),
            read_ahead: views.iter().any(|view| view.photo.elsewhere.is_some()),
            views: Arc::clone(views),
            contents: OnceLock::new(),
        }
    }

    /// Read when a run first asks: at its first checkpoint, or when it is resumed.
    pub fn contents(&self) -> &Contents {
        self.contents.get_or_init(|| {
            let known = |view: &View| view.photo.known_depths().map(Known::fingerprint);
            let has_depths = self
                .views
                .iter()
                .any(|view| view.photo.known_depths().is_some());
            Contents {
                pixels: of_all(&self.views, |view| view.photo.fingerprint()),
                depths: has_depths.then(|| of_all(&self.views, |view| known(view).unwrap_or(0))),
            }
        })
    }

    /// Whether a checkpoint is of these photos, of which those at `usable` are drawn. One that
    /// does not know their cameras, pixels or depths, of an earlier version, may be.
    pub fn check(&self, checkpoint: &Checkpoint, usable: &[u32]) -> Result<(), TrainError> {
        let mut order = checkpoint.order.order.clone();
        order.sort_unstable();
        let mismatch = |what: Difference, checkpoint: &str, now: &str| {
            Err(TrainError::Mismatch {
                what,
                checkpoint: checkpoint.into(),
                now: now.into(),
            })
        };
        if checkpoint.photos != self.photos || order != usable {
            return mismatch(Difference::Photos, &checkpoint.photos, &self.photos);
        }
        let now = self.contents();
        let depths = now.depths.as_deref().unwrap_or("none");
        for (what, before, now) in [
            (Difference::Cameras, &checkpoint.cameras, &self.cameras[..]),
            (Difference::Pixels, &checkpoint.pixels, &now.pixels),
            (Difference::Depths, &checkpoint.depths, depths),
        ] {
            if let Some(before) = before.as_ref().filter(|before| *before != now) {
                return mismatch(what, before, now);
            }
        }
        Ok(())
    }
}

fn of_all(views: &[View], hash: impl Fn(&View) -> u64 + Send + Sync) -> String {
    let hashes: Vec<u64> = views.par_iter().map(hash).collect();
    let hash = hashes.into_iter().fold(0, |all, one| mix(all ^ one));
    format!("{hash:016x}")
}

fn names(views: &[View]) -> String {
    let mut hash = 0;
    for view in views {
        for &byte in view.name.as_bytes() {
            hash = mix(hash ^ u64::from(byte));
        }
        hash = mix(hash ^ (u64::from(view.photo.width) << 32 | u64::from(view.photo.height)));
    }
    format!("{} photos ({hash:016x})", views.len())
}

fn of_camera(camera: &Camera) -> u64 {
    let pinhole = [camera.fx, camera.fy, camera.cx, camera.cy];
    let lens = camera.lens.coefficients();
    let shutter = camera
        .shutter
        .iter()
        .flat_map(|s| s.turn.into_iter().chain(s.shift));
    let numbers = pinhole
        .into_iter()
        .chain(camera.rotation.into_iter().flatten())
        .chain(camera.translation)
        .chain(lens.into_iter().map(|(_, value)| value))
        .chain(shutter);
    let name = of_bytes(camera.lens.name().as_bytes());
    // -0 is 0.
    numbers.fold(name, |hash, number| mix(hash ^ (number + 0.0).to_bits()))
}
