//! Depth that was measured, as a guide of the scene: what is known of a photo's depths
//! ([`DepthMap`]), and how far a rendered depth is from it ([`DepthLoss`]).
//!
//! At a pixel D is the sum of 1/z by the weights of the colours and A the alpha; D / A is the
//! expected inverse depth there. The loss is smooth-L1 of a *residual* between that and the map's
//! inverse depth, which a line of the table gives; its mean over all pixels is added to the loss of
//! the photo. Pixels of which nothing is known have none, nor have those of less alpha than
//! [`MIN_ALPHA`]. Where a photo shows the sky, the loss is A. Where the normal of what it shows is
//! known, the loss is one minus the cosine to that of the rendered depths ([`normals`]).
//!
//! | question | file |
//! | --- | --- |
//! | what is known of a photo's depths | `map.rs` |
//! | what is a residual | `entry.rs` |
//! | which residuals are there | the table below |
//! | which normals have rendered depths, how far are they off | `normals.rs` |
//! | how wrong are the depths of an image | `error.rs` |

mod entry;
mod error;
mod inverse;
mod log;
mod map;
pub mod normals;

pub use entry::Entry;
pub use error::DepthError;
pub use map::{DepthMap, Known, MapFacts, SKY};

use std::fmt;
use std::str::FromStr;

/// Residuals up to this are squared, larger ones not: a wrong depth pulls no harder the more it is
/// wrong.
pub const SMOOTH: f64 = 0.02;

/// Where a pixel is more transparent, its depth is that of little and says nothing.
pub const MIN_ALPHA: f64 = 0.5;

/// How a rendered depth is compared with a known one, by its place in the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DepthLoss {
    /// Inverse depths, in units of the inverse of a depth of about the scene's size: what is near
    /// counts most.
    #[default]
    Inverse,
    /// Logarithms of depths: a share of the depth counts the same near and far.
    Log,
}

const ENTRIES: [Entry; 2] = [inverse::ENTRY, log::ENTRY];

impl DepthLoss {
    /// All of them.
    pub const ALL: [Self; ENTRIES.len()] = [Self::Inverse, Self::Log];

    /// What it is.
    pub fn entry(self) -> &'static Entry {
        &ENTRIES[self as usize]
    }

    /// The loss at a pixel, given D and A of the module's documentation and the known inverse depth
    /// (0: unknown), and its derivatives by D and by A.
    pub fn at_pixel(self, [sum, alpha]: [f64; 2], known: f64, unit: f64) -> [f64; 3] {
        if known <= 0.0 || alpha < MIN_ALPHA || sum <= 0.0 {
            return [0.0; 3];
        }
        let rendered = sum / alpha;
        let [residual, slope] = (self.entry().residual)(rendered, known, unit);
        let size = residual.abs();
        let (value, pull) = match size < SMOOTH {
            true => (residual * residual / (2.0 * SMOOTH), residual / SMOOTH),
            false => (size - 0.5 * SMOOTH, residual.signum()),
        };
        let by_sum = pull * slope / alpha;
        [value, by_sum, -by_sum * rendered]
    }
}

impl fmt::Display for DepthLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().name)
    }
}

impl FromStr for DepthLoss {
    type Err = String;
    fn from_str(name: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|loss| loss.entry().name == name);
        let names = || Self::ALL.map(|loss| loss.entry().name).join(", ");
        found.ok_or_else(|| format!("'{name}' is no loss on depth; there are {}", names()))
    }
}

/// What a step learns from depths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DepthPlan {
    /// By which residual.
    pub loss: DepthLoss,
    /// Of the mean over a photo's pixels.
    pub weight: f32,
    /// A depth of about the scene's size, world units.
    pub unit: f32,
    /// Of the mean over a photo's pixels of alpha where it shows the sky.
    pub sky_weight: f32,
    /// Of the mean over a photo's pixels of one minus the cosine to its normals.
    pub normal_weight: f32,
}

impl DepthPlan {
    /// The losses at a pixel on its depth and on its alpha, given D and A of the module's
    /// documentation and what is known there, and the derivatives of the former by D and A and of
    /// the latter by A; without weights.
    pub fn at_pixel(&self, frame: [f64; 2], known: f32) -> [[f64; 3]; 2] {
        if known == SKY {
            return [[0.0; 3], [frame[1], 0.0, 1.0]];
        }
        let of_depth = self.loss.at_pixel(frame, known.into(), self.unit.into());
        [of_depth, [0.0; 3]]
    }
}

#[cfg(test)]
mod tests;
