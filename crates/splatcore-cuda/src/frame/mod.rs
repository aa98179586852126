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
    /// Pixels from which on pictures are blended as large ones.
    pub large_picture: usize,
    gaussians: usize,
    /// The most pairs with groups that a picture turned out to have, 0 before the first.
    pub(crate) picture_pairs: usize,
    /// The last frame's pairs were dealt to these groups.
    pub(crate) dealt_to: Option<crate::ops::bin::Groups>,
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
    slots: [Buffer; 2],
    pair_counts: Buffer,
    slot_of: Buffer,
    first_pairs: Buffer,
    /// Slots with long lists of pairs.
    long_slots: Buffer,
    tiles: [Buffer; 2],
    pair_slots: Buffer,
    pair_values: [Buffer; 2],
    /// Tiles of each (group, Gaussian) pair, for blends that take groups of tiles.
    group_masks: Buffer,
    /// There was no memory for it.
    pub(crate) cannot_deal: bool,
    /// Pairs dealt to groups, `list_room` for each, and their masks.
    dealt_pairs: Buffer,
    dealt_masks: Buffer,
    /// The queue of splats that go far.
    far: Buffer,
    /// Pairs of each group, and entries of that queue, that there is room for.
    pub(crate) list_room: usize,
    pub(crate) far_room: usize,
    /// The most lists, or parts of them, and entries of that queue that a frame had.
    list_items: u32,
    far_entries: u32,
    /// The tiles' lists where they come from groups.
    tile_lists: Buffer,
    /// Planar rgb, `[3][height * width]` f32.
    pub image: Buffer,
    /// `[height * width]` f32.
    pub transmittance: Buffer,
    /// `[height * width]` f32, if asked for.
    pub inverse_depth: Buffer,
    /// Tiles of a large picture that are not all interpolated.
    rough: Buffer,
    /// dL/dimage, planar.
    pub image_gradient: Buffer,
    /// A row a pair or a row a slot, as the method wants it.
    sums: Buffer,
    /// A row a slot where `sums` has a row a pair.
    slot_sums: Buffer,
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
            large_picture: blend::LARGE_PICTURE,
            pair_capacity: 0,
            picture_pairs: 0,
            dealt_to: None,
            pair_rows: false,
            checkpointed: false,
            counters: Buffer::from_slice(&device, "counters", &[0u8; COUNTERS_BYTES])?,
            cleared: empty("states of a frame")?,
            splats: empty("projected Gaussians")?,
            depths: [empty("depth keys")?, empty("depth keys")?],
            slots: [empty("depth order")?, empty("depth order")?],
            pair_counts: empty("pair counts")?,
            slot_of: empty("slots")?,
            first_pairs: empty("first pairs")?,
            long_slots: empty("slots with long lists")?,
            tiles: [
                empty("tile keys of the pairs")?,
                empty("tile keys of the pairs")?,
            ],
            pair_slots: empty("slots of the pairs")?,
            pair_values: [empty("order of the pairs")?, empty("order of the pairs")?],
            group_masks: empty("tiles of the pairs with groups")?,
            dealt_pairs: empty("pairs of the groups")?,
            dealt_masks: empty("tiles of the pairs of the groups")?,
            far: empty("splats over many groups")?,
            cannot_deal: false,
            list_room: 0,
            list_items: 0,
            far_entries: 0,
            far_room: 0,
            tile_lists: empty("lists of the tiles")?,
            image: empty("image")?,
            transmittance: empty("transmittance")?,
            inverse_depth: empty("inverse depth of the image")?,
            rough: empty("tiles that are not interpolated")?,
            image_gradient: empty("gradient of the image")?,
            sums: empty("gradient sums")?,
            slot_sums: empty("gradient sums of the projected Gaussians")?,
            gradients: empty("gradients of the projected Gaussians")?,
            checkpoints: empty("states of the pixels before each bucket")?,
            stops: empty("where the pixels stopped")?,
            order: 0,
            sorted: 0,
            layout: buffers::Layout::default(),
            queue,
        })
    }

    /// Whether there is room for any pairs: that for a picture's is known from the last one.
    pub fn has_room(&self) -> bool {
        if self.dealt_to.is_some() {
            self.picture_pairs > 0
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

    /// Address of the slots of all Gaussians, and of the slots' gradients.
    pub fn gradient_addresses(&self) -> (u64, u64) {
        (self.slot_of.address(), self.gradients.address())
    }

    /// Address of the slots of all Gaussians, and of what is in the slots.
    pub fn splat_addresses(&self) -> (u64, u64) {
        (self.slot_of.address(), self.splats.address())
    }

    /// Waits for the last frame and returns its counters.
    ///
    /// # Errors
    /// If the device failed.
    pub fn counters(&mut self) -> Result<Counters, BackendError> {
        let mut counters = [Counters::default()];
        self.counters.read(0, &mut counters)?;
        if self.dealt_to.is_some() {
            self.picture_pairs = self.picture_pairs.max(counters[0].needed as usize);
            self.list_items = self.list_items.max(counters[0].items);
            self.far_entries = self.far_entries.max(counters[0].far);
        }
        Ok(counters[0])
    }

    /// Blocks for the slots with long lists.
    fn long_blocks(&self, gaussians: usize) -> u32 {
        (gaussians as u32).min(8 * self.queue.device.multiprocessors())
    }
}
