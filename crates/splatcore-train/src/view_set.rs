//! The set of training photos as a whole: can it be trained on, and is it the one that a checkpoint
//! knew.

use crate::error::TrainError;
use splatcore_core::View;
use splatcore_core::random::mix;

/// Indices of the views whose mask leaves a pixel to learn from.
pub(crate) fn usable_views(views: &[View]) -> Result<Vec<u32>, TrainError> {
    for view in views {
        let (photo, camera) = (&view.photo, &view.camera);
        let pixels = photo.width as usize * photo.height as usize;
        let mask = photo.mask.as_ref().map_or(pixels, Vec::len);
        let problem = if (photo.width, photo.height) != (camera.width, camera.height) {
            format!(
                "the photo is {}x{}, its camera {}x{}",
                photo.width, photo.height, camera.width, camera.height
            )
        } else if photo.rgb.len() != 3 * pixels || mask != pixels {
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

/// Tells one set of photos from another by number, names and sizes.
pub(crate) fn photos(views: &[View]) -> String {
    let mut hash = 0;
    for view in views {
        for &byte in view.name.as_bytes() {
            hash = mix(hash ^ u64::from(byte));
        }
        hash = mix(hash ^ (u64::from(view.photo.width) << 32 | u64::from(view.photo.height)));
    }
    format!("{} photos ({hash:016x})", views.len())
}
