//! The photo that a step learns from: at a fraction of its size in training from coarse to fine,
//! and transparent photos on the step's background.
//!
//! Reduced photos are made when first needed and kept as long as the scale stays. A half takes a
//! quarter of the photos' memory, a quarter a sixteenth.

use splatcore_core::image::to_bytes;
use splatcore_core::{Photo, View};
use std::borrow::Cow;
use std::collections::HashMap;

/// Reduced photos of the present scale.
#[derive(Default)]
pub(crate) struct Reduced {
    scale: u32,
    photos: HashMap<usize, Photo>,
}

impl Reduced {
    /// The photo of view `index` with each side divided by `scale`, on a background.
    pub fn get<'a>(
        &'a mut self,
        index: usize,
        view: &'a View,
        scale: u32,
        background: [f32; 3],
    ) -> Cow<'a, Photo> {
        if self.scale != scale {
            self.photos = HashMap::new();
            self.scale = scale;
        }
        let photo = match scale {
            1 => &view.photo,
            _ => {
                let reduced = || view.photo.reduced(scale);
                &*self.photos.entry(index).or_insert_with(reduced)
            }
        };
        match photo.alpha {
            Some(_) => Cow::Owned(photo.on(to_bytes(background))),
            None => Cow::Borrowed(photo),
        }
    }
}
