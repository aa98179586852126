//! `intersect`: the (tile, splat) pairs, or (macro-tile, splat) pairs, in depth order.

pub mod macro_tiles;

use super::sources;
use crate::device::Program;
use splatcore_core::pipeline::Intersect;

/// More pairs than this are refused: the look-back keeps a count in 30 bits.
pub const MOST_PAIRS: u64 = (1 << 30) - 1;

/// `INTERSECT` of ops/shared/footprint.cuh.
pub(super) fn footprint(intersect: Intersect) -> (&'static str, String) {
    let number = match intersect {
        Intersect::Aabb => 0,
        Intersect::AdaptiveRadius => 1,
        Intersect::Snugbox => 2,
        Intersect::Accutile => 3,
        Intersect::Obb => 4,
        Intersect::TileCull => 5,
        Intersect::Exact => 6,
    };
    ("INTERSECT", number.to_string())
}

/// `expand` and `expand_long`.
pub fn program(intersect: Intersect) -> Program {
    sources::program(
        "intersect.cu",
        vec![footprint(intersect)],
        &["expand", "expand_long"],
    )
}
