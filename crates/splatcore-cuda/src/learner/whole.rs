//! The rows of all ranks, fetched after steps in which each moved its own.

use super::CudaLearner;
use super::shared::Sharing;
use crate::device::{Buffer, Place};
use crate::ops::densify;
use crate::ops::division::{PARTS, STAGE};
use crate::peers::{MAX_PIECES, Piece, exchange, piece};
use splatcore_core::BackendError;
use std::ops::Range;

/// Blocks of each of so many ranks, of the `most` that one has, that are exchanged at a time; of a
/// block of so many bytes.
fn blocks_at_a_time(bytes: usize, ranks: usize, most: usize) -> usize {
    let others = (ranks - 1).max(1);
    let most = most.div_ceil(PARTS).min(MAX_PIECES / (2 * others));
    (STAGE / (bytes * ranks)).clamp(1, most.max(1))
}

/// Some blocks of an array, of each rank so many from the `first` of its own on.
struct Blocks<'a> {
    sharing: &'a Sharing,
    first: usize,
    count: usize,
    /// Bytes of a row.
    bytes: usize,
}

impl Blocks<'_> {
    /// Where a rank's are in the array, bytes, and where they are in a stage.
    fn of(&self, rank: usize) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
        let shards = &self.sharing.shards;
        let bytes = self.bytes * shards.block_rows();
        (0..self.count).map(move |number| {
            let rows = shards.block(rank, self.first + number);
            let staged = bytes * (self.count * rank + number);
            (self.bytes * rows.start..self.bytes * rows.end, staged)
        })
    }

    /// The pieces that are given and taken, if a block is at this address.
    fn pieces(&self, at: impl Fn((usize, usize)) -> u64) -> [Vec<Piece>; 2] {
        let ranks = self.sharing.ranks();
        let mut pieces = [Vec::new(), Vec::new()];
        for other in ranks.others() {
            for (to, from) in pieces.iter_mut().zip([ranks.rank, other]) {
                let of = self.of(from);
                to.extend(of.map(|(at_rows, staged)| {
                    piece(other, (at((at_rows.start, staged)), at_rows.len()))
                }));
            }
        }
        pieces
    }
}

impl CudaLearner {
    /// Gives the own rows of all arrays that are not divided to the other ranks, and takes theirs.
    /// All ranks make the same exchanges, wherever their arrays lie; those in the host's memory go
    /// by way of a stage on the device, as what moves data between ranks moves that of devices.
    pub(super) fn exchange_rows(&mut self) -> Result<(), BackendError> {
        let stage = self.with_memory(Self::stage)?;
        let Some(sharing) = &self.sharing else {
            return Ok(());
        };
        let ranks = sharing.ranks();
        let statistics = [&self.state.gradient_sum, &self.state.seen];
        let statistics = statistics.map(|buffer| (buffer, size_of::<u32>()));
        let most = sharing.shards.blocks(0);
        for (buffer, bytes) in densify::whole_arrays(&self.state).chain(statistics) {
            let count = blocks_at_a_time(bytes * sharing.shards.block_rows(), ranks.count, most);
            for first in (0..most).step_by(count) {
                let blocks = Blocks {
                    sharing,
                    first,
                    count,
                    bytes,
                };
                let stage = stage.as_ref().filter(|_| buffer.place() == Place::Host);
                let [give, take] = blocks.pieces(|(start, staged)| match stage {
                    None => buffer.address() + start as u64,
                    Some(stage) => stage.address() + staged as u64,
                });
                if let Some(stage) = stage {
                    for (rows, staged) in blocks.of(ranks.rank) {
                        stage.write(staged, &buffer.slice(rows)?)?;
                    }
                }
                // SAFETY: the pieces are of this learner's arrays, or of the stage, and both stay.
                unsafe { exchange(&*sharing.peers, self.passes.queue(), &give, &take)? };
                let Some(stage) = stage else {
                    continue;
                };
                for rank in ranks.others() {
                    for (rows, staged) in blocks.of(rank) {
                        let theirs = stage.slice(staged..staged + rows.len())?;
                        buffer.write(rows.start, &theirs)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Room on the device for what is exchanged at a time, if an array lies in the host's memory.
    fn stage(&mut self) -> Result<Option<Buffer>, BackendError> {
        let Some(sharing) = &self.sharing else {
            return Ok(None);
        };
        let (ranks, most) = (sharing.ranks().count, sharing.shards.blocks(0));
        let block = sharing.shards.block_rows();
        let in_host =
            densify::whole_arrays(&self.state).filter(|(at, _)| at.place() == Place::Host);
        let bytes = in_host.map(|(_, row)| row * block);
        let bytes = bytes.map(|bytes| bytes * ranks * blocks_at_a_time(bytes, ranks, most));
        let device = &self.passes.queue().device;
        let stage = |bytes| Buffer::new(device, "rows of the ranks", bytes);
        bytes.max().map(stage).transpose()
    }
}
