//! `lists`: launches kernels/lists.cu and split_lists.cu, or split_large_lists.cu, which say how:
//! the tiles' lists of a picture by way of groups of tiles. Training keeps intersect.cu's pairs,
//! which its sums need.

use crate::camera::KernelCamera;
use crate::device::Kernel;
use crate::frame::{MOST_PAIRS, Purpose};
use crate::groups;
use crate::launch::{Queue, arguments, wrong_program};
use crate::programs::PictureRows;
use splatcore_core::BackendError;
use splatcore_core::pipeline::{Blend, Pipeline};

const BLOCK: usize = 256;
/// Blocks of splats that a block of `count_lists` counts the pairs of.
pub const COUNTED_BLOCKS: u32 = 4;
/// Tiles along a side of a group, of pictures and of large pictures: for twice the pixels a side,
/// about the same groups and pairs.
pub const SIDES: [u32; 2] = [2, 4];
/// A pair's slot leaves four bits for a small group's tiles.
const MOST_SLOTS: usize = 1 << 28;
/// Bits of a pair's key below a large group's number: the group's tiles.
pub const LARGE_KEY_SHIFT: u32 = SIDES[1] * SIDES[1];
/// Large groups that a key can number. The last number would make a key that sorts leave out.
const MOST_LARGE_GROUPS: usize = (1 << (u32::BITS - LARGE_KEY_SHIFT)) - 1;

/// Tiles along a side of the groups that a frame's lists come from, if they come from groups.
pub fn side(
    pipeline: Pipeline,
    purpose: Purpose,
    gaussians: usize,
    rows: PictureRows,
) -> Option<u32> {
    let [small, large] = SIDES;
    match rows {
        _ if !matches!(pipeline.blend, Blend::Splatcore | Blend::Samples)
            || purpose != Purpose::Image =>
        {
            None
        }
        PictureRows::Four => (gaussians < MOST_SLOTS).then_some(small),
        PictureRows::Eight => Some(large),
    }
}

/// Whether keys can number the large groups of a picture.
pub fn has_large_groups(view: &KernelCamera) -> bool {
    groups::count(view, SIDES[1]) <= MOST_LARGE_GROUPS
}

/// Whether these are small groups: their tiles' lists have entries, in the order in which tiles are
/// to be blended.
pub fn has_entries(side: u32) -> bool {
    side == SIDES[0]
}

/// Bits of a pair's key below its group's number.
pub fn key_shift(side: u32) -> u32 {
    if side == SIDES[0] { 0 } else { LARGE_KEY_SHIFT }
}

/// Bytes of a slot's reach.
pub fn reach_bytes(side: u32) -> usize {
    if side == SIDES[0] { 8 } else { 16 }
}

/// More pairs than these are refused: their places in the tiles' lists are numbered too, and sorts
/// count them in 30 bits.
pub fn most_pairs(side: u32) -> usize {
    (u32::MAX as usize / places(side)).min(MOST_PAIRS as usize)
}

/// Places in the tiles' lists for each pair.
pub fn places(side: u32) -> usize {
    (side * side) as usize
}

/// Words of the sums of blocks and of ranges of blocks ([`Buffers::block_pairs`]).
pub fn sums(gaussians: usize) -> usize {
    let blocks = gaussians.div_ceil(BLOCK);
    blocks + blocks.div_ceil(BLOCK)
}

/// Addresses of what the kernels read and write.
#[derive(Clone, Copy)]
pub struct Buffers {
    /// The splats.
    pub splats: u64,
    /// Their depth order.
    pub order: u64,
    /// What `project` says of each slot's groups (`Reach` of kernels/group_rows.cuh).
    pub reaches: u64,
    /// Key of each pair, to be sorted: its group from bit [`key_shift`] on, and what `pair_key` of
    /// kernels/group_rows.cuh adds.
    pub keys: u64,
    /// Value of each pair, to be sorted with it: its slot, and what `pair_value` adds.
    pub values: u64,
    /// What goes first, written here: places in the depth order of splats with long lists, and
    /// parts of blocks with many pairs.
    pub longs: u64,
    /// `reaches` in depth order, written here.
    pub ordered_reaches: u64,
    /// The pairs of each block of splats ([`sums`] words), written here, and behind them those of
    /// each range of blocks, zero.
    pub block_pairs: u64,
    /// The counters.
    pub counters: u64,
}

