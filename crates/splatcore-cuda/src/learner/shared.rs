//! What a learner holds that takes steps together with other ranks (`sharing.rs`).

use super::memory::first_splats;
use crate::device::{Address, Buffer, Device};
use crate::ops::division::Division;
use crate::ops::row_blocks::OwnRows;
use crate::ops::shards::Shards;
use crate::ops::state::Whole;
use crate::passes::{Gathered, SHARD_COUNTS, ShardSplats};
use crate::peers::{Begun, Peers};
use splatcore_core::BackendError;
use splatcore_core::backend::Ranks;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Rounds whose splats and sums are there at a time: one is projected, one rendered, and one waits
/// for its sums.
const ROUNDS: usize = 3;

/// See the module's documentation.
pub(super) struct Sharing {
    pub peers: Arc<dyn Peers>,
    pub shards: Shards,
    /// Every row of the state is as it should be, but for arrays that are divided.
    pub is_whole: bool,
    /// What of a divided state is brought together; until the next step or refinement.
    pub whole: Option<Whole>,
    /// The own rows of each frame of [`ROUNDS`] rounds.
    frames: Vec<ShardSplats>,
    /// Splats that are on their way, in their order.
    pub sent_splats: VecDeque<Option<Begun>>,
    /// Sums, likewise.
    pub sent_sums: VecDeque<Option<Begun>>,
    /// Splats of each rank's rows that a frame has room for; all ranks know the same numbers.
    rooms: Vec<usize>,
    /// Where each rank's compacted indices begin where all come together, u32, and where the last
    /// one's end.
    firsts: Buffer,
    /// Of a round that is rendered, and of the one behind it: how many splats and pairs each rank
    /// has in the frame that is rendered here, and their depth keys.
    counts: [Buffer; 2],
    keys: [Buffer; 2],
    /// Rows of sums from one rank to another that there is room for ([`crate::passes::Strips`]);
    /// all ranks know the same number.
    strip_room: usize,
    /// Whether each rank has overflowed, u32, then how many splats each wanted room for, then how
    /// many rows of sums: 0 without strips.
    pub agreed: Buffer,
}

impl Sharing {
    /// With these ranks.
    pub fn new(device: &Arc<dyn Device>, peers: Arc<dyn Peers>) -> Result<Self, BackendError> {
        let ranks = peers.ranks().count;
        let frames = (0..ROUNDS * ranks).map(|_| ShardSplats::new(device));
        let frames: Result<_, _> = frames.collect();
        Ok(Self {
            peers,
            shards: Shards::new(0, ranks),
            is_whole: true,
            whole: None,
            frames: frames?,
            sent_splats: VecDeque::new(),
            sent_sums: VecDeque::new(),
            rooms: vec![0; ranks],
            strip_room: 0,
            firsts: Buffer::new(device, "rooms of the ranks", 4 * (ranks + 1))?,
            counts: Buffer::two(device, "counts of the ranks", SHARD_COUNTS * ranks)?,
            keys: Buffer::two(device, "depth keys of the ranks", 0)?,
            agreed: Buffer::from_slice(device, "overflows of the ranks", &vec![0u32; 3 * ranks])?,
        })
    }

    /// Who takes the steps.
    pub fn ranks(&self) -> Ranks {
        self.peers.ranks()
    }

    /// Begins to share so many Gaussians, all of which are as they should be, as the state is
    /// divided.
    ///
    /// # Errors
    /// If the device failed.
    pub fn begin(
        &mut self,
        gaussians: usize,
        division: Option<&Division>,
    ) -> Result<(), BackendError> {
        self.shards = match division {
            Some(division) => division.shards(gaussians),
            None => Shards::new(gaussians, self.ranks().count),
        };
        (self.is_whole, self.whole) = (false, None);
        let first = |rank| first_splats(self.shards.rows(rank));
        let rooms = self.rooms.iter().enumerate();
        let rooms = rooms.map(|(rank, &room)| room.max(first(rank))).collect();
        self.set_rooms(rooms)?;
        self.strip_room = self.strip_room.max(first_splats(gaussians));
        Ok(())
    }

