//! The kernels of tile_pairs.cu with their parameters.

use crate::device::Program;
use crate::device::params::{Address, Layout, Params, kernel_params};
use crate::ops::sources;
use crate::tensors::{BLOCK, grid};
use splatcore_core::BackendError;

kernel_params! {
    /// How images are cut into tiles (tile_rows.cuh).
    pub struct TileGrid {
        size: u32,
        width: u32,
        height: u32,
        tile_bits: u32,
    }

    /// Splats (tile_rows.cuh).
    pub struct PairSplats {
        means2d: Address,
        radii: Address,
        conics: Address,
        opacities: Address,
        factors: Address,
        per_image: u32,
        cameras: u32,
        count: u32,
    }

    /// How many tiles each splat touches (tile_pairs.cu).
    pub struct TouchedTiles {
        counts: Address,
        ends: Address,
    }

    /// Parameters of `count_tiles` (tile_pairs.cu).
    pub struct CountTilesParams {
        tiles: TileGrid,
        splats: PairSplats,
        tiles_per_gauss: Address,
        totals: Address,
    }

    /// Parameters of `fill_pairs` (tile_pairs.cu).
    pub struct FillPairsParams {
        tiles: TileGrid,
        splats: PairSplats,
        depths: Address,
        image_ids: Address,
        touched: TouchedTiles,
        order: Address,
        sums: Address,
        pairs: u32,
        keys: Address,
        isect_ids: Address,
        flatten_ids: Address,
        zeros: Address,
        zero_count: u32,
        count: Address,
    }

    /// Parameters of `find_offsets` (tile_pairs.cu).
    pub struct FindOffsetsParams {
        isect_ids: Address,
        pairs: u32,
        images: u32,
        tiles: u32,
        tile_bits: u32,
        offsets: Address,
    }

    /// Parameters of `take_depths` (tile_pairs.cu).
    pub struct TakeDepthsParams {
        depths: Address,
        touched: TouchedTiles,
        splats: u32,
        most: u32,
        keys: Address,
        order: Address,
        zeros: Address,
        zero_count: u32,
        count: Address,
    }

    /// Parameters of `sum_counts` (tile_pairs.cu).
    pub struct SumCountsParams {
        order: Address,
        touched: TouchedTiles,
        splats: u32,
        most: u32,
        sums: Address,
        states: Address,
    }

    /// Parameters of `write_ids` (tile_pairs.cu).
    pub struct WriteIdsParams {
        keys: Address,
        flatten_ids: Address,
        depths: Address,
        pairs: u32,
        isect_ids: Address,
    }
}

/// Structs that kernels' parameters hold.
static SHARED: &[(&str, &Layout)] = &[
    ("tile_rows.cuh", TileGrid::LAYOUT),
    ("tile_rows.cuh", PairSplats::LAYOUT),
    ("tile_pairs.cu", TouchedTiles::LAYOUT),
];

/// Splats of a thread of `sum_counts`.
pub const SCAN_ITEMS: u32 = 4;
/// Pairs of a warp of `fill_pairs`: enough that most of its lanes have a row to work on.
const WARP_PAIRS: u32 = 128;
/// Pairs of a block of `fill_pairs`.
pub const BLOCK_PAIRS: u32 = BLOCK / 32 * WARP_PAIRS;

/// What this module launches, but for the sorts.
pub fn program() -> Program {
    let mut program = sources::program(
        "tile_pairs.cu",
        vec![
            ("BLOCK", BLOCK.to_string()),
            ("SCAN_ITEMS", SCAN_ITEMS.to_string()),
            ("WARP_PAIRS", WARP_PAIRS.to_string()),
        ],
        [
            CountTilesParams::kernel("count_tiles"),
            TakeDepthsParams::kernel("take_depths"),
            SumCountsParams::kernel("sum_counts"),
            FillPairsParams::kernel("fill_pairs"),
            WriteIdsParams::kernel("write_ids"),
            FindOffsetsParams::kernel("find_offsets"),
        ],
    );
    program.shared = SHARED;
    program
}

/// Blocks with so many threads.
pub fn blocks(threads: usize) -> Result<u32, BackendError> {
    grid(threads.div_ceil(BLOCK as usize))
}