/// Writes the (group, Gaussian) pairs of at most `gaussians` splats in depth order; more than
/// `capacity` halt the frame.
///
/// # Errors
/// If a launch failed.
pub fn expand(
    queue: &Queue,
    kernels: &[Kernel],
    view: &KernelCamera,
    [gaussians, capacity]: [usize; 2],
    long_blocks: u32,
    buffers: Buffers,
) -> Result<(), BackendError> {
    let &[count_lists, expand_lists, ..] = kernels else {
        return Err(wrong_program("lists"));
    };
    let (capacity, blocks) = (capacity as u32, gaussians.div_ceil(BLOCK) as u32);
    let range_pairs = buffers.block_pairs + 4 * u64::from(blocks);
    queue.launch(
        count_lists,
        blocks.div_ceil(COUNTED_BLOCKS),
        BLOCK as u32,
        &mut arguments![
            buffers.order,
            buffers.reaches,
            capacity,
            buffers.ordered_reaches,
            buffers.block_pairs,
            range_pairs,
            buffers.longs,
            buffers.counters
        ],
    )?;
    queue.launch(
        expand_lists,
        long_blocks + blocks,
        BLOCK as u32,
        &mut arguments![
            buffers.splats,
            buffers.order,
            buffers.ordered_reaches,
            buffers.block_pairs,
            range_pairs,
            buffers.longs,
            long_blocks,
            *view,
            buffers.keys,
            buffers.values,
            buffers.counters
        ],
    )
}

/// Pairs of a section. A block splits a section of small groups, or, of large groups, what a
/// section has of one.
pub fn section(side: u32) -> usize {
    if has_entries(side) { 1024 } else { 2048 }
}

/// Sections of at most `pairs` pairs.
fn sections(side: u32, pairs: usize) -> usize {
    pairs.div_ceil(section(side)).max(1)
}

/// Bytes of [`Split::states`].
pub fn split_state_bytes(side: u32, pairs: usize) -> usize {
    4 * places(side) * sections(side, pairs)
}

/// Addresses of what [`split`] reads and writes.
#[derive(Clone, Copy)]
pub struct Split {
    /// Keys and values, sorted.
    pub pairs: [u64; 2],
    /// Where each group's are, as the sort noted them.
    pub group_ranges: u64,
    /// The counters.
    pub counters: u64,
    /// The tiles' lists, written here.
    pub tile_lists: u64,
    /// Where each tile's list is, written here. Of small groups entries ([`has_entries`]): where it
    /// begins and ends, and the tile's number. Of large groups as a sort notes it; zero before.
    pub places: u64,
    /// What each section has of the last group in it ([`split_state_bytes`]), written here. For
    /// small groups zero before.
    pub states: u64,
}

/// Splits the lists of `groups` groups, with at most `capacity` pairs, into those of their tiles.
///
/// # Errors
/// If the launch failed.
pub fn split(
    queue: &Queue,
    kernels: &[Kernel],
    view: &KernelCamera,
    [groups, capacity]: [usize; 2],
    at: Split,
) -> Result<(), BackendError> {
    let [keys, values] = at.pairs;
    let (split_lists, blocks) = match *kernels {
        [_, _, split_lists] => (split_lists, sections(SIDES[0], capacity)),
        [_, _, count_sections, split_lists] => {
            let sections = sections(SIDES[1], capacity);
            queue.launch(
                count_sections,
                sections as u32,
                BLOCK as u32,
                &mut arguments![keys, at.group_ranges, at.counters, at.states],
            )?;
            (split_lists, groups + sections)
        }
        _ => return Err(wrong_program("lists")),
    };
    queue.launch(
        split_lists,
        blocks as u32,
        BLOCK as u32,
        &mut arguments![
            keys,
            values,
            at.group_ranges,
            groups as u32,
            *view,
            at.counters,
            at.tile_lists,
            at.places,
            at.states
        ],
    )
}