    fn set_rooms(&mut self, rooms: Vec<usize>) -> Result<(), BackendError> {
        let rooms = rooms.into_iter().enumerate();
        self.rooms = rooms
            .map(|(rank, room)| room.min(self.shards.rows(rank)))
            .collect();
        let ranks = 0..=self.rooms.len();
        let firsts: Vec<u32> = ranks.map(|rank| self.first_of(rank) as u32).collect();
        self.firsts.write(0, &firsts)
    }

    fn first_of(&self, rank: usize) -> usize {
        self.rooms[..rank].iter().sum()
    }

    /// Splats of the own rows that frames have room for.
    pub fn own_room(&self) -> usize {
        self.rooms[self.ranks().rank]
    }

    /// Compacted indices of a rank's splats where all come together.
    pub fn splats_of(&self, rank: usize) -> Range<usize> {
        self.first_of(rank)..self.first_of(rank + 1)
    }

    /// Splats of all ranks, with gaps, that a frame has room for.
    pub fn shared_room(&self) -> usize {
        self.first_of(self.rooms.len())
    }

    /// Rows of sums from one rank to another that there is room for.
    pub fn strip_room(&self) -> usize {
        self.strip_room
    }

    /// Which of two sets of buffers the frame of a round has that is rendered here. `index` is of
    /// one of the round's frames.
    pub fn set_of(&self, index: usize) -> usize {
        index / self.rooms.len() % 2
    }

    /// Makes room for what comes of a frame that has this set, besides what the passes have.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve_arrivals(&mut self, set: usize) -> Result<(), BackendError> {
        let bytes = 4 * self.shared_room();
        self.keys[set].reserve(bytes).map(drop)
    }

    /// Where numbers of splats and pairs of each rank, and depth keys, come.
    pub fn arrivals(&self, set: usize) -> [Address; 2] {
        [self.counts[set].address(), self.keys[set].address()]
    }

    /// What makes a frame of the splats that have come.
    pub fn gathered(&self, set: usize) -> Gathered {
        let [counts, keys] = self.arrivals(set);
        Gathered {
            ranks: self.rooms.len(),
            room: self.shared_room(),
            firsts: self.firsts.address(),
            counts,
            keys,
            // Splats of a state have the number of the Gaussian in it.
            blocks: OwnRows::all(0).blocks,
        }
    }

    /// Makes room for what each rank wanted, and for a quarter more.
    ///
    /// # Errors
    /// If the device failed.
    pub fn widen(&mut self) -> Result<(), BackendError> {
        let ranks = self.ranks().count;
        let mut wanted = vec![0u32; 2 * ranks];
        self.agreed.read(4 * ranks, &mut wanted)?;
        let wider = |room: usize, wanted: u32| match wanted as usize {
            wanted if wanted > room => wanted + wanted / 4,
            _ => room,
        };
        let (splats, rows) = wanted.split_at(ranks);
        let rooms = self.rooms.iter().zip(splats);
        let rooms = rooms.map(|(&room, &wanted)| wider(room, wanted)).collect();
        self.strip_room = rows
            .iter()
            .fold(self.strip_room, |room, &rows| wider(room, rows));
        self.set_rooms(rooms)
    }

    /// The own rows.
    pub fn own(&self) -> OwnRows {
        self.shards.of(self.ranks().rank)
    }

    /// The own rows of a frame.
    pub fn frame(&self, index: usize) -> &ShardSplats {
        &self.frames[index % self.frames.len()]
    }

    /// The same, to write.
    pub fn frame_mut(&mut self, index: usize) -> &mut ShardSplats {
        let place = index % self.frames.len();
        &mut self.frames[place]
    }
}
