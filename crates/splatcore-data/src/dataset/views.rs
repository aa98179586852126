//! From entries to views: decode, remove distortion, scale.

use super::{Dataset, Entry, Lens, LensCamera, photo, resize, undistort};
use crate::{DataError, Place};
use image::imageops::{self, FilterType};
use rayon::prelude::*;
use splatcore_core::{Camera, Photo, View};
use std::sync::atomic::{AtomicUsize, Ordering};

/// How photos are loaded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadOptions {
    /// The longer side is at most this many pixels; smaller photos stay as they are.
    pub max_size: Option<u32>,
    /// Straight alpha is composited on this colour, sRGB values from 0 to 1.
    pub background: [f32; 3],
    /// Alpha is kept with the photo, which stands on black then, so that another colour can be put behind it in every
    /// step; `background` is not used. A third more memory for photos with alpha.
    pub keep_alpha: bool,
}

impl Dataset {
    /// Loads the photos of some entries, in that order, on all threads. Each view is a pinhole's: lens distortion
    /// is removed by resampling; a pinhole photo that fits already keeps its pixels as they are. The camera and
    /// the mask are scaled with the photo. `progress` is called with (done, total), from any thread.
    ///
    /// # Errors
    /// The first photo in the given order that cannot be read or decoded, or whose shape contradicts its camera.
    ///
    /// # Panics
    /// If an index is not below `entries.len()`.
    pub fn load_views(
        &self,
        indices: &[usize],
        options: &LoadOptions,
        progress: &(dyn Fn(usize, usize) + Sync),
    ) -> Result<Vec<View>, DataError> {
        let done = AtomicUsize::new(0);
        let loaded: Vec<Result<View, DataError>> = indices
            .par_iter()
            .map(|&index| {
                let view = load(&self.entries[index], options);
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, indices.len());
                view
            })
            .collect();
        loaded.into_iter().collect()
    }
}

fn load(entry: &Entry, options: &LoadOptions) -> Result<View, DataError> {
    let (mut rgb, mut alpha) = match options.keep_alpha {
        true => photo::decode_with_alpha(&entry.image)?,
        false => (photo::decode(&entry.image, options.background)?, None),
    };
    let source = fitted(entry, rgb.width(), rgb.height())?;
    let mask_of = |path| photo::decode_mask(path, rgb.width(), rgb.height());
    let mut mask = entry.mask.as_deref().map(mask_of).transpose()?;
    let mut camera = source.camera.clone();
    if source.lens != Lens::None {
        camera = undistort::pinhole_for(&source);
        alpha = alpha.map(|alpha| undistort::undistort(&source, &camera, &alpha, None).0);
        (rgb, mask) = undistort::undistort(&source, &camera, &rgb, mask.as_ref());
    }
    let (width, height) = scaled(camera.width, camera.height, options.max_size);
    if (width, height) != (camera.width, camera.height) {
        rgb = resize::shrink(&rgb, width, height);
        alpha = alpha.map(|alpha| resize::shrink(&alpha, width, height));
        mask = mask.map(|mask| imageops::resize(&mask, width, height, FilterType::Triangle));
        camera = camera.resized(width, height);
    }
    let mask = mask.map(|mask| mask.into_raw().iter().map(|&m| (m >= 128) as u8).collect());
    Ok(View {
        name: entry.name.clone(),
        camera,
        photo: Photo {
            width,
            height,
            rgb: rgb.into_raw(),
            mask,
            alpha: alpha.map(|alpha| alpha.pixels().map(|pixel| pixel.0[0]).collect()),
        },
    })
}

/// Size at which the longer side is at most `max_size`: each side times `max_size / longer`, rounded, at least 1.
fn scaled(width: u32, height: u32, max_size: Option<u32>) -> (u32, u32) {
    let longer = width.max(height);
    match max_size {
        Some(max_size) if longer > max_size.max(1) => {
            let share = max_size.max(1) as f64 / longer as f64;
            let side = |side: u32| ((side as f64 * share).round() as u32).max(1);
            (side(width), side(height))
        }
        _ => (width, height),
    }
}

/// The entry's camera at the size of its file. A file may be a scaled version of the declared image if its shape
/// agrees within a pixel (rounding).
fn fitted(entry: &Entry, width: u32, height: u32) -> Result<LensCamera, DataError> {
    let Camera {
        width: declared_width,
        height: declared_height,
        ..
    } = entry.camera.camera;
    if (width, height) == (declared_width, declared_height) {
        return Ok(entry.camera.clone());
    }
    let (w, h) = (width as f64, height as f64);
    let (dw, dh) = (declared_width as f64, declared_height as f64);
    let off = (w * dh / dw - h).abs().min((h * dw / dh - w).abs());
    if off <= 1.0 {
        return Ok(entry.camera.resized(width, height));
    }
    Err(DataError::new(
        &entry.image,
        format!(
            "the photo is {width}x{height} pixels but its camera is {declared_width}x{declared_height}, which is \
             another shape"
        ),
        "use the photos that were posed, or scaled versions of them (rotated or cropped ones do not fit)",
    )
    .at(Place::Part(format!("image '{}'", entry.name))))
}
