//! From projected Gaussians to the sorted lists of the tiles: sort by depth, intersect, sort by
//! tile.

use super::forward::{Pass, wrong_program};
use super::kernels::Op;
use super::{EXPAND_BLOCK, Frame, Purpose};
use crate::device::Buffer;
use crate::ops::bin;
use crate::ops::camera::KernelCamera;
use crate::ops::counters::{PAIRS_AT, VISIBLE_AT};
use crate::ops::intersect::macro_tiles;
use crate::ops::intersect::{ExpandLongParams, ExpandParams};
use crate::ops::sort;
use splatcore_core::BackendError;
use splatcore_core::pipeline::Pipeline;

/// What the sorted lists are of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// Tiles.
    Tiles,
    /// Macro-tiles of so many tiles a side, for blends that take those.
    MacroTiles(u32),
    /// Tiles, by way of macro-tiles: pairs are binned to their macro-tiles in no order, sorted and
    /// split there.
    Binned(bin::MacroTiles),
}

impl Lists {
    /// Lists that are made by sorting pairs.
    pub(super) fn sorted(pipeline: Pipeline, purpose: Purpose) -> Self {
        match macro_tiles::side(pipeline.blend) {
            Some(side) if purpose != Purpose::Training => Lists::MacroTiles(side),
            _ => Lists::Tiles,
        }
    }

    /// The macro-tiles that pairs are binned to.
    pub(super) fn binned(self) -> Option<bin::MacroTiles> {
        match self {
            Lists::Binned(macro_tiles) => Some(macro_tiles),
            Lists::Tiles | Lists::MacroTiles(_) => None,
        }
    }

    /// How many there are.
    pub(super) fn count(self, view: &KernelCamera) -> usize {
        match self {
            Lists::Tiles => view.tile_count(),
            Lists::MacroTiles(side) => macro_tiles::count(view, side),
            Lists::Binned(macro_tiles) => macro_tiles::count(view, macro_tiles.side),
        }
    }
}

impl Frame {
    /// PairSplats, front to back.
    pub(super) fn sort_by_depth(&mut self, pass: &Pass) -> Result<(), BackendError> {
        let plan = self.layout.depth_plan;
        self.order = sort::sort(
            &self.queue,
            self.sort_kernels(plan),
            plan,
            sort::Input {
                keys: self.depths.each_ref().map(Buffer::address),
                values: self.splat_order.each_ref().map(Buffer::address),
                count: self.counters.address() + VISIBLE_AT,
                capacity: pass.scene.count,
                has_gaps: true,
                ranges: 0,
                lists: 0,
            },
            [self.layout.depth_histograms, self.layout.depth_states]
                .map(|offset| self.cleared_at(offset)),
        )?;
        self.queue.mark("sort")
    }

    /// All pairs, front to back.
    pub(super) fn intersect(&self, pass: &Pass) -> Result<(), BackendError> {
        let view = &pass.view;
        let counters = self.counters.address();
        let states = self.cleared_at(self.layout.expand_states);
        let numbers = match pass.is_numbered() {
            true => self.pair_values[0].address(),
            false => 0,
        };
        let most = [
            pass.scene.count,
            self.pair_room(pass.scene.count, pass.lists),
        ];
        let long_blocks = self.long_blocks(pass.scene.count);
        match pass.lists {
            Lists::Tiles => {
                let &[expand, expand_long] = self.kernels_of(Op::Intersect) else {
                    return Err(wrong_program());
                };
                self.queue.launch(
                    expand,
                    pass.scene.count.div_ceil(EXPAND_BLOCK) as u32,
                    EXPAND_BLOCK as u32,
                    &ExpandParams {
                        splats: self.splats.address(),
                        order: self.splat_order[self.order].address(),
                        tile_counts: self.pair_counts.address(),
                        camera: *view,
                        pair_capacity: self.pair_capacity as u32,
                        tiles: self.tiles[0].address(),
                        pair_splats: self.pair_splats.address(),
                        pair_numbers: numbers,
                        first_pairs: self.first_pairs.address(),
                        long_splats: self.long_splats.address(),
                        states,
                        counters,
                    },
                )?;
                self.queue.launch(
                    expand_long,
                    long_blocks,
                    EXPAND_BLOCK as u32,
                    &ExpandLongParams {
                        splats: self.splats.address(),
                        long_splats: self.long_splats.address(),
                        camera: *view,
                        tiles: self.tiles[0].address(),
                        pair_splats: self.pair_splats.address(),
                        pair_numbers: numbers,
                        first_pairs: self.first_pairs.address(),
                        counters,
                    },
                )?;
            }
            Lists::MacroTiles(_) => {
                let lists = macro_tiles::Lists {
                    splats: self.splats.address(),
                    order: self.splat_order[self.order].address(),
                    macro_tiles: self.tiles[0].address(),
                    pair_splats: self.pair_splats.address(),
                    pair_numbers: numbers,
                    masks: self.macro_tile_masks.address(),
                    first_pairs: self.first_pairs.address(),
                    long_splats: self.long_splats.address(),
                    states,
                    counters,
                };
                let kernels = self.kernels_of(Op::MacroTiles);
                macro_tiles::expand(&self.queue, kernels, view, most, long_blocks, lists)?;
            }
            Lists::Binned(_) => return Err(wrong_program()),
        }
        self.queue.mark("intersect")
    }

