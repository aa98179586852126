//! The memory of a frame: what grows when, and what lies where.

use super::pairs::Lists;
use super::{BUCKET, Frame, Purpose, SUM_BYTES};
use crate::ops::bin;
use crate::ops::blend::InferenceRows;
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::ops::intersect::{MOST_PAIRS, macro_tiles};
use crate::ops::scene::SceneAddresses;
use crate::ops::sort::{self, Plan};
use splatcore_core::pipeline::Blend;
use splatcore_core::{BackendError, Choice};

const SPLAT_BYTES: usize = 48;
/// Bytes of a splat's gradients.
const GRADIENT_BYTES: usize = 64;
/// Bytes of a tile's pixels in `checkpoints`.
const CHECKPOINT_BYTES: usize = 16 * 256;

/// Offsets in `cleared`.
#[derive(Clone, Copy, Default)]
pub(super) struct Layout {
    /// States of the look-back of `expand`.
    pub(super) expand_states: usize,
    pub(super) depth_histograms: usize,
    pub(super) depth_states: usize,
    pub(super) tile_histograms: usize,
    pub(super) tile_states: usize,
    pub(super) ranges: usize,
    pub(super) entries: usize,
    /// Pairs binned to each macro-tile.
    pub(super) macro_tile_counts: usize,
    /// Where large macro-tiles' lists are, once they have asked for a place.
    pub(super) macro_tile_places: usize,
    /// The lists that [`bin::sort`] sorts.
    pub(super) items: usize,
    pub(super) bucket_tiles: usize,
    /// What is zeroed; what lies behind is not.
    pub(super) zeroed: usize,
    pub(super) bytes: usize,
    pub(super) depth_plan: Plan,
    pub(super) tile_plan: Plan,
}

impl Layout {
    /// Room for so many.
    pub(super) fn new(
        [gaussians, pairs]: [usize; 2],
        camera: &KernelCamera,
        lists: Lists,
        buckets: usize,
    ) -> Self {
        let mut layout = Self::default();
        let mut at = 0;
        let mut take = |bytes: usize| {
            let start = at;
            at += bytes.next_multiple_of(256);
            start
        };
        if let Lists::Binned(macro_tiles) = lists {
            let (count, has_entries) = (lists.count(camera), bin::has_entries(macro_tiles.side));
            layout.macro_tile_counts = take(4 * count);
            if !has_entries {
                layout.macro_tile_places = take(4 * count);
                layout.ranges = take(8 * camera.tile_count());
            }
            layout.zeroed = take(0);
            layout.items = take(16 * bin::most_items(count, pairs));
            if has_entries {
                layout.entries = take(16 * camera.tile_count());
            }
            layout.bytes = at;
            return layout;
        }
        layout.depth_plan = Plan::new(sort::DEPTH_BITS, gaussians);
        layout.tile_plan = Plan::new(sort::key_bits(lists.count(camera)), pairs);
        layout.expand_states = take(4 * gaussians.div_ceil(super::EXPAND_BLOCK).max(1));
        layout.depth_histograms = take(layout.depth_plan.histogram_bytes());
        layout.tile_histograms = take(layout.tile_plan.histogram_bytes());
        layout.ranges = take(8 * camera.tile_count());
        layout.bucket_tiles = take(4 * buckets);
        // The sort zeroes as much of its states as it needs.
        layout.zeroed = take(0);
        layout.depth_states = take(layout.depth_plan.state_bytes(gaussians));
        layout.tile_states = take(layout.tile_plan.state_bytes(pairs));
        layout.bytes = at;
        layout
    }
}

impl Frame {
    /// Makes room for at least so many pairs, and for a quarter more if there is memory.
    ///
    /// # Errors
    /// If there are more than can be numbered, or no memory; there is as much room as before then.
    pub fn reserve_pairs(&mut self, pairs: u64) -> Result<(), BackendError> {
        let most = self.check_pairs(pairs)?;
        let (pairs, before) = (pairs as usize, self.pair_capacity);
        if pairs <= before {
            return Ok(());
        }
        let roomy = (pairs + pairs / 4).min(most);
        self.allocate_pairs(roomy)
            .or_else(|_| self.allocate_pairs(pairs))
            .or_else(|error| {
                self.allocate_pairs(before)?;
                Err(error)
            })
    }

