//! What a learner holds that takes steps together with other ranks (`sharing.rs`).

use crate::device::{Buffer, Device};
use crate::passes::ShardSplats;
use crate::peers::{Peers, Shards};
use splatcore_core::BackendError;
use std::ops::Range;
use std::sync::Arc;

/// See the module's documentation.
pub(super) struct Sharing {
    pub peers: Arc<dyn Peers>,
    pub shards: Shards,
    /// Every row of the state is as it should be.
    pub is_whole: bool,
    /// The own rows of each frame of a round.
    pub frames: Vec<ShardSplats>,
    /// Whether each rank has overflowed, u32.
    pub overflowed: Buffer,
}

impl Sharing {
    /// With these ranks.
    pub fn new(device: &Arc<dyn Device>, peers: Arc<dyn Peers>) -> Result<Self, BackendError> {
        let ranks = peers.ranks().count;
        let frames: Result<_, _> = (0..ranks).map(|_| ShardSplats::new(device)).collect();
        Ok(Self {
            peers,
            shards: Shards::default(),
            is_whole: true,
            frames: frames?,
            overflowed: Buffer::new(device, "overflows of the ranks", 4 * ranks)?,
        })
    }

    /// The own rows.
    pub fn own(&self) -> Range<usize> {
        self.shards.of(self.peers.ranks().rank)
    }

    /// The own rows of a frame.
    pub fn frame(&self, index: usize) -> &ShardSplats {
        &self.frames[self.peers.ranks().renderer_of(index)]
    }
}
