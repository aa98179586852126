//! Moving whole rows: appending, overwriting, clearing, compacting. One array at a time, so that
//! little memory is needed beside the state. What ranks divide moves as `divided` says.

use super::arrays::arrays;
use super::densifier::Densify;
use super::params::{ClearRowsParams, CopyRowsParams, MovePieceParams, RowMoves};
use super::pool::Lent;
use super::totals::{self, Numbers};
use crate::device::{Buffer, Kernel};
use crate::ops::row_blocks::{OwnRows, RowBlocks};
use crate::ops::state::State;
use bytemuck::Zeroable;
use splatcore_core::BackendError;

/// Bytes of compaction scratch a Gaussian, and in all at most and at least.
const SCRATCH_A_ROW: usize = 32;
const SCRATCH_AT_MOST: usize = 32 << 20;
const SCRATCH_AT_LEAST: usize = 64 << 10;

/// What becomes of arrays from which rows go: the rows in `kept` stay, in order, and behind them
/// all from row `rest` on.
pub(super) struct Compacted<'a> {
    pub kept: &'a Buffer,
    /// Where the device has the length of that list, u64.
    pub listed: u64,
    pub rest: usize,
    /// Where it has the number of rows in all, u64; 0 if nothing moves.
    pub rows: u64,
    /// At most so many.
    pub most: usize,
}

/// Room to move rows through.
pub(super) struct Scratch<'a> {
    pub buffer: Lent<'a>,
    /// Bytes of it that all ranks have.
    pub bytes: usize,
}

impl Compacted<'_> {
    fn moves(&self) -> RowMoves {
        RowMoves {
            sources: self.kept.address(),
            times: 1,
            rest: self.rest as u32,
            listed: self.listed,
            wanted: self.rows,
            ..RowMoves::zeroed()
        }
    }
}

impl Densify {
    /// Appends rows, `times` after each other of each row in the list of Gaussians, from `base` and
    /// the u64 at `behind` (0: nothing) on; as many as the u64 at `wanted` says, at most `most`,
    /// for which there is room. Their moments are left to [`Densify::clear_new_moments`].
    pub(super) fn append(
        &self,
        state: &mut State,
        (list, times): (&Buffer, u32),
        (base, behind): (usize, u64),
        (wanted, most): (u64, usize),
        scratch: Option<&Scratch<'_>>,
    ) -> Result<(), BackendError> {
        let moves = RowMoves {
            sources: list.address(),
            times,
            base: base as u32,
            behind,
            wanted,
            ..RowMoves::zeroed()
        };
        self.copy_parameters(state, moves, most, scratch)
    }

    /// Copies rows of all arrays but moments. `scratch`: for those that ranks divide, if some are.
    fn copy_parameters(
        &self,
        state: &mut State,
        moves: RowMoves,
        most: usize,
        scratch: Option<&Scratch<'_>>,
    ) -> Result<(), BackendError> {
        if most == 0 {
            return Ok(());
        }
        let division = state.division.clone();
        for array in arrays(state).filter(|array| !array.moments) {
            match (division.as_ref().filter(|_| array.divided), scratch) {
                (Some(division), Some(scratch)) => {
                    self.move_divided(&array, division, (moves, most), scratch)?;
                }
                _ => self.tiles(
                    self.kernels.copy_rows,
                    most,
                    &CopyRowsParams {
                        array: array.buffer.address(),
                        row_bytes: array.row_bytes as u32,
                        moves,
                    },
                )?,
            }
        }
        Ok(())
    }

    /// Clears the moments of rows from `base` on, as many as the u64 at `wanted` says, at most
    /// `most`.
    pub(super) fn clear_new_moments(
        &self,
        state: &mut State,
        base: usize,
        wanted: u64,
        most: usize,
    ) -> Result<(), BackendError> {
        if most == 0 {
            return Ok(());
        }
        let blocks = [false, true].map(|divided| state.blocks(divided));
        for array in arrays(state).filter(|array| array.moments) {
            let blocks = blocks[usize::from(array.divided)];
            self.clear(
                (array.buffer, array.row_bytes),
                blocks,
                base,
                (wanted, most),
            )?;
        }
        Ok(())
    }

    /// Overwrites the rows in `targets` by those in `sources`, as many as the u64 at `wanted` says,
    /// at most `n`, with moments zero. No target is a source.
    pub(super) fn overwrite(
        &self,
        state: &mut State,
        sources: &Buffer,
        targets: &Buffer,
        (wanted, n): (u64, usize),
        scratch: Option<&Scratch<'_>>,
    ) -> Result<(), BackendError> {
        let moves = RowMoves {
            sources: sources.address(),
            times: 1,
            targets: targets.address(),
            wanted,
            ..RowMoves::zeroed()
        };
        self.copy_parameters(state, moves, n, scratch)?;
        self.clear_moments(state, targets, wanted, n)
    }