    /// The lists of a image of `blend` whose pairs can be binned to macro-tiles.
    pub(super) fn binned(
        &self,
        scene: SceneAddresses,
        view: &KernelCamera,
        blend: Blend,
        rows: InferenceRows,
    ) -> Option<Lists> {
        if !matches!(blend, Blend::Splatcore | Blend::Samples) {
            return None;
        }
        let side = match rows {
            InferenceRows::Four => bin::SIDES[0],
            InferenceRows::Eight => bin::SIDES[1],
        };
        let count = macro_tiles::count(view, side);
        let macro_tiles = bin::MacroTiles::new(side, count)?;
        let can = scene.is_spatial
            && scene.count < bin::MOST_SPLATS
            && self.list_room <= bin::most_listed(count)
            && !self.cannot_bin;
        can.then_some(Lists::Binned(macro_tiles))
    }

    /// Makes room for what an overflowed frame wanted.
    ///
    /// # Errors
    /// As [`Frame::reserve_pairs`].
    pub fn make_room(&mut self, counters: &Counters) -> Result<(), BackendError> {
        self.forget()?;
        if self.binned_to.is_none() {
            return self.reserve_pairs(counters.needed);
        }
        self.check_pairs(counters.needed)?;
        // An eighth more, but not so much that nothing is binned any more.
        let grown = |room: usize, wanted: u32, most: usize| {
            let wanted = wanted as usize;
            match wanted > room {
                true => (wanted + wanted / 8).min(wanted.max(most)),
                false => room,
            }
        };
        self.list_room = grown(self.list_room, counters.longest, bin::MOST_LISTED);
        self.large_room = grown(self.large_room, counters.most_large, usize::MAX);
        Ok(())
    }

    /// Refuses more pairs than can be numbered. Returns the most.
    fn check_pairs(&self, pairs: u64) -> Result<usize, BackendError> {
        let most = self.binned_to.map_or(MOST_PAIRS as usize, |macro_tiles| {
            bin::most_pairs(macro_tiles.side)
        });
        if pairs <= most as u64 {
            return Ok(most);
        }
        Err(BackendError::OutOfMemory {
            backend: "cuda",
            buffer: format!(
                "{pairs} (tile, Gaussian) pairs, more than the {most} that can be numbered,"
            ),
            bytes: pairs * 20,
            free: None,
            depends_on: &[Choice::ImageSize, Choice::GaussianCount, Choice::Pipeline],
        })
    }

    /// Memory for pairs that are binned to `count` macro-tiles.
    fn reserve_binned(
        &mut self,
        gaussians: usize,
        side: u32,
        count: usize,
    ) -> Result<(), BackendError> {
        if self.list_room == 0 {
            // Guesses; the first frame tells.
            self.list_room =
                (16 * gaussians / count.max(1)).clamp(1 << 10, bin::most_listed(count));
        }
        self.large_room = self.large_room.max(gaussians);
        self.binned_pairs
            .reserve_exactly(8 * count * self.list_room)?;
        if !bin::has_entries(side) {
            self.binned_masks
                .reserve_exactly(2 * count * self.list_room)?;
        }
        self.far
            .reserve_exactly(bin::LARGE_BYTES * self.large_room)?;
        Ok(())
    }

    /// Gives back what only pairs that are binned need; from now on none are.
    pub(super) fn release_binned(&mut self) -> Result<(), BackendError> {
        (self.binned_to, self.cannot_bin) = (None, true);
        for buffer in [
            &mut self.binned_pairs,
            &mut self.binned_masks,
            &mut self.far,
        ] {
            buffer.clear()?;
        }
        Ok(())
    }

    fn release_pairs(&mut self) -> Result<(), BackendError> {
        self.pair_capacity = 0;
        let [a, b] = &mut self.tiles;
        let [c, d] = &mut self.pair_values;
        for buffer in [a, b, c, d, &mut self.pair_splats, &mut self.sums] {
            buffer.clear()?;
        }
        self.checkpoints.clear()?;
        self.macro_tile_masks.clear()?;
        self.tile_lists.clear()?;
        Ok(())
    }

    fn allocate_pairs(&mut self, capacity: usize) -> Result<(), BackendError> {
        // All old memory first: what is left between smaller buffers may not hold a larger one.
        self.release_pairs()?;
        let [a, b] = &mut self.tiles;
        let [c, d] = &mut self.pair_values;
        for buffer in [a, b, c, d, &mut self.pair_splats] {
            buffer.reserve_exactly(4 * capacity)?;
        }
        if self.pair_rows {
            self.sums.reserve_exactly(SUM_BYTES * capacity)?;
        }
        if self.checkpointed {
            self.checkpoints
                .reserve_exactly(CHECKPOINT_BYTES * (capacity / BUCKET))?;
        }
        self.pair_capacity = capacity;
        Ok(())
    }

