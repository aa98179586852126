//! Binning: launches ops/bin/bin_large_splats.cu and ops/bin/sort_bins.cu, whose headers say how.

use super::intersect::{MAX_PAIRS, footprint};
use super::sources::program;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use splatcore_core::BackendError;
use splatcore_core::pipeline::Intersect;

kernel_params! {
    /// Parameters of `bin_large_splats` (bin_large_splats.cu).
    pub struct BinLargeSplatsParams {
        splats: Address,
        queue: Address,
        queue_room: u32,
        camera: KernelCamera,
        macro_tile_counts: Address,
        pairs: Address,
        masks: Address,
        room: u32,
        macro_tiles: u32,
        capacity: u32,
        counters: Address,
        items: Address,
        places: Address,
    }

    /// Parameters of `sort_bins` (sort_bins.cu).
    pub struct SortBinsParams {
        items: Address,
        all_pairs: Address,
        all_masks: Address,
        room: u32,
        macro_tiles: u32,
        camera: KernelCamera,
        counters: Address,
        macro_tile_places: Address,
        tile_lists: Address,
        places: Address,
    }
}

/// Tiles along a side of a macro-tile, for images and for large images: for twice the pixels a
/// side, about the same macro-tiles and pairs.
pub const SIDES: [u32; 2] = [2, 4];
/// A pair's compacted index leaves four bits for a small macro-tile's tiles.
pub const MAX_SPLATS: usize = 1 << 28;
/// Macro-tiles that an image may have; few blocks fit a multiprocessor where there may be many.
const MAX_MACRO_TILES: [usize; 2] = [2304, 8192];
/// Pairs that a list may have: places are counted in 16 bits, with those of a block behind them.
pub const MAX_LISTED: usize = 0xf000;
/// Memory for the pairs of all macro-tiles, each with room for those of the longest.
const MAX_BYTES: usize = 1 << 30;
/// Pairs that a block of `sort_bins` (ops/bin/sort_bins.cu) has at a time.
pub const ROOM: usize = 2048;
/// Pairs of a part of a longer list, but for those that a bin has.
pub const SHARE: usize = 1536;
/// Rows of macro-tiles of an entry of the queue of large splats.
pub const LARGE_ROWS: u32 = 4;
/// Bytes of an entry.
pub const LARGE_BYTES: usize = 16;

/// The macro-tiles that pairs are binned to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MacroTiles {
    /// Tiles along a side.
    pub side: u32,
    /// There are not more.
    pub most: usize,
}

impl MacroTiles {
    /// For `count` macro-tiles of `side` x `side` tiles; none if there are too many.
    pub fn new(side: u32, count: usize) -> Option<Self> {
        let most = MAX_MACRO_TILES.into_iter().find(|&most| count <= most)?;
        Some(Self { side, most })
    }

    /// Every kind.
    pub fn all() -> Vec<Self> {
        let with_most = |most| SIDES.map(|side| Self { side, most });
        MAX_MACRO_TILES.into_iter().flat_map(with_most).collect()
    }

    /// What ops/bin/bin.cuh asks for.
    pub(crate) fn constants(self) -> Vec<(&'static str, String)> {
        vec![
            ("MAX_MACRO_TILES", self.most.to_string()),
            ("MAX_LISTED", MAX_LISTED.to_string()),
        ]
    }
}

/// Whether these are small macro-tiles: their tiles' lists have entries, in the order in which
/// tiles are to be blended.
pub fn has_entries(side: u32) -> bool {
    side == SIDES[0]
}

/// Places in the tiles' lists for each pair.
pub fn places(side: u32) -> usize {
    (side * side) as usize
}

/// More pairs than these are refused: their places in the tiles' lists are numbered in 32 bits.
pub fn most_pairs(side: u32) -> usize {
    (u32::MAX as usize / places(side)).min(MAX_PAIRS as usize)
}

/// Pairs that each of `count` lists can have room for.
pub fn most_listed(count: usize) -> usize {
    (MAX_BYTES / (8 * count.max(1))).min(MAX_LISTED)
}

/// Lists, or parts of them, that `pairs` pairs of `count` macro-tiles can be.
pub fn most_items(count: usize, pairs: usize) -> usize {
    count + pairs / SHARE
}

/// Constants of both programs.
fn list_constants(macro_tiles: MacroTiles) -> Vec<(&'static str, String)> {
    let mut constants = macro_tiles.constants();
    constants.extend([
        ("MACRO_TILE_SIDE", macro_tiles.side.to_string()),
        ("ROOM", ROOM.to_string()),
        ("SHARE", SHARE.to_string()),
    ]);
    constants
}

/// `bin_large_splats` of ops/bin/bin_large_splats.cu.
pub fn large_program(intersect: Intersect, macro_tiles: MacroTiles) -> Program {
    let mut constants = list_constants(macro_tiles);
    constants.extend([footprint(intersect), ("LARGE_ROWS", LARGE_ROWS.to_string())]);
    program(
        "bin_large_splats.cu",
        constants,
        [BinLargeSplatsParams::kernel("bin_large_splats")],
    )
}

/// `sort_bins`, to which shapes make no difference.
pub fn sort_program(macro_tiles: MacroTiles) -> Program {
    let mut constants = list_constants(macro_tiles);
    constants.push(footprint(Intersect::Exact));
    program(
        "sort_bins.cu",
        constants,
        [SortBinsParams::kernel("sort_bins")],
    )
}

/// Bins the splats of the queue of large footprints, which had `entries` in earlier frames, and
/// lists what `sort_bins` sorts.
///
/// # Errors
/// If the launch failed.
pub fn launch_large(
    queue: &Queue,
    kernel: Kernel,
    entries: u32,
    params: &BinLargeSplatsParams,
) -> Result<(), BackendError> {
    let block = kernel.tuned("BLOCK")?;
    // An eighth more than there were; what is beyond is done by the same blocks.
    let likely = (entries + entries / 8).div_ceil(block / LARGE_ROWS);
    let blocks = likely.max(queue.device.multiprocessors());
    queue.launch(kernel, blocks, block, params)
}

/// Sorts the bins, which with the parts of long ones were `items` in earlier frames, and splits
/// them into the tiles' lists.
///
/// # Errors
/// If the launch failed.
pub fn launch_sort(
    queue: &Queue,
    kernel: Kernel,
    items: u32,
    params: &SortBinsParams,
) -> Result<(), BackendError> {
    // More are done by the same blocks.
    let blocks = if items == 0 {
        params.macro_tiles
    } else {
        items
    };
    queue.launch(kernel, blocks, kernel.tuned("BLOCK")?, params)
}

#[cfg(test)]
mod tests;
