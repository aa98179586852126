//! Moving rows of an array that ranks divide: each rank packs those that it has, the ranks exchange
//! them, and each places those that are its own afterwards.

use super::arrays::Rows;
use super::densifier::Densify;
use super::params::RowMoves;
use super::rows::Scratch;
use crate::device::error::failed;
use crate::ops::division::Division;
use crate::peers::{MAX_PIECES, Piece, exchange_others, piece};
use splatcore_core::BackendError;
use std::iter;
use std::ops::Range;

impl Densify {
    /// Moves rows of an array, at most so many. All ranks call it, and each waits for the device
    /// once. No row is a source after it was a target.
    pub(super) fn move_divided(
        &self,
        array: &Rows<'_>,
        division: &Division,
        (moves, most): (RowMoves, usize),
        scratch: &Scratch<'_>,
    ) -> Result<(), BackendError> {
        let number = |at: u64| match at {
            0 => Ok(0),
            at => self.number(at),
        };
        let wanted = most.min(number(moves.wanted)?);
        // Rows that are the targets, if they are neighbours.
        let base = match moves.targets {
            0 => Some(moves.base as usize + number(moves.behind)?),
            _ => None,
        };
        let (ranks, row_bytes) = (division.peers.ranks(), array.row_bytes);
        let shards = division.shards(base.unwrap_or(0) + wanted);
        // Of a rank's blocks, two pieces each.
        let blocks = MAX_PIECES / (4 * ranks.count);
        let room = scratch.bytes / (row_bytes * ranks.count);
        let scratch = &*scratch.buffer;
        let at_a_time = room.min(blocks.max(1) * ranks.count * shards.block_rows());
        let of = (&*array.buffer, row_bytes, division.own(0).blocks);
        for first in (0..wanted).step_by(at_a_time.max(1)) {
            let count = at_a_time.min(wanted - first);
            let piece_of_moves = (moves, first, count);
            self.move_piece(self.kernels.pack_rows, of, piece_of_moves, scratch)?;
            // The moves whose targets a rank has, among these.
            let placed_by = |rank: usize| -> Vec<Range<usize>> {
                let Some(base) = base else {
                    return iter::once(0..count).collect();
                };
                let start = base + first;
                let rows = shards.within(rank, start..start + count);
                rows.map(|rows| rows.start - start..rows.end - start)
                    .collect()
            };
            let packed_by = |rank: usize, moves: &Range<usize>| {
                let at = row_bytes * (rank * count + moves.start);
                (scratch.address() + at as u64, row_bytes * moves.len())
            };
            let own = placed_by(ranks.rank);
            let give = ranks.others().flat_map(|to| {
                let theirs = placed_by(to).into_iter();
                theirs.map(move |moves| piece(to, packed_by(ranks.rank, &moves)))
            });
            let take = ranks.others().flat_map(|from| {
                own.iter()
                    .map(move |moves| piece(from, packed_by(from, moves)))
            });
            let (give, take): (Vec<Piece>, Vec<Piece>) = (give.collect(), take.collect());
            // SAFETY: the pieces are of scratch, which is released behind the queue.
            unsafe { exchange_others(&*division.peers, &*self.device, give, take)? };
            self.move_piece(self.kernels.place_rows, of, piece_of_moves, scratch)?;
        }
        Ok(())
    }

    /// A u64 on the device, for which the host waits.
    fn number(&self, at: u64) -> Result<usize, BackendError> {
        let mut bytes = [0; 8];
        // SAFETY: it is one of a refinement's numbers.
        unsafe { self.device.download(&mut bytes, at) }.map_err(failed)?;
        Ok(u64::from_ne_bytes(bytes) as usize)
    }
}
