//! The photo that a step learns from: at a fraction of its size in training from coarse to fine,
//! and transparent photos on the step's background.
//!
//! Reduced photos are made when first needed and kept as long as the scale stays, but for those of
//! photos that are not held. A half takes a quarter of the photos' memory, a quarter a sixteenth.

use splatcore_core::image::elsewhere::Held;
use splatcore_core::image::to_bytes;
use splatcore_core::{BackendError, Photo, View};
use std::collections::HashMap;
use std::sync::Arc;

/// Reduced photos of the present scale.
#[derive(Default)]
pub(crate) struct Reduced {
    scale: u32,
    photos: HashMap<usize, Photo>,
}

impl Reduced {
    /// The photo of view `index` with each side divided by `scale`, on a background.
    ///
    /// # Errors
    /// If it is not held and cannot be read.
    pub fn get<'a>(
        &'a mut self,
        index: usize,
        view: &'a View,
        scale: u32,
        background: [f32; 3],
    ) -> Result<Held<'a>, BackendError> {
        if self.scale != scale {
            self.photos = HashMap::new();
            self.scale = scale;
        }
        let photo = match (scale, view.photo.held()?) {
            (1, photo) => photo,
            (_, Held::Read(photo)) => Held::Read(Arc::new(photo.reduced(scale))),
            (_, Held::Here(photo)) => {
                let reduced = || photo.reduced(scale);
                Held::Here(self.photos.entry(index).or_insert_with(reduced))
            }
        };
        Ok(match photo.alpha {
            Some(_) => Held::Read(Arc::new(photo.on(to_bytes(background)))),
            None => photo,
        })
    }
}
