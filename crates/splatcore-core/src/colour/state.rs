//! What a learner knows of its photos' colours.

use super::ColourModel;

/// Rows of numbers, one for each photo or for each camera, with what Adam knows of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColourTable {
    /// Numbers of a row.
    pub width: usize,
    /// `[rows][width]`.
    pub parameters: Vec<f32>,
    /// Adam's first moments, `[rows][width]`.
    pub first: Vec<f32>,
    /// Adam's second moments, `[rows][width]`.
    pub second: Vec<f32>,
    /// Steps taken on each row; the exponent of its bias correction.
    pub seen: Vec<u32>,
}

impl ColourTable {
    /// Rows as training starts; none if a row has no numbers.
    pub fn fresh(rows: usize, start: &[f32]) -> Self {
        let rows = if start.is_empty() { 0 } else { rows };
        Self {
            width: start.len(),
            parameters: start.repeat(rows),
            first: vec![0.0; rows * start.len()],
            second: vec![0.0; rows * start.len()],
            seen: vec![0; rows],
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.seen.len()
    }

    /// The numbers of a row; of one that there is not, none.
    pub fn row(&self, row: usize) -> &[f32] {
        self.parameters.get(self.places(row)).unwrap_or_default()
    }

    /// Where the numbers of a row stand.
    pub fn places(&self, row: usize) -> std::ops::Range<usize> {
        self.width * row..self.width * (row + 1)
    }

    /// Whether all parts are of so many rows of so many numbers.
    pub fn has_shape(&self, rows: usize, width: usize) -> bool {
        let rows = if width == 0 { 0 } else { rows };
        let parts = [&self.parameters, &self.first, &self.second];
        self.width == width
            && self.seen.len() == rows
            && parts.iter().all(|part| part.len() == rows * width)
    }
}

/// The photos' and cameras' numbers of a colour model; empty before the first step that learns
/// them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColourState {
    /// Which model's; `None` if no step learned any.
    pub model: Option<ColourModel>,
    /// A row for each view.
    pub photos: ColourTable,
    /// A row for each camera ([`super::cameras_of`]).
    pub cameras: ColourTable,
}

impl ColourState {
    /// The state in which training starts: nothing changes any colour.
    pub fn fresh(model: ColourModel, views: usize, cameras: usize) -> Self {
        let entry = model.entry();
        Self {
            model: Some(model),
            photos: ColourTable::fresh(views, entry.photo),
            cameras: ColourTable::fresh(cameras, entry.camera),
        }
    }

    /// The state in which training starts where it is known by how many stops the values of each
    /// view's photo are brighter than those of the scene.
    pub fn exposed(model: ColourModel, stops: &[f32], cameras: usize) -> Self {
        let mut state = Self::fresh(model, stops.len(), cameras);
        let rows = stops.iter().flat_map(|&stops| model.entry().exposed(stops));
        state.photos.parameters = rows.collect();
        state
    }

    /// Whether no step learned any.
    pub fn is_empty(&self) -> bool {
        self.model.is_none()
    }

    /// The numbers of a photo and of its camera, if they are of this model.
    pub fn numbers(&self, model: ColourModel, view: usize, camera: usize) -> Option<[&[f32]; 2]> {
        let known = self.model == Some(model) && view < self.photos.rows();
        known.then(|| [self.photos.row(view), self.cameras.row(camera)])
    }
}