    /// Clears the moments of the listed Gaussians, as many as the u64 at `wanted` says, at most
    /// `most`.
    pub(super) fn clear_moments(
        &self,
        state: &mut State,
        list: &Buffer,
        wanted: u64,
        most: usize,
    ) -> Result<(), BackendError> {
        let (list, no_base) = (list.address(), 0u32);
        let blocks = [false, true].map(|divided| state.blocks(divided));
        for array in arrays(state).filter(|array| array.moments) {
            let (address, row_bytes) = (array.buffer.address(), array.row_bytes as u32);
            self.tiles(
                self.kernels.clear_rows,
                most,
                &ClearRowsParams {
                    array: address,
                    row_bytes,
                    list,
                    base: no_base,
                    wanted,
                    blocks: blocks[usize::from(array.divided)],
                },
            )?;
        }
        Ok(())
    }

    /// Sets rows of an array from `base` on to zero, as many as the u64 at `wanted` says, at most
    /// `most`, as far as it has them.
    pub(super) fn clear(
        &self,
        (array, row_bytes): (&Buffer, usize),
        blocks: RowBlocks,
        base: usize,
        (wanted, most): (u64, usize),
    ) -> Result<(), BackendError> {
        debug_assert!(blocks.ranks() > 1 || (base + most) * row_bytes <= array.bytes());
        let (address, row_bytes, no_list, base) =
            (array.address(), row_bytes as u32, 0u64, base as u32);
        self.tiles(
            self.kernels.clear_rows,
            most,
            &ClearRowsParams {
                array: address,
                row_bytes,
                list: no_list,
                base,
                wanted,
                blocks,
            },
        )
    }

    /// Behind the end of a refinement, which says how many Gaussians there are.
    pub(super) fn clear_statistics(
        &self,
        state: &State,
        numbers: Numbers,
    ) -> Result<(), BackendError> {
        for statistic in [&state.gradient_sum, &state.seen] {
            let all = (numbers.at(totals::AFTER), state.count);
            self.clear((statistic, size_of::<u32>()), state.blocks(false), 0, all)?;
        }
        Ok(())
    }

    /// Room to move rows through that ranks divide, if they do.
    pub(super) fn scratch_of_divided(
        &self,
        state: &State,
        rows: usize,
    ) -> Result<Option<Scratch<'_>>, BackendError> {
        let divided = state.division.is_some();
        divided.then(|| self.scratch(rows)).transpose()
    }

    /// Room to compact `rows` Gaussians through.
    pub(super) fn scratch(&self, rows: usize) -> Result<Scratch<'_>, BackendError> {
        let bytes = (SCRATCH_A_ROW * rows).clamp(SCRATCH_AT_LEAST, SCRATCH_AT_MOST);
        let buffer = self.pool.take("scratch of a refinement", bytes)?;
        Ok(Scratch { buffer, bytes })
    }

    /// In place: rows only move towards the start, so a piece whose rows are gathered into scratch
    /// can be written back before the next piece is read.
    pub(super) fn compact(
        &self,
        state: &mut State,
        compacted: &Compacted<'_>,
        scratch: &Scratch<'_>,
    ) -> Result<(), BackendError> {
        let division = state.division.clone();
        for array in arrays(state) {
            match division.as_ref().filter(|_| array.divided) {
                Some(division) => {
                    let moves = (compacted.moves(), compacted.most);
                    self.move_divided(&array, division, moves, scratch)?;
                }
                None => {
                    let through = &scratch.buffer;
                    self.compact_array(array.buffer, array.row_bytes, compacted, through)?;
                }
            }
        }
        Ok(())
    }

    /// As [`Densify::compact`], for the statistics.
    pub(super) fn compact_statistics(
        &self,
        state: &State,
        compacted: &Compacted<'_>,
        scratch: &Scratch<'_>,
    ) -> Result<(), BackendError> {
        for statistic in [&state.gradient_sum, &state.seen] {
            self.compact_array(statistic, size_of::<u32>(), compacted, &scratch.buffer)?;
        }
        Ok(())
    }

    fn compact_array(
        &self,
        array: &Buffer,
        row_bytes: usize,
        compacted: &Compacted<'_>,
        scratch: &Buffer,
    ) -> Result<(), BackendError> {
        let (moves, blocks) = (compacted.moves(), OwnRows::all(0).blocks);
        let at_a_time = scratch.bytes() / row_bytes;
        for first in (0..compacted.most).step_by(at_a_time) {
            let count = at_a_time.min(compacted.most - first);
            let (of, piece) = ((array, row_bytes, blocks), (moves, first, count));
            self.move_piece(self.kernels.pack_rows, of, piece, scratch)?;
            self.move_piece(self.kernels.place_rows, of, piece, scratch)?;
        }
        Ok(())
    }

    /// Launches `pack_rows`, which copies the rows that moves `first` and on take to scratch, so
    /// many moves with a place each behind those of the ranks before this one; or `place_rows`,
    /// which copies what is packed, of all ranks, to where the moves put it.
    pub(super) fn move_piece(
        &self,
        kernel: Kernel,
        (array, row_bytes, blocks): (&Buffer, usize, RowBlocks),
        (moves, first, count): (RowMoves, usize, usize),
        scratch: &Buffer,
    ) -> Result<(), BackendError> {
        self.tiles(
            kernel,
            count,
            &MovePieceParams {
                array: array.address(),
                packed: scratch.address(),
                row_bytes: row_bytes as u32,
                moves,
                first: first as u32,
                count: count as u32,
                blocks,
            },
        )
    }
}