    /// Pairs that a frame is launched for, as far as there is room. A image that has more is
    /// rendered again.
    pub(super) fn pair_room(&self, gaussians: usize, lists: Lists) -> usize {
        let Some(macro_tiles) = lists.binned() else {
            return self.pair_capacity;
        };
        let likely = match self.image_pairs {
            0 => 4 * gaussians,
            most => most + most / 4,
        };
        likely.max(1 << 12).min(bin::most_pairs(macro_tiles.side))
    }

    /// Leaves room for no more than so many pairs, to provoke what happens when there are more.
    #[cfg(test)]
    pub(crate) fn shrink_pairs(&mut self, capacity: usize) {
        self.pair_capacity = self.pair_capacity.min(capacity);
    }

    /// Makes room for a scene and a view, and for these lists.
    pub(super) fn reserve(
        &mut self,
        gaussians: usize,
        camera: &KernelCamera,
        purpose: Purpose,
        checkpoints: bool,
        lists: Lists,
    ) -> Result<(), BackendError> {
        if gaussians > self.gaussians {
            self.gaussians = 0;
            let room = gaussians + gaussians / 8;
            self.splats.reserve_exactly(SPLAT_BYTES * room)?;
            for buffer in self.depths.iter_mut().chain(&mut self.splat_order) {
                buffer.reserve_exactly(4 * room)?;
            }
            for buffer in [
                &mut self.pair_counts,
                &mut self.splat_of,
                &mut self.first_pairs,
                &mut self.long_splats,
            ] {
                buffer.reserve_exactly(4 * room)?;
            }
            self.gaussians = room;
        }
        let pixels = camera.pixels();
        self.image.reserve_exactly(12 * pixels)?;
        self.transmittance.reserve_exactly(4 * pixels)?;
        if purpose == Purpose::Training {
            self.image_gradient.reserve_exactly(12 * pixels)?;
            self.gradients.reserve(GRADIENT_BYTES * gaussians)?;
        }
        let bins = matches!(lists, Lists::Binned(_));
        if self.pair_capacity == 0 && !bins {
            // A guess; the first frame tells.
            let guess = (8 * gaussians as u64).clamp(1 << 12, MOST_PAIRS / 2);
            self.reserve_pairs(guess)
                .or_else(|_| self.reserve_pairs(1 << 12))?;
        }
        if purpose == Purpose::Training {
            let rows = if self.pair_rows {
                self.pair_capacity
            } else {
                gaussians
            };
            // Methods may change from frame to frame: a row a splat fits too.
            self.sums.reserve_exactly(SUM_BYTES * rows.max(gaussians))?;
            if self.pair_rows {
                self.splat_sums.reserve(SUM_BYTES * gaussians)?;
            }
        }
        if let Lists::Binned(macro_tiles) = lists {
            self.reserve_binned(gaussians, macro_tiles.side, lists.count(camera))?;
            let room = self.pair_room(gaussians, lists);
            self.tile_lists
                .reserve_exactly(4 * bin::places(macro_tiles.side) * room)?;
        }
        let mut buckets = 0;
        if checkpoints {
            let bytes = CHECKPOINT_BYTES * (self.pair_capacity / BUCKET);
            self.checkpoints.reserve_exactly(bytes)?;
            self.stops.reserve_exactly(4 * pixels)?;
            buckets = self.buckets(camera);
        }
        self.layout = Layout::new(
            [gaussians, self.pair_room(gaussians, lists)],
            camera,
            lists,
            buckets,
        );
        self.cleared.reserve(self.layout.bytes)?;
        Ok(())
    }

    /// Address of what lies at an offset of the layout.
    pub(super) fn cleared_at(&self, offset: usize) -> u64 {
        self.cleared.address() + offset as u64
    }

    /// Numbers that buckets can have; see ops/blend_backward/blend_backward_gaussian_parallel.cu.
    pub(super) fn buckets(&self, camera: &KernelCamera) -> usize {
        self.pair_capacity / BUCKET + camera.tile_count()
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let singles = [
            &self.cleared,
            &self.splats,
            &self.pair_counts,
            &self.splat_of,
            &self.first_pairs,
            &self.long_splats,
            &self.pair_splats,
            &self.image,
            &self.transmittance,
            &self.inverse_depth,
            &self.refined_tiles,
            &self.image_gradient,
            &self.sums,
            &self.splat_sums,
            &self.gradients,
            &self.checkpoints,
            &self.stops,
            &self.macro_tile_masks,
            &self.tile_lists,
            &self.binned_pairs,
            &self.binned_masks,
            &self.far,
        ];
        let twice = [
            &self.depths,
            &self.splat_order,
            &self.tiles,
            &self.pair_values,
        ];
        let all = singles.into_iter().chain(twice.into_iter().flatten());
        all.map(|buffer| buffer.bytes() as u64).sum()
    }
}
