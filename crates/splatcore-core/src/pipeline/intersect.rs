//! Which (tile, Gaussian) pairs exist.

use serde::{Deserialize, Serialize};

/// Which (tile, Gaussian) pairs exist. Losing nothing means that every pair with a fragment of
/// alpha >= 1/255 exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intersect {
    /// Square around the projected 3-sigma circle (INRIA's 3DGS). Cuts what lies beyond.
    Aabb,
    /// Box of the ellipse alpha = 1/255, nowhere beyond the 3-sigma square (AdR-Gaussian, Wang et
    /// al. 2024, equation 10). Cuts what `aabb` cuts.
    AdaptiveRadius,
    /// Box of the ellipse alpha = 1/255 (Speedy-Splat, Hanson et al. 2024). Loses nothing.
    Snugbox,
    /// The tiles that the ellipse alpha = 1/255 touches (Speedy-Splat). Loses nothing.
    Accutile,
    /// Of the 3-sigma square the tiles that the 3-sigma box along the ellipse's axes touches
    /// (GSCore, Lee et al. 2024). Cuts what lies beyond either.
    Obb,
    /// Tiles at whose pixels the largest alpha reaches 1/255, tested tile by tile (StopThePop, Radl
    /// et al. 2024). Loses nothing.
    TileCull,
    /// The ellipse alpha = 1/255 against each tile's rectangle of pixel centres (FlashGS, Feng et
    /// al. 2024). Loses nothing.
    Exact,
}

impl Intersect {
    /// Whether no fragment that a pixel would keep is lost.
    pub fn loses_nothing(self) -> bool {
        match self {
            Intersect::Aabb | Intersect::AdaptiveRadius | Intersect::Obb => false,
            Intersect::Snugbox | Intersect::Accutile | Intersect::TileCull | Intersect::Exact => {
                true
            }
        }
    }
}

names!(
    Intersect,
    "intersect",
    Aabb = "aabb",
    AdaptiveRadius = "adaptive-radius",
    Snugbox = "snugbox",
    Accutile = "accutile",
    Obb = "obb",
    TileCull = "tile-cull",
    Exact = "exact"
);
