//! What the device counts while a frame or a step runs.

use crate::device::params::shared_struct;

/// Classes of tiles by the length of their lists, as in ops/shared/splat.cuh.
pub(crate) const LENGTHS: usize = 8;
/// Lists of tiles that are left to `blend_refined`: one for each class of lengths, and one of tiles
/// without splats.
pub const REFINED_LISTS: usize = LENGTHS + 1;

shared_struct! {
    /// `Counters` of ops/shared/splat.cuh.
    #[derive(Default)]
    pub struct Counters as "Counters" {
        /// 1 once there was no room for the pairs or the splats, or for the Gaussians of a
        /// refinement: from there on nothing changed.
        pub overflowed: u32,
        /// Training steps and refinements done.
        pub steps: u32,
        /// Most pairs that a frame wanted.
        pub needed: u64,
        /// Gaussians that a refinement wanted room for, 0 if it had it.
        pub rows: u64,
        /// PairSplats in use.
        pub visible: u32,
        /// PairSplats with long lists of pairs; of images parts of blocks with many pairs too.
        pub longs: u32,
        /// (tile, Gaussian) pairs of the frame.
        pub pairs: u64,
        /// Fragments whose alpha was computed.
        pub evaluated: u64,
        /// Fragments that changed their pixel.
        pub blended: u64,
        /// (Warp, splat) pairs walked, `StripCounts::visited`.
        pub warps_visited: u64,
        /// Those with a fragment that changed its pixel.
        pub warps_blended: u64,
        /// Entries of the tiles' lists that have their place, where lists come from macro-tiles.
        pub placed: u64,
        /// Tiles that are to be blended first.
        pub firsts: u32,
        /// Tiles that are to be blended last.
        pub lasts: u32,
        /// Splats that cover many macro-tiles.
        pub large: u32,
        /// Blocks that ended.
        pub ended: u32,
        /// Lists and parts of long lists.
        pub items: u32,
        /// Most pairs that a list of a frame wanted.
        pub longest: u32,
        /// Most entries of the queue of splats that cover many macro-tiles that a frame wanted.
        pub most_large: u32,
        /// Tiles of a large image that `blend_refined` was asked for.
        pub refined_begun: u32,
        /// Tiles that are left to it.
        pub refined_tiles: [u32; REFINED_LISTS],
        /// Splats of the frame for which there was no room.
        pub beyond: u32,
        /// Most splats that a frame wanted room for.
        pub most_splats: u32,
        /// The same of a rank's own Gaussians, where several ranks have some.
        pub shard_splats: u32,
    }
}

/// Bytes that are kept for them.
pub const COUNTERS_BYTES: usize = 256;
/// Offset of [`Counters::visible`].
pub const VISIBLE_AT: u64 = std::mem::offset_of!(Counters, visible) as u64;
/// Offset of [`Counters::shard_splats`].
pub const SHARD_SPLATS_AT: u64 = std::mem::offset_of!(Counters, shard_splats) as u64;
/// Offset of [`Counters::pairs`].
pub const PAIRS_AT: u64 = std::mem::offset_of!(Counters, pairs) as u64;
