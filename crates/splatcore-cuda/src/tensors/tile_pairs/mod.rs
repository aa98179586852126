//! The (tile, splat) pairs of splats, sorted by image, tile and depth, and where each tile's list
//! begins: launches tile_pairs.cu and, for sorted pairs, ops/sort/sort.cu.

mod order;
mod program;
mod sort;
mod sorted;
#[cfg(test)]
mod tests;
mod totals;

pub use order::{Order, Touched, order};
pub(super) use program::program;
pub use totals::{Totals, Waited};

use super::slice::optional;
use super::{BLOCK, DeviceSlice, Floats, Ints, Longs, OnStream, word};
use crate::device::error::device_error;
use crate::device::params::Address;
use crate::device::{Buffer, Kernel};
use program::{BLOCK_PAIRS, CountTilesParams, FillPairsParams, FindOffsetsParams};
use program::{PairSplats, TileGrid, blocks};
use sorted::Sorting;
use splatcore_core::BackendError;

/// How images are cut into tiles.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// I: images.
    pub images: usize,
    /// Pixels along a tile's side.
    pub size: usize,
    /// Tiles side by side.
    pub width: usize,
    /// Tiles one below the other.
    pub height: usize,
}

/// Bits that hold a count.
fn bits(count: usize) -> u32 {
    usize::BITS - count.leading_zeros()
}

impl Tiles {
    /// Tiles of an image.
    fn of_image(&self) -> usize {
        self.width * self.height
    }

    /// Bits of the upper half of an id.
    fn key_bits(&self) -> u32 {
        bits(self.of_image()) + bits(self.images)
    }

    /// As kernels take it.
    fn grid(&self) -> Result<TileGrid, BackendError> {
        if self.size == 0 {
            return Err(device_error(
                "tile_size is 0, but must be 1 at least".into(),
            ));
        }
        if self.key_bits() > u32::BITS {
            return Err(device_error(format!(
                "{} images of {} x {} tiles cannot be counted in the 32 bits of an id; use larger \
                 tiles or fewer images",
                self.images, self.width, self.height
            )));
        }
        Ok(TileGrid {
            size: word("tile_size", self.size)?,
            width: self.width as u32,
            height: self.height as u32,
            tile_bits: bits(self.of_image()),
        })
    }
}

/// By what a tile of a splat's box is left out if the splat counts at none of its pixels, as the
/// kernels of `rasterize/` decide it.
#[derive(Clone, Copy, Debug)]
pub struct Reach {
    /// `[M, 3]`: the upper triangle of the inverse covariance, per square pixel.
    pub conics: Floats,
    /// `[M]`; or `[B, N]` if `cameras` is not 0, for splats `[B, C, N]`.
    pub opacities: Floats,
    /// C of opacities `[B, N]`, else 0.
    pub cameras: usize,
    /// `[M]`: what opacities are multiplied by.
    pub factors: Option<Floats>,
}

/// M splats in the images.
#[derive(Clone, Copy, Debug)]
pub struct Splats {
    /// `[M, 2]`, pixels.
    pub means2d: Floats,
    /// `[M, 2]`, pixels; 0 for a splat that is in no tile.
    pub radii: Ints,
    /// Without it a splat touches all tiles of its box, as gsplat lists it.
    pub reach: Option<Reach>,
}

impl Splats {
    fn count(&self) -> usize {
        self.radii.len() / 2
    }

    /// For this many images.
    fn params(&self, images: usize) -> Result<PairSplats, BackendError> {
        let count = self.count();
        let mut params = PairSplats {
            means2d: self.means2d.with_len("means2d", 2 * count)?,
            radii: self.radii.with_len("radii", 2 * count)?,
            conics: 0,
            opacities: 0,
            factors: 0,
            per_image: (count / images.max(1)).max(1) as u32,
            cameras: 0,
            count: word("the number of splats", count)?,
        };
        if let Some(reach) = &self.reach {
            let rows = count / reach.cameras.max(1);
            params.conics = reach.conics.with_len("conics", 3 * count)?;
            params.opacities = reach.opacities.with_len("opacities", rows)?;
            params.factors = optional(reach.factors, "compensations", count)?;
            params.cameras = word("the number of cameras", reach.cameras)?;
        }
        Ok(params)
    }
}

/// Which pairs to write.
#[derive(Clone, Copy, Debug)]
pub struct Pairs {
    /// The splats.
    pub splats: Splats,
    /// `[M]`.
    pub depths: Floats,
    /// `[M]`: the image of each; without it each image has M / I splats in a row.
    pub image_ids: Option<Longs>,
    /// How many tiles each splat touches.
    pub touched: Touched,
    /// Whether pairs are sorted by id, those of equal ids by splat; else they are as the splats,
    /// which takes [`Touched::Ends`].
    pub sort: bool,
    /// For `sort`: what [`order`] wrote, if it was called before.
    pub order: Option<Order>,
}

/// What [`fill`] writes.
#[derive(Clone, Copy, Debug)]
pub struct PairsOut {
    /// `[pairs]`: image, tile and, in the lower 32 bits, the depth's bits.
    pub isect_ids: Longs,
    /// `[pairs]`: splats.
    pub flatten_ids: Ints,
}

