//! Tile lists by binning, for inference: `project` writes splats with a small footprint into the
//! bins of the macro-tiles that they touch, `bin_large_splats` the others, and `sort_bins` sorts
//! each bin by depth and splits it into the lists of its tiles. Room is kept for every bin alike;
//! a frame that wants more overflows and is rendered again.

use super::kernels::{Loaded, Op};
use super::tile_lists::TileLists;
use super::work::Work;
use crate::device::{Buffer, Device};
use crate::ops::bin::{self, BinLargeSplatsParams, MacroTiles, SortBinsParams};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::ops::intersect::macro_tiles;
use crate::ops::project::{self, ProjectParams};
use crate::ops::scene::SceneAddresses;
use splatcore_core::BackendError;
use std::sync::Arc;

/// Offsets in the scratch memory.
#[derive(Clone, Copy, Default)]
struct Layout {
    macro_tile_counts: usize,
    /// Side 4: where macro-tiles' lists are, once they have asked for a place.
    macro_tile_places: usize,
    ranges: usize,
    /// What `sort_bins` sorts.
    items: usize,
    entries: usize,
    /// What is zeroed; what lies behind is not.
    zeroed: usize,
    bytes: usize,
}

impl Layout {
    fn new(pairs: usize, view: &KernelCamera, side: u32) -> Self {
        let (count, has_entries) = (macro_tiles::count(view, side), bin::has_entries(side));
        let mut layout = Self::default();
        let mut at = 0;
        let mut take = |bytes: usize| {
            let start = at;
            at += bytes.next_multiple_of(256);
            start
        };
        layout.macro_tile_counts = take(4 * count);
        if !has_entries {
            layout.macro_tile_places = take(4 * count);
            layout.ranges = take(8 * view.tile_count());
        }
        layout.zeroed = take(0);
        layout.items = take(16 * bin::most_items(count, pairs));
        if has_entries {
            layout.entries = take(16 * view.tile_count());
        }
        layout.bytes = at;
        layout
    }
}

/// The buffers of the binned lists, and how much room frames turned out to want.
pub struct BinnedLists {
    /// The last frame's pairs were binned to these.
    pub last: Option<MacroTiles>,
    /// There was no memory for it.
    pub cannot_bin: bool,
    /// Pairs of each bin that there is room for.
    pub room: usize,
    /// Splats of the queue of large footprints that there is room for.
    pub large_room: usize,
    /// The most pairs with macro-tiles that an image turned out to have, 0 before the first.
    pub most_pairs: usize,
    /// The most bins, or parts of them, and entries of that queue that a frame had.
    items: u32,
    large_entries: u32,
    pairs: Buffer,
    masks: Buffer,
    /// The queue of splats with a large footprint.
    large: Buffer,
    tile_lists: Buffer,
    layout: Layout,
}

