//! Binning: launches ops/bin/bin_large_splats.cu and ops/bin/sort_bins.cu, whose headers say how.

use super::intersect::{MOST_PAIRS, footprint};
use super::sources::program;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
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

const BLOCK: u32 = 256;
/// Tiles along a side of a macro-tile, of images and of large images: for twice the pixels a side,
/// about the same macro-tiles and pairs.
pub const SIDES: [u32; 2] = [2, 4];
/// A pair's splat leaves four bits for a small macro-tile's tiles.
pub const MOST_SPLATS: usize = 1 << 28;
/// Macro-tiles that a image may have; few blocks fit a multiprocessor where there may be many.
const MOST_MACRO_TILES: [usize; 2] = [2304, 8192];
/// Pairs that a list may have: places are counted in 16 bits.
pub const MOST_LISTED: usize = 0xf000;
// With those of a block behind them.
const _: () = assert!(MOST_LISTED + BLOCK as usize <= 1 << 16);
/// Memory for the pairs of all macro-tiles, each with room for those of the longest.
const MOST_BYTES: usize = 1 << 30;
/// Pairs that a block of `sort_bins` (ops/bin/sort_bins.cu) has at a time.
pub const ROOM: usize = 2048;
/// Pairs of a part of a longer list, but for those that a bin has.
pub const SHARE: usize = 1536;
/// Macro-tiles that the near splats of a block of `project` can touch.
pub const TOUCHED_SMALL: usize = 4 * 128;
/// Rows of macro-tiles of an entry of the queue of far splats.
pub const LARGE_ROWS: u32 = 4;
/// Bytes of an entry.
pub const LARGE_BYTES: usize = 16;
/// Entries that a block bins at a time.
const LARGE_ENTRIES: u32 = BLOCK / LARGE_ROWS;

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
        let most = MOST_MACRO_TILES.into_iter().find(|&most| count <= most)?;
        Some(Self { side, most })
    }

    /// Every kind.
    pub fn all() -> Vec<Self> {
        let with_most = |most| SIDES.map(|side| Self { side, most });
        MOST_MACRO_TILES.into_iter().flat_map(with_most).collect()
    }

    /// What ops/bin/bin.cuh asks for.
    pub(crate) fn constants(self) -> Vec<(&'static str, String)> {
        vec![
            ("MOST_MACRO_TILES", self.most.to_string()),
            ("MOST_LISTED", MOST_LISTED.to_string()),
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
    (u32::MAX as usize / places(side)).min(MOST_PAIRS as usize)
}

/// Pairs that each of `count` lists can have room for.
pub fn most_listed(count: usize) -> usize {
    (MOST_BYTES / (8 * count.max(1))).min(MOST_LISTED)
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
        ("TOUCHED", macro_tiles.most.to_string()),
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

/// Addresses of what the kernels read and write.
#[derive(Clone, Copy)]
pub struct Buffers {
    /// The splats.
    pub splats: u64,
    /// PairSplats and depths of those over many macro-tiles.
    pub far: u64,
    /// Entries that there is room for.
    pub large_room: u32,
    /// Pairs of each macro-tile.
    pub counts: u64,
    /// `room` for each macro-tile.
    pub pairs: u64,
    /// Of large macro-tiles, as many u16.
    pub masks: u64,
    /// Pairs that a list has room for.
    pub room: u32,
    /// The counters.
    pub counters: u64,
    /// What is to be sorted, [`most_items`] of 16 bytes.
    pub items: u64,
    /// Of large macro-tiles, a word each, zero.
    pub macro_tile_places: u64,
    /// The tiles' lists, written here.
    pub tile_lists: u64,
    /// Where each is: of small macro-tiles entries ([`has_entries`]), of large ones as a sort
    /// notes it; these are zero before.
    pub places: u64,
}

/// Deals the pairs of splats over many macro-tiles, of which there were `entries` in earlier
/// frames, and lists what [`sort`] sorts. There is room for `capacity` pairs of `macro-tiles`
/// macro-tiles in the tiles' lists.
///
/// # Errors
/// If the launch failed.
pub fn bin_large_splats(
    queue: &Queue,
    kernels: &[Kernel],
    view: &KernelCamera,
    [macro_tiles, capacity]: [usize; 2],
    entries: u32,
    at: Buffers,
) -> Result<(), BackendError> {
    let &[bin_large_splats] = kernels else {
        return Err(wrong_program("binned lists"));
    };
    // An eighth more than there were; what is beyond is done by the same blocks.
    let likely = (entries + entries / 8).div_ceil(LARGE_ENTRIES);
    queue.launch(
        bin_large_splats,
        likely.max(queue.device.multiprocessors()),
        BLOCK,
        &BinLargeSplatsParams {
            splats: at.splats,
            queue: at.far,
            queue_room: at.large_room,
            camera: *view,
            macro_tile_counts: at.counts,
            pairs: at.pairs,
            masks: at.masks,
            room: at.room,
            macro_tiles: macro_tiles as u32,
            capacity: capacity as u32,
            counters: at.counters,
            items: at.items,
            places: at.places,
        },
    )
}

/// Sorts the lists of `macro-tiles` macro-tiles, `items` with the parts of long ones in earlier
/// frames, and splits them.
///
/// # Errors
/// If the launch failed.
pub fn sort(
    queue: &Queue,
    kernels: &[Kernel],
    view: &KernelCamera,
    macro_tiles: usize,
    items: u32,
    at: Buffers,
) -> Result<(), BackendError> {
    let &[sort_bins] = kernels else {
        return Err(wrong_program("binned lists"));
    };
    queue.launch(
        sort_bins,
        // More are done by the same blocks.
        if items == 0 {
            macro_tiles as u32
        } else {
            items
        },
        BLOCK,
        &SortBinsParams {
            items: at.items,
            all_pairs: at.pairs,
            all_masks: at.masks,
            room: at.room,
            macro_tiles: macro_tiles as u32,
            camera: *view,
            counters: at.counters,
            macro_tile_places: at.macro_tile_places,
            tile_lists: at.tile_lists,
            places: at.places,
        },
    )
}

#[cfg(test)]
mod tests;
