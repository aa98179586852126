//! The buffers of a frame and the order of its ops: project, sort by depth, intersect, sort by
//! tile, blend; then backward. Nothing here waits for the device: sizes stay there, launches cover
//! capacities.
//!
//! `buffers` has the memory, `kernels` what runs, `forward` and `backward` the two passes, `pairs`
//! the middle of the first.

mod backward;
mod buffers;
mod forward;
mod kernels;
mod pairs;

use crate::device::{Buffer, Kernels, Queue};
use crate::ops::blend;
use crate::ops::blend_backward;
use crate::ops::counters::{COUNTERS_BYTES, Counters};
use splatcore_core::BackendError;
use splatcore_core::backend::{RenderOptions, Statistic};
use std::sync::Arc;

/// Larger images are refused: kernels count the values of three planes in 32 bits.
pub const MOST_PIXELS: u64 = u32::MAX as u64 / 3;

/// Bytes of a row of sums.
const SUM_BYTES: usize = 48;
/// Splats of a bucket of `gaussian-parallel`.
const BUCKET: usize = 32;
const PROJECT_BLOCK: usize = 128;
const EXPAND_BLOCK: usize = 256;

/// What a frame computes besides the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The image.
    Image,
    /// The image and what the backward pass needs.
    Training,
    /// Counts of fragments, no image.
    Counting,
}

/// Buffers of a frame. Content lives from one `forward` to the next.
pub struct Frame {
    /// The queue that everything runs in.
    pub queue: Queue,
    kernels: Arc<Kernels>,
    loaded: kernels::Loaded,
    deterministic: bool,
    /// What the backward pass leaves for densification; as [`Statistic::Mean`] where a method has
    /// no rows of pairs.
    pub statistic: Statistic,
    /// Pixels from which on images are blended as large ones.
    pub large_image: usize,
    gaussians: usize,
    /// The most pairs with macro-tiles that a image turned out to have, 0 before the first.
    pub(crate) image_pairs: usize,
    /// The last frame's pairs were binned to these macro-tiles.
    pub(crate) binned_to: Option<crate::ops::bin::MacroTiles>,
    pair_capacity: usize,
    /// Every pair has a row of sums.
    pair_rows: bool,
    /// Every bucket has a checkpoint.
    checkpointed: bool,
    counters: Buffer,
    /// States, histograms, ranges, most of it zeroed in one go at the start of a frame.
    cleared: Buffer,
    splats: Buffer,
    depths: [Buffer; 2],
    splat_order: [Buffer; 2],
    pair_counts: Buffer,
    splat_of: Buffer,
    first_pairs: Buffer,
    /// PairSplats with long lists of pairs.
    long_splats: Buffer,
    tiles: [Buffer; 2],
    pair_splats: Buffer,
    pair_values: [Buffer; 2],
    /// Tiles of each (macro-tile, Gaussian) pair, for blends that take macro-tiles of tiles.
    macro_tile_masks: Buffer,
    /// There was no memory for it.
    pub(crate) cannot_bin: bool,
    /// Pairs binned to macro-tiles, `list_room` for each, and their masks.
    binned_pairs: Buffer,
    binned_masks: Buffer,
    /// The queue of splats that go far.
    far: Buffer,
    /// Pairs of each macro-tile, and entries of that queue, that there is room for.
    pub(crate) list_room: usize,
    pub(crate) large_room: usize,
    /// The most lists, or parts of them, and entries of that queue that a frame had.
    list_items: u32,
    large_entries: u32,
    /// The tiles' lists where they come from macro-tiles.
    tile_lists: Buffer,
    /// Planar rgb, `[3][height * width]` f32.
    pub image: Buffer,
    /// `[height * width]` f32.
    pub transmittance: Buffer,
    /// `[height * width]` f32, if asked for.
    pub inverse_depth: Buffer,
    /// Tiles of a large image that are not all interpolated.
    refined_tiles: Buffer,
    /// dL/dimage, planar.
    pub image_gradient: Buffer,
    /// A row a pair or a row a splat, as the method wants it.
    sums: Buffer,
    /// A row a splat where `sums` has a row a pair.
    splat_sums: Buffer,
    gradients: Buffer,
    /// (Transmittance, colour) of a tile's pixels before a bucket, for `gaussian-parallel`.
    checkpoints: Buffer,
    /// Where in the sorted pairs each pixel stopped, likewise.
    stops: Buffer,
    order: usize,
    sorted: usize,
    layout: buffers::Layout,
}

