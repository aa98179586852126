//! The splats and lists that the kernels of this folder share.

use crate::device::error::device_error;
use crate::device::params::{Address, Layout, Params, kernel_params};
use crate::tensors::slice::optional;
use crate::tensors::{Bools, DeviceSlice, Floats, Ints, word};
use splatcore_core::BackendError;

kernel_params! {
    /// Splats and the lists of tiles (tile_batches.cuh).
    pub struct RasterScene {
        means2d: Address,
        conics: Address,
        opacities: Address,
        tile_offsets: Address,
        flatten_ids: Address,
        masks: Address,
        pairs: u32,
        images: u32,
        width: u32,
        height: u32,
        tile_size: u32,
        tile_width: u32,
        tile_height: u32,
        alpha_max: f32,
    }
}

/// Checked in programs of this folder.
pub(super) static SHARED: &[(&str, &Layout)] = &[("tile_batches.cuh", RasterScene::LAYOUT)];

/// Pixels along the side of the largest tile.
pub const MAX_TILE_SIZE: usize = 16;
/// Threads of the largest block, `BLOCK` of the kernels.
pub(super) const MAX_THREADS: usize = MAX_TILE_SIZE * MAX_TILE_SIZE;

/// The splats of each tile, as the functions of `tile_pairs` make them.
#[derive(Clone, Copy, Debug)]
pub struct Lists {
    /// `[I, tile_height, tile_width]`: where a tile's list begins.
    pub tile_offsets: Ints,
    /// `[pairs]`: indices of splats, tile by tile, each front to back.
    pub flatten_ids: Ints,
    /// `[I, tile_height, tile_width]`: tiles that are not empty.
    pub masks: Option<Bools>,
}

/// M splats, and the I images that they are rasterized to.
#[derive(Clone, Copy, Debug)]
pub struct Raster {
    /// `[M, 2]`, pixels.
    pub means2d: Floats,
    /// `[M, 3]`: the upper triangle of the inverse covariance, per square pixel.
    pub conics: Floats,
    /// `[M]`.
    pub opacities: Floats,
    /// Which splats are in which tile.
    pub lists: Lists,
    /// I.
    pub images: usize,
    /// Pixels.
    pub width: usize,
    /// Pixels.
    pub height: usize,
    /// Pixels along a tile's side, 1 to 16.
    pub tile_size: usize,
    /// Tiles side by side, enough for the image.
    pub tile_width: usize,
    /// Tiles one below the other, enough for the image.
    pub tile_height: usize,
    /// The highest alpha of a splat: 0.999 in gsplat, 0.99 in INRIA's code.
    pub alpha_max: f32,
}

impl Raster {
    /// M.
    pub(super) fn splats(&self) -> usize {
        self.opacities.len()
    }

    /// Tiles of all images, which are the blocks of a launch.
    pub(super) fn tiles(&self) -> usize {
        self.images * self.tile_width * self.tile_height
    }

    /// Threads of a block: one a pixel, in whole warps.
    pub(super) fn block(&self) -> u32 {
        (self.tile_size * self.tile_size).next_multiple_of(crate::ops::constants::WARP) as u32
    }

    /// The address of a tensor of so many values a pixel.
    ///
    /// # Errors
    /// If it has others.
    pub(super) fn pixels<T>(
        &self,
        slice: DeviceSlice<T>,
        name: &str,
        values: usize,
    ) -> Result<Address, BackendError> {
        slice.with_len(name, self.images * self.height * self.width * values)
    }

    /// What kernels take.
    ///
    /// # Errors
    /// If lengths do not agree, or the tile size is not 1 to 16.
    pub(super) fn scene(&self) -> Result<RasterScene, BackendError> {
        if !(1..=MAX_TILE_SIZE).contains(&self.tile_size) {
            return Err(device_error(format!(
                "tile_size is {}, but may be 1 to {MAX_TILE_SIZE}",
                self.tile_size
            )));
        }
        let needed = [self.width, self.height].map(|side| side.div_ceil(self.tile_size));
        if self.tile_width < needed[0] || self.tile_height < needed[1] {
            return Err(device_error(format!(
                "tile_offsets has {} x {} tiles, but {} x {} pixels need {} x {}",
                self.tile_width, self.tile_height, self.width, self.height, needed[0], needed[1]
            )));
        }
        let (splats, tiles) = (self.splats(), self.tiles());
        let lists = &self.lists;
        Ok(RasterScene {
            means2d: self.means2d.with_len("means2d", 2 * splats)?,
            conics: self.conics.with_len("conics", 3 * splats)?,
            opacities: self.opacities.address(),
            tile_offsets: lists.tile_offsets.with_len("tile_offsets", tiles)?,
            flatten_ids: lists.flatten_ids.address(),
            masks: optional(lists.masks, "masks", tiles)?,
            pairs: word("the number of flatten_ids", lists.flatten_ids.len())?,
            images: word("the number of images", self.images)?,
            width: word("width", self.width)?,
            height: word("height", self.height)?,
            tile_size: self.tile_size as u32,
            tile_width: word("tile_width", self.tile_width)?,
            tile_height: word("tile_height", self.tile_height)?,
            alpha_max: self.alpha_max,
        })
    }
}
