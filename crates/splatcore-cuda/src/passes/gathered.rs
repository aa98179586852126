//! The splats of a frame that several ranks projected, where they have come together.

use super::kernels::{Loaded, Op};
use super::sorted_lists::SortedLists;
use super::work::Work;
use crate::device::Address;
use crate::ops::gather_splats::{self, GatherSplatsParams};
use crate::ops::row_blocks::RowBlocks;
use splatcore_core::BackendError;

/// The splats of all ranks in a frame.
pub struct Gathered {
    /// How many ranks.
    pub ranks: usize,
    /// Compacted indices of all of them.
    pub room: usize,
    /// Where each rank's begin, u32, and where the last one's end.
    pub firsts: Address,
    /// [`super::SHARD_COUNTS`] bytes of each rank.
    pub counts: Address,
    /// Depth keys by compacted index.
    pub keys: Address,
    /// Of rank 0; divided if splats have the number of the Gaussian among its rank's.
    pub blocks: RowBlocks,
}

impl Gathered {
    /// Makes them the splats of a frame, of so many Gaussians together, in place of `project`; the
    /// layout is for it.
    ///
    /// # Errors
    /// If a launch failed.
    pub(super) fn gather<Kind: PartialEq>(
        &self,
        work: &Work,
        sorted: &SortedLists,
        loaded: &Loaded<Kind>,
        gaussians: usize,
    ) -> Result<(), BackendError> {
        let [clear] = loaded.get(Op::Clear)?;
        work.clear(clear, sorted.layout.zeroed)?;
        // No key: all bits.
        sorted.depths[0].fill(0xff, 4 * gaussians)?;
        let params = GatherSplatsParams {
            shards: self.counts,
            firsts: self.firsts,
            ranks: self.ranks as u32,
            splats: work.splats(),
            keys: self.keys,
            depths: sorted.depths[0].address(),
            splat_order: sorted.splat_order[0].address(),
            counters: work.counters(),
            blocks: self.blocks,
        };
        let [gather, _] = loaded.get(Op::GatherSplats)?;
        gather_splats::launch_gather(&work.queue, gather, self.room, &params)
    }
}
