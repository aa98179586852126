//! Macro-tiles of tiles (TensorGS, section 4.4): one list for a square of tiles, with a mask for
//! each of its Gaussians that says which of the tiles it touches. Launches
//! ops/intersect/intersect_macro_tiles.cu, which says how; the sort sees macro-tile numbers where
//! they otherwise see tile numbers.

use super::{BLOCK, footprint};
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::Queue;
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
}

/// Tiles along a side of a macro-tile, for blends that take macro-tiles; the others take tiles.
pub fn side(blend: Blend) -> Option<u32> {
    let side = blend.method().list_side;
    (side > 1).then_some(side)
}

/// Macro-tiles of an image.
pub fn count(view: &KernelCamera, side: u32) -> usize {
    view.tiles_x.div_ceil(side) as usize * view.tiles_y.div_ceil(side) as usize
}

/// Writes the (macro-tile, splat) pairs of at most `gaussians` splats in depth order. There is room
/// for as many as there are (tile, splat) pairs, of which no more than `pair_capacity` are allowed.
///
/// # Errors
/// If a launch failed.
pub fn launch(
    queue: &Queue,
    [expand_macro_tiles, expand_macro_tiles_long]: [Kernel; 2],
    (gaussians, long_blocks): (usize, u32),
    params: &ExpandMacroTilesParams,
) -> Result<(), BackendError> {
    let blocks = gaussians.div_ceil(BLOCK) as u32;
    queue.launch(expand_macro_tiles, blocks, BLOCK as u32, params)?;
    queue.launch(expand_macro_tiles_long, long_blocks, BLOCK as u32, params)
}

/// `expand_macro_tiles` and `expand_macro_tiles_long`, for macro-tiles of `side` x `side` tiles.
pub fn program(intersect: Intersect, side: u32) -> Program {
    sources::program(
        "intersect_macro_tiles.cu",
        vec![
            footprint(intersect),
            ("BLOCK", BLOCK.to_string()),
            ("MACRO_TILE_SIDE", side.to_string()),
        ],
        [
            ExpandMacroTilesParams::kernel("expand_macro_tiles"),
            ExpandMacroTilesParams::kernel("expand_macro_tiles_long"),
        ],
    )
}
