//! Groups of tiles (TensorGS, section 4.4): one list for a square of tiles, with a mask for each of
//! its Gaussians that says which of the tiles it touches. Launches
//! ops/intersect/intersect_macro_tiles.cu, which says how; the sort sees group numbers where they
//! otherwise see tile numbers.

use super::footprint;
use crate::device::queue::{Queue, arguments, wrong_program};
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::sources;
use splatcore_core::BackendError;
use splatcore_core::pipeline::{Blend, Intersect};

const BLOCK: usize = 256;

/// Tiles along a side of a group, for blends that take groups; the others take tiles.
pub fn side(blend: Blend) -> Option<u32> {
    match blend {
        Blend::TensorGs2x2 => Some(2),
        Blend::TensorGs4x4 => Some(4),
        _ => None,
    }
}

/// Groups of an image.
pub fn count(view: &KernelCamera, side: u32) -> usize {
    view.tiles
        .map(|tiles| tiles.div_ceil(side) as usize)
        .iter()
        .product()
}

/// Addresses of what the kernels read and write.
#[derive(Clone, Copy)]
pub struct Lists {
    /// The splats.
    pub splats: u64,
    /// Their depth order.
    pub order: u64,
    /// Group of each pair.
    pub groups: u64,
    /// Slot of each pair.
    pub pair_slots: u64,
    /// Number of each pair, to be sorted by group.
    pub pair_numbers: u64,
    /// Tiles of each pair by its number, a u16 each.
    pub masks: u64,
    /// First pair of each slot.
    pub first_pairs: u64,
    /// Queue of slots with long lists.
    pub long_slots: u64,
    /// States of the look-back, zero.
    pub states: u64,
    /// The counters; the tiles' pairs become the groups'.
    pub counters: u64,
}

/// Writes the (group, Gaussian) pairs of at most `gaussians` splats in depth order. There is room
/// for as many as there are (tile, Gaussian) pairs, of which no more than `capacity` are allowed.
///
/// # Errors
/// If a launch failed.
pub fn expand(
    queue: &Queue,
    kernels: &[Kernel],
    view: &KernelCamera,
    [gaussians, capacity]: [usize; 2],
    long_blocks: u32,
    lists: Lists,
) -> Result<(), BackendError> {
    let &[expand_groups, expand_groups_long] = kernels else {
        return Err(wrong_program("intersect_groups"));
    };
    let capacity = capacity as u32;
    queue.launch(
        expand_groups,
        gaussians.div_ceil(BLOCK) as u32,
        BLOCK as u32,
        &mut arguments![
            lists.splats,
            lists.order,
            *view,
            capacity,
            lists.groups,
            lists.pair_slots,
            lists.pair_numbers,
            lists.masks,
            lists.first_pairs,
            lists.long_slots,
            lists.states,
            lists.counters
        ],
    )?;
    queue.launch(
        expand_groups_long,
        long_blocks,
        BLOCK as u32,
        &mut arguments![
            lists.splats,
            lists.long_slots,
            *view,
            lists.groups,
            lists.pair_slots,
            lists.pair_numbers,
            lists.masks,
            lists.first_pairs,
            lists.counters
        ],
    )
}

/// `expand_groups` and `expand_groups_long`, for groups of `side` x `side` tiles.
pub fn program(intersect: Intersect, side: u32) -> Program {
    sources::program(
        "intersect_macro_tiles.cu",
        vec![footprint(intersect), ("GROUP", side.to_string())],
        &["expand_groups", "expand_groups_long"],
    )
}
