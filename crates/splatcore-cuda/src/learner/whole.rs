//! The rows of all ranks, fetched after steps in which each moved its own.

use super::CudaLearner;
use super::shared::Sharing;
use crate::device::{Buffer, Place};
use crate::ops::densify;
use crate::peers::{Piece, exchange};
use splatcore_core::BackendError;
use std::ops::Range;

/// Bytes of all ranks that are exchanged at a time, at most; and of the rows one of so many.
const STAGE: usize = 16 << 20;
const PARTS: usize = 8;

/// Rows of each of so many ranks, of the `most` that one has, that are exchanged at a time.
fn rows_at_a_time(bytes: usize, ranks: usize, most: usize) -> usize {
    (STAGE / (bytes * ranks)).clamp(1, most.div_ceil(PARTS).max(1))
}

/// Some rows of an array, of each rank so many from the `first` of its own on.
struct Rows<'a> {
    sharing: &'a Sharing,
    first: usize,
    rows: usize,
    /// Bytes of a row.
    bytes: usize,
}

impl Rows<'_> {
    /// Where a rank's are in the array, bytes.
    fn of(&self, rank: usize) -> Range<usize> {
        let own = self.sharing.shards.of(rank);
        let start = (own.start + self.first).min(own.end);
        let end = (start + self.rows).min(own.end);
        self.bytes * start..self.bytes * end
    }

    /// Where they are in a stage.
    fn staged(&self, rank: usize) -> usize {
        self.bytes * self.rows * rank
    }

    /// The pieces that are given and taken, if a rank's are at this address.
    fn pieces(&self, at: impl Fn(usize) -> u64) -> [Vec<Piece>; 2] {
        let ranks = self.sharing.ranks();
        let others = || (0..ranks.count).filter(|&rank| rank != ranks.rank);
        let piece = |other, of: usize| Piece {
            rank: other,
            address: at(of),
            bytes: self.of(of).len(),
        };
        let give = others().map(|other| piece(other, ranks.rank));
        [
            give.collect(),
            others().map(|other| piece(other, other)).collect(),
        ]
    }
}

impl CudaLearner {
    /// Gives the own rows of all arrays to the other ranks, and takes theirs. All ranks make the
    /// same exchanges, wherever their arrays lie; those in the host's memory go by way of a stage
    /// on the device, as what moves data between ranks moves that of devices.
    pub(super) fn exchange_rows(&mut self) -> Result<(), BackendError> {
        let stage = self.with_memory(Self::stage)?;
        let Some(sharing) = &self.sharing else {
            return Ok(());
        };
        let ranks = sharing.ranks();
        let statistics = [&self.state.gradient_sum, &self.state.seen];
        let statistics = statistics.map(|buffer| (buffer, size_of::<u32>()));
        let most = sharing.shards.of(0).len();
        for (buffer, bytes) in densify::arrays_of(&self.state).chain(statistics) {
            let rows = rows_at_a_time(bytes, ranks.count, most);
            for first in (0..most).step_by(rows) {
                let rows = Rows {
                    sharing,
                    first,
                    rows,
                    bytes,
                };
                let stage = stage.as_ref().filter(|_| buffer.place() == Place::Host);
                let [give, take] = match stage {
                    None => rows.pieces(|rank| buffer.address() + rows.of(rank).start as u64),
                    Some(stage) => rows.pieces(|rank| stage.address() + rows.staged(rank) as u64),
                };
                if let Some(stage) = stage {
                    let own = buffer.slice(rows.of(ranks.rank))?;
                    stage.write(rows.staged(ranks.rank), &own)?;
                }
                // SAFETY: the pieces are of this learner's arrays, or of the stage, and both stay.
                unsafe { exchange(&*sharing.peers, self.passes.queue(), &give, &take)? };
                for rank in (0..ranks.count).filter(|&rank| rank != ranks.rank) {
                    if let Some(stage) = stage {
                        let at = rows.staged(rank);
                        let theirs = stage.slice(at..at + rows.of(rank).len())?;
                        buffer.write(rows.of(rank).start, &theirs)?;
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
        let (ranks, most) = (sharing.ranks().count, sharing.shards.of(0).len());
        let in_host = densify::arrays_of(&self.state).filter(|(at, _)| at.place() == Place::Host);
        let bytes = in_host.map(|(_, row)| row * ranks * rows_at_a_time(row, ranks, most));
        let device = &self.passes.queue().device;
        let stage = |bytes| Buffer::new(device, "rows of the ranks", bytes);
        bytes.max().map(stage).transpose()
    }
}
