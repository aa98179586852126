//! [`Stroke`]: what a brush went over.

use splatcore_core::Camera;

/// A stroke of a round brush over a view.
#[derive(Clone, Debug, PartialEq)]
pub struct Stroke {
    /// The view.
    pub camera: Camera,
    /// Where the brush went, pixels of the view, at least one place.
    pub points: Vec<[f64; 2]>,
    /// Of the brush, pixels of the view.
    pub radius: f64,
    /// Also what is hidden behind what the view shows.
    pub through: bool,
}
