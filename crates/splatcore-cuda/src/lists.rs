//! `lists`: launches kernels/lists.cu, which says how: the tiles' lists of a picture by way of groups of tiles. Training
//! keeps intersect.cu's pairs, which its sums need.

use crate::camera::KernelCamera;
use crate::device::Kernel;
use crate::device::buffer::device_error;
use crate::frame::Purpose;
use crate::groups;
use crate::launch::{Queue, arguments};
use splatcore_core::BackendError;
use splatcore_core::pipeline::{Blend, Pipeline};

const BLOCK: usize = 256;
/// Tiles along a side of a group.
const GROUP: u32 = 2;
/// A pair's slot leaves four bits for the group's tiles.
const MOST_SLOTS: usize = 1 << 28;
/// Bytes of a slot's reach.
pub const REACH_BYTES: usize = 8;
/// Places of a tile's list for each pair of a group.
pub const TILES: usize = (GROUP * GROUP) as usize;

/// Whether a frame's lists come from groups.
pub fn grouped(pipeline: Pipeline, purpose: Purpose, gaussians: usize) -> bool {
    pipeline.blend == Blend::Splatcore && purpose == Purpose::Image && gaussians < MOST_SLOTS
}

/// Groups of an image.
pub fn groups(view: &KernelCamera) -> usize {
    groups::count(view, GROUP)
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
    /// Group of each pair, to be sorted.
    pub groups: u64,
    /// Slot of each pair under the mask of its tiles, to be sorted with it.
    pub words: u64,
    /// First pair of each slot with a long list.
    pub first_pairs: u64,
    /// Queue of slots with long lists.
    pub long_slots: u64,
    /// States of the look-back, zero.
    pub states: u64,
    /// The counters.
    pub counters: u64,
}

/// Writes the (group, Gaussian) pairs of at most `gaussians` splats in depth order; more than `capacity` halt the frame.
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
    let &[expand_lists, expand_lists_long, _] = kernels else {
        return Err(wrong_program());
    };
    let capacity = capacity as u32;
    queue.launch(
        expand_lists,
        gaussians.div_ceil(BLOCK) as u32,
        BLOCK as u32,
        &mut arguments![
            buffers.splats,
            buffers.order,
            buffers.reaches,
            *view,
            capacity,
            buffers.groups,
            buffers.words,
            buffers.first_pairs,
            buffers.long_slots,
            buffers.states,
            buffers.counters
        ],
    )?;
    queue.launch(
        expand_lists_long,
        long_blocks,
        BLOCK as u32,
        &mut arguments![
            buffers.splats,
            buffers.long_slots,
            *view,
            buffers.groups,
            buffers.words,
            buffers.first_pairs,
            buffers.counters
        ],
    )
}

/// Splits the groups' lists, sorted `words` between `group_ranges`, into `tile_lists` between `ranges`.
///
/// # Errors
/// If the launch failed.
pub fn split(
    queue: &Queue,
    kernels: &[Kernel],
    view: &KernelCamera,
    [words, group_ranges, counters]: [u64; 3],
    [tile_lists, ranges]: [u64; 2],
) -> Result<(), BackendError> {
    let &[_, _, split_lists] = kernels else {
        return Err(wrong_program());
    };
    queue.launch(
        split_lists,
        groups(view) as u32,
        BLOCK as u32,
        &mut arguments![words, group_ranges, *view, counters, tile_lists, ranges],
    )
}

fn wrong_program() -> BackendError {
    device_error("the program of lists has other kernels than asked for".into())
}
