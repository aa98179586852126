//! What a list builder hands to a blend.

use crate::device::Address;

/// The tiles' lists, as `BlendParams` (ops/blend/blend.cuh) has them; an address is null where a
/// builder makes no such thing.
#[derive(Clone, Copy)]
pub struct TileLists {
    /// The lists: pair numbers, or compacted indices where `pair_splats` is null.
    pub pairs: Address,
    /// Compacted index of each pair number.
    pub pair_splats: Address,
    /// Where each list is in `pairs`.
    pub ranges: Address,
    /// (first, one past the last, tile) of each block of the blend, longest lists first.
    pub entries: Address,
    /// Tiles of the macro-tile that each pair touches.
    pub masks: Address,
    /// Lists, which are blocks of the blend.
    pub count: usize,
}
