//! Colour models: what stands between the rendered image and the loss.
//!
//! Photos of one capture differ in exposure and white balance, and each camera darkens its corners
//! and bends its tones. A scene can hold only one colour for what it shows, so training may learn
//! beside it what each photo and each camera made of that colour: the loss compares the photo with
//! what the model makes of the image. Held-out photos have no numbers of their own.
//!
//! | question | file |
//! | --- | --- |
//! | what is a model, how do backends call it | `model.rs` |
//! | which models are there | the table below |
//! | what is learned, which rows are there | `state.rs` |
//! | how does one photo show an image | `look.rs` |
//! | what does a formula compute with | `number.rs` |
//! | what is colour-corrected PSNR | `fit.rs` |
//! | which look has a view without a photo | `controller.rs` |

mod affine;
mod bilateral;
pub mod controller;
mod fit;
mod look;
mod model;
mod number;
mod ppisp;
mod state;

pub use bilateral::VERTICES;
pub use fit::{fit, transformed};
pub use look::Look;
pub use model::{Entry, Gauge, Pixels, Places, Rates};
pub use number::Dual;
pub use state::{ColourState, ColourTable};

use crate::{Camera, View};
use std::fmt;
use std::str::FromStr;

/// A colour model, by its place in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColourModel {
    /// A 3x4 matrix for each photo.
    Affine,
    /// Exposure and colour for each photo, vignetting and response for each camera.
    Ppisp,
    /// The same without the response.
    PpispLinear,
    /// A grid of 3x4 matrices for each photo, over its place and the colour's brightness.
    Bilateral,
}

const ENTRIES: [Entry; 4] = [
    Entry::of::<affine::Affine>(),
    Entry::of::<ppisp::Ppisp<true>>(),
    Entry::of::<ppisp::Ppisp<false>>(),
    Entry::of::<bilateral::Bilateral>(),
];

impl ColourModel {
    /// All of them.
    pub const ALL: [Self; ENTRIES.len()] = [
        Self::Affine,
        Self::Ppisp,
        Self::PpispLinear,
        Self::Bilateral,
    ];

    /// What it is.
    pub fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }
}

impl fmt::Display for ColourModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().name)
    }
}

impl FromStr for ColourModel {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL
            .into_iter()
            .find(|model| model.entry().name == name);
        let names = || Self::ALL.map(|model| model.entry().name).join(", ");
        found.ok_or_else(|| format!("'{name}' is no colour model; there are {}", names()))
    }
}

/// What a step learns of the photos' colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ColourPlan {
    /// By which model.
    pub model: ColourModel,
    /// Rate of the photos' numbers.
    pub photo_rate: f32,
    /// Rate of the cameras' numbers.
    pub camera_rate: f32,
}

impl ColourPlan {
    /// The affine model with this rate.
    pub fn affine(rate: f32) -> Self {
        Self {
            model: ColourModel::Affine,
            photo_rate: rate,
            camera_rate: rate,
        }
    }
}

/// Focal lengths of one camera differ by at most this share of themselves: one lens, one zoom.
const ONE_ZOOM: f64 = 0.05;

/// Which of the cameras took each view, counted from 0 in the order of the views. Views of one
/// size, one kind of lens and about one focal length are of one camera.
pub fn cameras_of<'a>(views: impl IntoIterator<Item = &'a View>) -> Vec<usize> {
    let mut known: Vec<&Camera> = Vec::new();
    let mut number = |camera| {
        let found = known.iter().position(|other| is_one(camera, other));
        found.unwrap_or_else(|| {
            known.push(camera);
            known.len() - 1
        })
    };
    views.into_iter().map(|view| number(&view.camera)).collect()
}

/// How many cameras took the views.
pub fn camera_count<'a>(views: impl IntoIterator<Item = &'a View>) -> usize {
    let numbers = cameras_of(views);
    numbers.into_iter().max().map_or(0, |last| last + 1)
}

fn is_one(a: &Camera, b: &Camera) -> bool {
    [a.width, a.height] == [b.width, b.height]
        && a.lens.name() == b.lens.name()
        && (a.fx / b.fx - 1.0).abs() <= ONE_ZOOM
}

#[cfg(test)]
mod tests;