    /// The addresses of what bins pairs to macro-tiles and sorts them there.
    pub(super) fn binned_buffers(&self, side: u32) -> bin::Buffers {
        bin::Buffers {
            splats: self.splats.address(),
            far: self.far.address(),
            large_room: self.large_room as u32,
            counts: self.cleared_at(self.layout.macro_tile_counts),
            pairs: self.binned_pairs.address(),
            masks: self.binned_masks.address(),
            room: self.list_room as u32,
            counters: self.counters.address(),
            items: self.cleared_at(self.layout.items),
            macro_tile_places: self.cleared_at(self.layout.macro_tile_places),
            tile_lists: self.tile_lists.address(),
            places: self.tile_places(side),
        }
    }

    /// Where the place of each tile's list is noted.
    fn tile_places(&self, side: u32) -> u64 {
        self.cleared_at(match bin::has_entries(side) {
            true => self.layout.entries,
            false => self.layout.ranges,
        })
    }

    /// The tiles' lists, and their entries where they have some; the blend knows where the table is
    /// that others have.
    fn lists_to_blend(&self, side: u32) -> (u64, u64) {
        let entries = match bin::has_entries(side) {
            true => self.tile_places(side),
            false => 0,
        };
        (self.tile_lists.address(), entries)
    }

    /// The tiles' lists from pairs most of which `project` has binned. Returns what
    /// [`Frame::sort_by_list`] does.
    pub(super) fn sort_binned(
        &self,
        pass: &Pass,
        macro_tiles: bin::MacroTiles,
    ) -> Result<(u64, u64), BackendError> {
        let at = self.binned_buffers(macro_tiles.side);
        let most = [
            pass.lists.count(&pass.view),
            self.pair_room(pass.scene.count, pass.lists),
        ];
        bin::bin_large_splats(
            &self.queue,
            self.kernels_of(Op::MacroTiles),
            &pass.view,
            most,
            self.large_entries,
            at,
        )?;
        self.queue.mark("intersect")?;
        bin::sort(
            &self.queue,
            self.kernels_of(Op::SortLists),
            &pass.view,
            most[0],
            self.list_items,
            at,
        )?;
        self.queue.mark("sort")?;
        Ok(self.lists_to_blend(macro_tiles.side))
    }

    /// The lists, each front to back. Returns what [`Frame::pairs`] does.
    pub(super) fn sort_by_list(&mut self, pass: &Pass) -> Result<(u64, u64), BackendError> {
        let values = match pass.is_numbered() {
            true => &self.pair_values[0],
            false => &self.pair_splats,
        };
        let plan = self.layout.tile_plan;
        self.sorted = sort::sort(
            &self.queue,
            self.sort_kernels(plan),
            plan,
            sort::Input {
                keys: self.tiles.each_ref().map(Buffer::address),
                values: [values.address(), self.pair_values[1].address()],
                count: self.counters.address() + PAIRS_AT,
                capacity: self.pair_room(pass.scene.count, pass.lists),
                has_gaps: false,
                ranges: self.cleared_at(self.layout.ranges),
                lists: pass.lists.count(&pass.view),
            },
            [self.layout.tile_histograms, self.layout.tile_states]
                .map(|offset| self.cleared_at(offset)),
        )?;
        self.queue.mark("sort")?;
        Ok(self.pairs(pass.is_numbered()))
    }

    /// The sorted pairs, and the table from pair numbers to splats (0 where the pairs are splats
    /// themselves).
    pub(super) fn pairs(&self, numbered: bool) -> (u64, u64) {
        match (numbered, self.sorted) {
            (true, sorted) => (
                self.pair_values[sorted].address(),
                self.pair_splats.address(),
            ),
            (_, 0) => (self.pair_splats.address(), 0),
            (_, _) => (self.pair_values[1].address(), 0),
        }
    }
}
