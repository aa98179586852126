//! What is sorted for a frame, and where in the scratch memory it has what its sorts need.

use crate::ops::camera::KernelCamera;
use crate::ops::intersect::{self, macro_tiles};
use crate::ops::sort::{self, Plan};

/// Bytes of the range of a list.
pub(super) const RANGE: usize = 8;

/// What the sorted lists are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListsOf {
    /// Tiles.
    Tiles,
    /// Macro-tiles with so many tiles a side, for blends that take those.
    MacroTiles(u32),
}

impl ListsOf {
    /// How many lists a view has.
    pub fn count(self, view: &KernelCamera) -> usize {
        match self {
            ListsOf::Tiles => view.tile_count(),
            ListsOf::MacroTiles(side) => macro_tiles::count(view, side),
        }
    }
}

/// Offsets in the scratch memory.
#[derive(Clone, Copy, Default)]
pub(super) struct Layout {
    /// States of the look-back of `expand`.
    pub(super) expand_states: usize,
    pub(super) depth_histograms: usize,
    pub(super) depth_states: usize,
    pub(super) tile_histograms: usize,
    pub(super) tile_states: usize,
    pub(super) ranges: usize,
    pub(super) bucket_tiles: usize,
    /// Of pairs that are grouped for other ranks: histograms, ranges and how many, states.
    pub(super) group_histograms: usize,
    pub(super) groups: usize,
    pub(super) group_count: usize,
    pub(super) group_states: usize,
    /// What is zeroed; what lies behind is not.
    pub(super) zeroed: usize,
    pub(super) bytes: usize,
    pub(super) depth_plan: Plan,
    pub(super) tile_plan: Plan,
    /// One pass: it leaves its input alone.
    pub(super) group_plan: Plan,
}

impl Layout {
    /// For so many Gaussians and splats, pairs, buckets, and ranks that render a frame together.
    pub(super) fn new(
        [gaussians, splats]: [usize; 2],
        [pairs, buckets]: [usize; 2],
        view: &KernelCamera,
        of: ListsOf,
        team: usize,
        pieces: sort::PieceSizes,
    ) -> Self {
        let mut layout = Self::default();
        let mut at = 0;
        let mut take = |bytes: usize| {
            let start = at;
            at += bytes.next_multiple_of(256);
            start
        };
        layout.depth_plan = Plan::new(sort::DEPTH_BITS, gaussians);
        layout.tile_plan = Plan::new(sort::key_bits(of.count(view)), pairs);
        layout.expand_states = take(4 * splats.div_ceil(intersect::BLOCK).max(1));
        layout.depth_histograms = take(layout.depth_plan.histogram_bytes());
        layout.tile_histograms = take(layout.tile_plan.histogram_bytes());
        layout.ranges = take(RANGE * view.tile_count());
        layout.bucket_tiles = take(4 * buckets);
        if team > 1 {
            layout.group_count = team * team;
            layout.group_plan = Plan::new(sort::key_bits(layout.group_count), pairs);
        }
        layout.group_histograms = take(layout.group_plan.histogram_bytes());
        layout.groups = take(RANGE * layout.group_count);
        // The sort zeroes as much of its states as it needs.
        layout.zeroed = take(0);
        layout.depth_states = take(layout.depth_plan.state_bytes(gaussians, pieces));
        layout.tile_states = take(layout.tile_plan.state_bytes(pairs, pieces));
        layout.group_states = take(layout.group_plan.state_bytes(pairs, pieces));
        layout.bytes = at;
        layout
    }
}