/// Writes the number of tiles that each splat touches, `[M]`.
///
/// # Errors
/// If lengths do not agree, ids cannot count the tiles, or the device failed.
pub fn count(
    on: &OnStream,
    tiles: &Tiles,
    splats: &Splats,
    tiles_per_gauss: Ints,
) -> Result<(), BackendError> {
    count_to(on, tiles, splats, tiles_per_gauss, 0)
}

/// As [`count`]; the sum of the numbers, and how many splats have radii above 0, are on their way
/// when this returns.
///
/// # Errors
/// As [`count`].
pub fn count_and_sum(
    on: &OnStream,
    tiles: &Tiles,
    splats: &Splats,
    tiles_per_gauss: Ints,
) -> Result<Totals, BackendError> {
    Totals::of(on, |totals| {
        count_to(on, tiles, splats, tiles_per_gauss, totals)
    })
}

/// With `totals` not 0, the sum and the number of splats are added to the two u64 there.
fn count_to(
    on: &OnStream,
    tiles: &Tiles,
    splats: &Splats,
    tiles_per_gauss: Ints,
    totals: Address,
) -> Result<(), BackendError> {
    let params = CountTilesParams {
        tiles: tiles.grid()?,
        splats: splats.params(tiles.images)?,
        tiles_per_gauss: tiles_per_gauss.with_len("tiles_per_gauss", splats.count())?,
        totals,
    };
    let [count_tiles, ..]: [Kernel; 6] = on.kernels(&program())?;
    on.queue
        .launch(count_tiles, blocks(splats.count())?, BLOCK, &params)
}

/// Writes the pairs.
///
/// # Errors
/// If lengths do not agree, there are more than 2^30 - 1 pairs, the sort finds no memory, or the
/// device failed.
pub fn fill(
    on: &OnStream,
    tiles: &Tiles,
    pairs: &Pairs,
    out: &PairsOut,
) -> Result<(), BackendError> {
    let (count, total) = (pairs.splats.count(), out.isect_ids.len());
    let flatten_ids = out.flatten_ids.with_len("flatten_ids", total)?;
    let grid = tiles.grid()?;
    let image_ids = optional(pairs.image_ids, "image_ids", count)?;
    if image_ids == 0 && count.checked_rem(tiles.images).unwrap_or(count) != 0 {
        return Err(device_error(format!(
            "{count} splats are not the same number for each of {} images",
            tiles.images
        )));
    }
    let mut params = FillPairsParams {
        tiles: grid,
        splats: pairs.splats.params(tiles.images)?,
        depths: pairs.depths.with_len("depths", count)?,
        image_ids,
        touched: pairs.touched.params(count)?,
        order: 0,
        sums: 0,
        pairs: word("the number of pairs", total)?,
        keys: 0,
        isect_ids: out.isect_ids.address(),
        flatten_ids,
        zeros: 0,
        zero_count: 0,
        count: 0,
    };
    if total == 0 {
        return Ok(());
    }
    let [.., fill_pairs, write_ids, _]: [Kernel; 6] = on.kernels(&program())?;
    let launch = |params: &FillPairsParams| {
        let blocks = total.div_ceil(BLOCK_PAIRS as usize) as u32;
        on.queue.launch(fill_pairs, blocks, BLOCK, params)
    };
    if !pairs.sort {
        if params.touched.ends == 0 {
            let error = "pairs in the order of splats need the sums of their numbers of tiles";
            return Err(device_error(error.into()));
        }
        return launch(&params);
    }
    let (known, _memory) = match pairs.order {
        Some(order) => (order, None),
        None => {
            let memory = Buffer::new(&on.queue.device, "the order of splats", 8 * count.max(1))?;
            // SAFETY: the memory has room for two numbers a splat, and lives as long as it is used.
            let both = unsafe { DeviceSlice::new(memory.address(), 2 * count) };
            let found = Order::halves(both);
            order(on, pairs.depths, pairs.touched, &found)?;
            (found, Some(memory))
        }
    };
    let sorting = Sorting::new(on, &mut params, &known, tiles.key_bits())?;
    launch(&params)?;
    sorting.run(on, write_ids)
}

/// Writes where the list of each tile begins in sorted ids, `[I, height, width]`.
///
/// # Errors
/// If lengths do not agree, or the device failed.
pub fn offsets(
    on: &OnStream,
    tiles: &Tiles,
    isect_ids: Longs,
    offsets: Ints,
) -> Result<(), BackendError> {
    let all = tiles.images * tiles.of_image();
    let params = FindOffsetsParams {
        isect_ids: isect_ids.address(),
        pairs: word("the number of pairs", isect_ids.len())?,
        images: word("the number of images", tiles.images)?,
        tiles: word("the number of tiles", tiles.of_image())?,
        tile_bits: tiles.grid()?.tile_bits,
        offsets: offsets.with_len("offsets", all)?,
    };
    let [.., find_offsets]: [Kernel; 6] = on.kernels(&program())?;
    on.queue.launch(find_offsets, blocks(all)?, BLOCK, &params)
}
