//! How one photo shows the scene's colours.

use super::{ColourModel, ColourState, Entry, Pixels};
use crate::Image;

/// A model with the numbers of a photo and its camera, and their factors.
#[derive(Clone)]
pub struct Look {
    entry: &'static Entry,
    numbers: [Vec<f32>; 2],
    factors: Vec<f32>,
}

impl Look {
    /// Of a photo's and its camera's numbers, as many as the model has.
    pub fn new(model: ColourModel, photo: &[f32], camera: &[f32]) -> Self {
        let entry = model.entry();
        Self {
            entry,
            numbers: [photo.to_vec(), camera.to_vec()],
            factors: entry.factors(photo, camera),
        }
    }

    /// Of a view and its camera, as far as the state knows them.
    pub fn of(model: ColourModel, state: &ColourState, view: usize, camera: usize) -> Self {
        let entry = model.entry();
        let known = state.numbers(model, view, camera);
        let [photo, camera] = known.unwrap_or([entry.photo, entry.camera]);
        Self::new(model, photo, camera)
    }

    /// The model.
    pub fn entry(&self) -> &'static Entry {
        self.entry
    }

    /// The photo's and the camera's numbers.
    pub fn numbers(&self) -> [&[f32]; 2] {
        self.numbers.each_ref().map(Vec::as_slice)
    }

    /// What pixels use of them.
    pub fn factors(&self) -> &[f32] {
        &self.factors
    }

    /// A rendered image as the photo shows it.
    pub fn image(&self, image: &Image) -> Image {
        let planes =
            [0, 1, 2].map(|c: usize| -> Vec<f32> { image.data.iter().map(|rgb| rgb[c]).collect() });
        let mut seen = planes.clone();
        let all = Pixels {
            width: image.width as usize,
            height: image.height as usize,
            first: 0,
        };
        let [r, g, b] = &mut seen;
        let rendered = planes.each_ref().map(Vec::as_slice);
        self.entry.apply(&self.factors, all, rendered, [r, g, b]);
        let data = (0..image.data.len()).map(|i| [0, 1, 2].map(|c: usize| seen[c][i]));
        Image {
            data: data.collect(),
            ..*image
        }
    }
}
