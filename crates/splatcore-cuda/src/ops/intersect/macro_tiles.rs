//! Macro-tiles of tiles (TensorGS, section 4.4): one list for a square of tiles, with a mask for
//! each of its Gaussians that says which of the tiles it touches. Launches
//! ops/intersect/intersect_macro_tiles.cu, which says how; the sort sees macro-tile numbers where
//! they otherwise see tile numbers.

use super::footprint;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::sources;
use splatcore_core::BackendError;
use splatcore_core::pipeline::{Blend, Intersect};

kernel_params! {
    /// Parameters of `expand_macro_tiles` (intersect_macro_tiles.cu).
    pub struct ExpandMacroTilesParams {
        splats: Address,
        order: Address,
        camera: KernelCamera,
        pair_capacity: u32,
        macro_tiles: Address,
        pair_splats: Address,
        pair_numbers: Address,
        masks: Address,
        first_pairs: Address,
        long_splats: Address,
        states: Address,
        counters: Address,
    }

    /// Parameters of `expand_macro_tiles_long` (intersect_macro_tiles.cu).
    pub struct ExpandMacroTilesLongParams {
        splats: Address,
        long_splats: Address,
        camera: KernelCamera,
        macro_tiles: Address,
        pair_splats: Address,
        pair_numbers: Address,
        masks: Address,
        first_pairs: Address,
        counters: Address,
    }
}

const BLOCK: usize = 256;

/// Tiles along a side of a macro-tile, for blends that take macro-tiles; the others take tiles.
pub fn side(blend: Blend) -> Option<u32> {
    match blend {
        Blend::TensorGs2x2 => Some(2),
        Blend::TensorGs4x4 => Some(4),
        _ => None,
    }
}

/// Macro-tiles of an image.
pub fn count(view: &KernelCamera, side: u32) -> usize {
    view.tiles_x.div_ceil(side) as usize * view.tiles_y.div_ceil(side) as usize
}

/// Addresses of what the kernels read and write.
#[derive(Clone, Copy)]
pub struct Lists {
    /// The splats.
    pub splats: u64,
    /// Their depth order.
    pub order: u64,
    /// Macro-tile of each pair.
    pub macro_tiles: u64,
    /// Compacted index of each pair.
    pub pair_splats: u64,
    /// Number of each pair, to be sorted by macro-tile.
    pub pair_numbers: u64,
    /// Tiles of each pair by its number, a u16 each.
    pub masks: u64,
    /// First pair of each splat.
    pub first_pairs: u64,
    /// Queue of splats with long lists.
    pub long_splats: u64,
    /// States of the look-back, zero.
    pub states: u64,
    /// The counters; the tiles' pairs become the macro-tiles'.
    pub counters: u64,
}

/// Writes the (macro-tile, Gaussian) pairs of at most `gaussians` splats in depth order. There is
/// room for as many as there are (tile, Gaussian) pairs, of which no more than `capacity` are
/// allowed.
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
    let &[expand_macro_tiles, expand_macro_tiles_long] = kernels else {
        return Err(wrong_program("intersect_groups"));
    };
    let capacity = capacity as u32;
    queue.launch(
        expand_macro_tiles,
        gaussians.div_ceil(BLOCK) as u32,
        BLOCK as u32,
        &ExpandMacroTilesParams {
            splats: lists.splats,
            order: lists.order,
            camera: *view,
            pair_capacity: capacity,
            macro_tiles: lists.macro_tiles,
            pair_splats: lists.pair_splats,
            pair_numbers: lists.pair_numbers,
            masks: lists.masks,
            first_pairs: lists.first_pairs,
            long_splats: lists.long_splats,
            states: lists.states,
            counters: lists.counters,
        },
    )?;
    queue.launch(
        expand_macro_tiles_long,
        long_blocks,
        BLOCK as u32,
        &ExpandMacroTilesLongParams {
            splats: lists.splats,
            long_splats: lists.long_splats,
            camera: *view,
            macro_tiles: lists.macro_tiles,
            pair_splats: lists.pair_splats,
            pair_numbers: lists.pair_numbers,
            masks: lists.masks,
            first_pairs: lists.first_pairs,
            counters: lists.counters,
        },
    )
}

/// `expand_macro_tiles` and `expand_macro_tiles_long`, for macro-tiles of `side` x `side` tiles.
pub fn program(intersect: Intersect, side: u32) -> Program {
    sources::program(
        "intersect_macro_tiles.cu",
        vec![footprint(intersect), ("MACRO_TILE_SIDE", side.to_string())],
        [
            ExpandMacroTilesParams::kernel("expand_macro_tiles"),
            ExpandMacroTilesLongParams::kernel("expand_macro_tiles_long"),
        ],
    )
}