impl Frame {
    /// Empty buffers; they grow with the first frame. `deterministic` replaces every method of
    /// summing gradients by the one that has a fixed order.
    ///
    /// # Errors
    /// If not even that fits.
    pub fn new(
        queue: Queue,
        kernels: Arc<Kernels>,
        deterministic: bool,
    ) -> Result<Self, BackendError> {
        let device = queue.device.clone();
        let empty = |name| Buffer::new(&device, name, 0);
        Ok(Self {
            kernels,
            loaded: kernels::Loaded::default(),
            deterministic,
            statistic: Statistic::Mean,
            gaussians: 0,
            large_image: blend::LARGE_IMAGE,
            pair_capacity: 0,
            image_pairs: 0,
            binned_to: None,
            pair_rows: false,
            checkpointed: false,
            counters: Buffer::from_slice(&device, "counters", &[0u8; COUNTERS_BYTES])?,
            cleared: empty("states of a frame")?,
            splats: empty("projected Gaussians")?,
            depths: [empty("depth keys")?, empty("depth keys")?],
            splat_order: [empty("depth order")?, empty("depth order")?],
            pair_counts: empty("pair counts")?,
            splat_of: empty("splat_order")?,
            first_pairs: empty("first pairs")?,
            long_splats: empty("splat_order with long lists")?,
            tiles: [
                empty("tile keys of the pairs")?,
                empty("tile keys of the pairs")?,
            ],
            pair_splats: empty("splat_order of the pairs")?,
            pair_values: [empty("order of the pairs")?, empty("order of the pairs")?],
            macro_tile_masks: empty("tiles of the pairs with macro_tiles")?,
            binned_pairs: empty("pairs of the macro_tiles")?,
            binned_masks: empty("tiles of the pairs of the macro_tiles")?,
            far: empty("splats over many macro_tiles")?,
            cannot_bin: false,
            list_room: 0,
            list_items: 0,
            large_entries: 0,
            large_room: 0,
            tile_lists: empty("lists of the tiles")?,
            image: empty("image")?,
            transmittance: empty("transmittance")?,
            inverse_depth: empty("inverse depth of the image")?,
            refined_tiles: empty("tiles that are not interpolated")?,
            image_gradient: empty("gradient of the image")?,
            sums: empty("gradient sums")?,
            splat_sums: empty("gradient sums of the projected Gaussians")?,
            gradients: empty("gradients of the projected Gaussians")?,
            checkpoints: empty("states of the pixels before each bucket")?,
            stops: empty("where the pixels stopped")?,
            order: 0,
            sorted: 0,
            layout: buffers::Layout::default(),
            queue,
        })
    }

    /// Whether there is room for any pairs: that for a image's is known from the last one.
    pub fn has_room(&self) -> bool {
        if self.binned_to.is_some() {
            self.image_pairs > 0
        } else {
            self.pair_capacity > 0
        }
    }

    /// Starts counting anew.
    ///
    /// # Errors
    /// If the device failed.
    pub fn forget(&self) -> Result<(), BackendError> {
        self.counters.fill(0, COUNTERS_BYTES)
    }

    /// Address of the counters of the last frame.
    pub fn counters_address(&self) -> u64 {
        self.counters.address()
    }

    /// Whether gradients are summed by way of a row for each pair.
    pub fn has_pair_rows(&self, options: &RenderOptions) -> bool {
        blend_backward::has_pair_rows(self.backward_method(options.pipeline))
    }

    /// Address of the splats of the last frame.
    pub fn splats_address(&self) -> u64 {
        self.splats.address()
    }

    /// Address of the splats of all Gaussians, and of the splats' gradients.
    pub fn gradient_addresses(&self) -> (u64, u64) {
        (self.splat_of.address(), self.gradients.address())
    }

    /// Address of the splats of all Gaussians, and of what is in the splats.
    pub fn splat_addresses(&self) -> (u64, u64) {
        (self.splat_of.address(), self.splats.address())
    }

    /// Waits for the last frame and returns its counters.
    ///
    /// # Errors
    /// If the device failed.
    pub fn counters(&mut self) -> Result<Counters, BackendError> {
        let mut counters = [Counters::default()];
        self.counters.read(0, &mut counters)?;
        if self.binned_to.is_some() {
            self.image_pairs = self.image_pairs.max(counters[0].needed as usize);
            self.list_items = self.list_items.max(counters[0].items);
            self.large_entries = self.large_entries.max(counters[0].far);
        }
        Ok(counters[0])
    }

    /// Blocks for the splats with long lists.
    fn long_blocks(&self, gaussians: usize) -> u32 {
        (gaussians as u32).min(8 * self.queue.device.multiprocessors())
    }
}
