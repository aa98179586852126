//! How gradients come together.

use serde::{Deserialize, Serialize};

/// How gradients come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backward {
    /// Every pixel adds into the Gaussian's sums (INRIA's 3DGS; Atomic Aggregation, fig. 3).
    Atomic,
    /// The lanes of a warp add up by shuffles, then one of them adds into the Gaussian's sums
    /// (Atomic Aggregation, fig. 7).
    WarpReduce,
    /// As [`Backward::WarpReduce`], but a warp of which no lane has anything to add goes on at once
    /// (Atomic Aggregation, fig. 8).
    WarpReduceSkip,
    /// As [`Backward::Atomic`], but additions are not atomic, so that some are lost and sums are
    /// wrong: only to see what atomicity costs (Atomic Aggregation, fig. 5).
    PlainAdd,
    /// A lane for each Gaussian of a bucket of 32, to which the tile's pixels are passed from lane
    /// to lane (Taming 3DGS, Mallick et al. 2024, section 5).
    GaussianParallel,
    /// Sums over a block of pixels against the pixel basis in f32, then one ordered sum a Gaussian.
    Subtile,
    /// The backend's fastest. On CUDA gradients as products on the matrix units, behind
    /// [`crate::pipeline::Blend::Splatcore`], whose weights it repeats bit for bit; on the CPU the
    /// same as [`Backward::Subtile`].
    Splatcore,
}

names!(
    Backward,
    "backward",
    Atomic = "atomic",
    WarpReduce = "warp-reduce",
    WarpReduceSkip = "warp-reduce-skip",
    PlainAdd = "plain-add",
    GaussianParallel = "gaussian-parallel",
    Subtile = "subtile",
    Splatcore = "splatcore"
);

impl Backward {
    /// Whether sums are what they should be. Others are timed, and never learned from.
    pub fn is_right(self) -> bool {
        self != Self::PlainAdd
    }
}
