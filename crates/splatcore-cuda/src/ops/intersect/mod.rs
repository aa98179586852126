//! `intersect`: the (tile, splat) pairs, or (macro-tile, splat) pairs, in depth order.

pub mod macro_tiles;

use super::sources;
use crate::device::Program;
use crate::device::params::{Address, Params, kernel_params};
use crate::ops::camera::KernelCamera;
use splatcore_core::pipeline::Intersect;

kernel_params! {
    /// Parameters of `expand` (intersect.cu).
    pub struct ExpandParams {
        splats: Address,
        order: Address,
        tile_counts: Address,
        camera: KernelCamera,
        pair_capacity: u32,
        tiles: Address,
        pair_splats: Address,
        pair_numbers: Address,
        first_pairs: Address,
        long_splats: Address,
        states: Address,
        counters: Address,
    }

    /// Parameters of `expand_long` (intersect.cu).
    pub struct ExpandLongParams {
        splats: Address,
        long_splats: Address,
        camera: KernelCamera,
        tiles: Address,
        pair_splats: Address,
        pair_numbers: Address,
        first_pairs: Address,
        counters: Address,
    }
}

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
        [
            ExpandParams::kernel("expand"),
            ExpandLongParams::kernel("expand_long"),
        ],
    )
}