impl BinnedLists {
    /// Empty buffers.
    ///
    /// # Errors
    /// If not even that fits.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        let empty = |name| Buffer::new(device, name, 0);
        Ok(Self {
            last: None,
            cannot_bin: false,
            room: 0,
            large_room: 0,
            most_pairs: 0,
            items: 0,
            large_entries: 0,
            pairs: empty("pairs of the macro-tiles")?,
            masks: empty("tiles of the pairs of the macro-tiles")?,
            large: empty("splats over many macro-tiles")?,
            tile_lists: empty("lists of the tiles")?,
            layout: Layout::default(),
        })
    }

    /// The macro-tiles that pairs of this scene and view can be binned to.
    pub fn macro_tiles(
        &self,
        scene: SceneAddresses,
        view: &KernelCamera,
        side: u32,
    ) -> Option<MacroTiles> {
        let count = macro_tiles::count(view, side);
        let macro_tiles = MacroTiles::new(side, count)?;
        let can = scene.is_spatial
            && scene.count < bin::MAX_SPLATS
            && self.room <= bin::most_listed(count)
            && !self.cannot_bin;
        can.then_some(macro_tiles)
    }

    /// Makes room for a scene and a view.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve(
        &mut self,
        work: &mut Work,
        gaussians: usize,
        view: &KernelCamera,
        side: u32,
    ) -> Result<(), BackendError> {
        let count = macro_tiles::count(view, side);
        if self.room == 0 {
            // Guesses; the first frame tells.
            self.room = (16 * gaussians / count.max(1)).clamp(1 << 10, bin::most_listed(count));
        }
        self.large_room = self.large_room.max(gaussians);
        self.pairs.reserve_exactly(8 * count * self.room)?;
        if !bin::has_entries(side) {
            self.masks.reserve_exactly(2 * count * self.room)?;
        }
        self.large
            .reserve_exactly(bin::LARGE_BYTES * self.large_room)?;
        let pairs = self.likely_pairs(gaussians, side);
        self.tile_lists
            .reserve_exactly(4 * bin::places(side) * pairs)?;
        self.layout = Layout::new(pairs, view, side);
        work.reserve_scratch(self.layout.bytes)
    }

    /// Gives back what only binning needs; from now on nothing is binned.
    ///
    /// # Errors
    /// If the device failed.
    pub fn release(&mut self) -> Result<(), BackendError> {
        (self.last, self.cannot_bin) = (None, true);
        for buffer in [&mut self.pairs, &mut self.masks, &mut self.large] {
            buffer.clear()?;
        }
        Ok(())
    }

    /// Gives back the tiles' lists.
    ///
    /// # Errors
    /// If the device failed.
    pub fn release_tile_lists(&mut self) -> Result<(), BackendError> {
        self.tile_lists.clear()
    }

    /// Pairs that a frame is launched for. An image that has more is rendered again.
    fn likely_pairs(&self, gaussians: usize, side: u32) -> usize {
        let likely = match self.most_pairs {
            0 => 4 * gaussians,
            most => most + most / 4,
        };
        likely.max(1 << 12).min(bin::most_pairs(side))
    }

    /// Learns from the counters of a binned frame how much the next ones will want.
    pub fn note(&mut self, counters: &Counters) {
        self.most_pairs = self.most_pairs.max(counters.needed as usize);
        self.items = self.items.max(counters.items);
        self.large_entries = self.large_entries.max(counters.large);
    }

    /// More room, for what a frame that overflowed wanted: an eighth more, but not so much that
    /// nothing is binned any more.
    pub fn grow(&mut self, counters: &Counters) {
        let grown = |room: usize, wanted: u32, most: usize| {
            let wanted = wanted as usize;
            match wanted > room {
                true => (wanted + wanted / 8).min(wanted.max(most)),
                false => room,
            }
        };
        self.room = grown(self.room, counters.longest, bin::MAX_LISTED);
        self.large_room = grown(self.large_room, counters.most_large, usize::MAX);
    }

    /// Makes the lists of a view, for which room was reserved.
    ///
    /// # Errors
    /// If a launch failed.
    pub fn build<Kind: PartialEq>(
        &self,
        work: &Work,
        loaded: &Loaded<Kind>,
        scene: SceneAddresses,
        view: &KernelCamera,
        side: u32,
    ) -> Result<TileLists, BackendError> {
        let [clear] = loaded.get(Op::Clear)?;
        work.clear(clear, self.layout.zeroed)?;
        let [project] = loaded.get(Op::Project)?;
        let (splats, counters) = (work.splats(), work.counters());
        let macro_tile_counts = work.scratch_at(self.layout.macro_tile_counts);
        let params = ProjectParams {
            macro_tile_counts,
            pairs: self.pairs.address(),
            masks: self.masks.address(),
            room: self.room as u32,
            large_queue: self.large.address(),
            large_room: self.large_room as u32,
            lens: work.kernel_lens(),
            ..project::params(scene, view, splats, counters)
        };
        project::launch(&work.queue, project, scene.count, &params)?;
        work.queue.mark("project")?;

        let (has_entries, at) = (bin::has_entries(side), |offset| work.scratch_at(offset));
        let macro_tiles = macro_tiles::count(view, side) as u32;
        let items = at(self.layout.items);
        let places = match has_entries {
            true => at(self.layout.entries),
            false => at(self.layout.ranges),
        };
        let params = BinLargeSplatsParams {
            splats,
            queue: self.large.address(),
            queue_room: self.large_room as u32,
            camera: *view,
            macro_tile_counts,
            pairs: self.pairs.address(),
            masks: self.masks.address(),
            room: self.room as u32,
            macro_tiles,
            capacity: self.likely_pairs(scene.count, side) as u32,
            counters,
            items,
            places,
        };
        let [bin_large_splats] = loaded.get(Op::BinLargeSplats)?;
        bin::launch_large(&work.queue, bin_large_splats, self.large_entries, &params)?;
        work.queue.mark("intersect")?;
        let params = SortBinsParams {
            items,
            all_pairs: self.pairs.address(),
            all_masks: self.masks.address(),
            room: self.room as u32,
            macro_tiles,
            camera: *view,
            counters,
            macro_tile_places: at(self.layout.macro_tile_places),
            tile_lists: self.tile_lists.address(),
            places,
        };
        let [sort_bins] = loaded.get(Op::SortBins)?;
        bin::launch_sort(&work.queue, sort_bins, self.items, &params)?;
        work.queue.mark("sort")?;
        Ok(TileLists {
            pairs: self.tile_lists.address(),
            pair_splats: 0,
            ranges: at(self.layout.ranges),
            entries: if has_entries { places } else { 0 },
            masks: 0,
            count: view.tile_count(),
        })
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let all = [&self.pairs, &self.masks, &self.large, &self.tile_lists];
        all.map(|buffer| buffer.bytes() as u64).iter().sum()
    }
}
