//! The camera and the photo that a step learns from: at a fraction of their size in training from
//! coarse to fine, and transparent photos on the step's background.
//!
//! Reduced views are made when first needed and kept as long as the scale stays. A half takes a
//! quarter of the photos' memory, a quarter a sixteenth.

use splatcore_core::image::to_bytes;
use splatcore_core::{Camera, Photo, View};
use std::borrow::Cow;
use std::collections::HashMap;

/// Reduced views of the present scale.
#[derive(Default)]
pub(crate) struct Reduced {
    scale: u32,
    views: HashMap<usize, (Camera, Photo)>,
}

impl Reduced {
    /// View `index` with each side divided by `scale`, on a background.
    pub fn get<'a>(
        &'a mut self,
        index: usize,
        view: &'a View,
        scale: u32,
        background: [f32; 3],
    ) -> (&'a Camera, Cow<'a, Photo>) {
        if self.scale != scale {
            self.views = HashMap::new();
            self.scale = scale;
        }
        let (camera, photo) = match scale {
            1 => (&view.camera, &view.photo),
            _ => {
                let reduced = || (view.camera.reduced(scale), view.photo.reduced(scale));
                let (camera, photo) = self.views.entry(index).or_insert_with(reduced);
                (&*camera, &*photo)
            }
        };
        match photo.alpha {
            Some(_) => (camera, Cow::Owned(photo.on(to_bytes(background)))),
            None => (camera, Cow::Borrowed(photo)),
        }
    }
}
