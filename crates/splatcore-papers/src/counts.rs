//! Counts of a row, and what follows from them.

use crate::row::Row;
use splatcore_core::pipeline::Backward;

/// Pixels of a tile.
const TILE_PIXELS: f64 = 256.0;
/// Sums of a Gaussian: of the opacity, five of mean and conic, three of the colour.
const SUMS: f64 = 9.0;

/// Counts of a frame. Those of fragments are missing where the kernel cannot count.
pub struct Counts {
    pub pairs: f64,
    pub evaluated: Option<f64>,
    pub blended: Option<f64>,
    pub warps: Option<Warps>,
}

/// (Warp, Gaussian) pairs of the backward pass with a thread a pixel.
#[derive(Clone, Copy)]
pub struct Warps {
    /// That a warp walks, until all pixels of the tile have stopped.
    pub visited: f64,
    /// To which a lane of the warp adds.
    pub blended: f64,
}

impl Counts {
    pub fn of(row: &Row) -> Self {
        Self {
            pairs: row.pairs as f64,
            evaluated: row.fragments_evaluated.map(|n| n as f64),
            blended: row.fragments_blended.map(|n| n as f64),
            warps: row
                .warps_visited
                .zip(row.warps_blended)
                .map(|(a, b)| Warps {
                    visited: a as f64,
                    blended: b as f64,
                }),
        }
    }

    /// Fragments of all pairs.
    pub fn all(&self) -> f64 {
        TILE_PIXELS * self.pairs
    }

    /// Fragments whose alpha was computed in vain.
    pub fn culled(&self) -> Option<f64> {
        Some((self.evaluated? - self.blended?).max(0.0))
    }

    /// Atomic additions of the row's backward method: nine for each fragment, nine for each
    /// Gaussian that a warp walks or adds to, or none where each pair has a row of its own.
    pub fn updates(&self, row: &Row) -> Option<f64> {
        match row.pipeline.backward {
            Backward::Atomic => Some(SUMS * self.blended?),
            Backward::WarpReduce => Some(SUMS * self.warps?.visited),
            Backward::WarpReduceSkip => Some(SUMS * self.warps?.blended),
            Backward::PlainAdd
            | Backward::GaussianParallel
            | Backward::Subtile
            | Backward::Splatcore => Some(0.0),
        }
    }
}

/// `None` in place of an infinity, which JSON cannot hold.
pub fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
}
