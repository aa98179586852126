//! Moving whole rows: appending, overwriting, clearing, compacting. One array at a time, so that
//! little memory is needed beside the state.

use super::arrays::arrays;
use super::densifier::Densify;
use super::params::{ClearRowsParams, CopyRowsParams, GatherRowsParams, PutRowsParams};
use super::pool::Lent;
use super::totals::{self, Numbers};
use crate::device::Buffer;
use crate::ops::state::State;
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
    ) -> Result<(), BackendError> {
        if most == 0 {
            return Ok(());
        }
        let (sources, no_targets, base) = (list.address(), 0u64, base as u32);
        for array in arrays(state).filter(|array| !array.moments) {
            let (address, row_bytes) = (array.buffer.address(), array.row_bytes as u32);
            self.tiles(
                self.kernels.copy_rows,
                most,
                &CopyRowsParams {
                    array: address,
                    row_bytes,
                    sources,
                    times,
                    targets: no_targets,
                    base,
                    behind,
                    wanted,
                },
            )?;
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
        for array in arrays(state).filter(|array| array.moments) {
            self.clear(array.buffer, array.row_bytes, base, wanted, most)?;
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
        wanted: u64,
        n: usize,
    ) -> Result<(), BackendError> {
        let (from, to, times) = (sources.address(), targets.address(), 1u32);
        let (no_base, nothing) = (0u32, 0u64);
        for array in arrays(state).filter(|array| !array.moments) {
            let (address, row_bytes) = (array.buffer.address(), array.row_bytes as u32);
            self.tiles(
                self.kernels.copy_rows,
                n,
                &CopyRowsParams {
                    array: address,
                    row_bytes,
                    sources: from,
                    times,
                    targets: to,
                    base: no_base,
                    behind: nothing,
                    wanted,
                },
            )?;
        }
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
                },
            )?;
        }
        Ok(())
    }

    /// Sets rows from `base` on to zero, as many as the u64 at `wanted` says, at most `most`.
    pub(super) fn clear(
        &self,
        array: &Buffer,
        row_bytes: usize,
        base: usize,
        wanted: u64,
        most: usize,
    ) -> Result<(), BackendError> {
        debug_assert!((base + most) * row_bytes <= array.bytes());
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
            self.clear(
                statistic,
                size_of::<u32>(),
                0,
                numbers.at(totals::AFTER),
                state.count,
            )?;
        }
        Ok(())
    }

    /// Room to compact `rows` Gaussians through.
    pub(super) fn scratch(&self, rows: usize) -> Result<Lent<'_>, BackendError> {
        let bytes = (SCRATCH_A_ROW * rows).clamp(SCRATCH_AT_LEAST, SCRATCH_AT_MOST);
        self.pool.take("scratch of a refinement", bytes)
    }

    /// In place: rows only move towards the start, so a piece whose rows are gathered into scratch
    /// can be written back before the next piece is read.
    pub(super) fn compact(
        &self,
        state: &mut State,
        compacted: &Compacted<'_>,
        scratch: &Buffer,
    ) -> Result<(), BackendError> {
        for array in arrays(state) {
            self.compact_array(array.buffer, array.row_bytes, compacted, scratch)?;
        }
        Ok(())
    }

    /// As [`Densify::compact`], for the statistics.
    pub(super) fn compact_statistics(
        &self,
        state: &State,
        compacted: &Compacted<'_>,
        scratch: &Buffer,
    ) -> Result<(), BackendError> {
        for statistic in [&state.gradient_sum, &state.seen] {
            self.compact_array(statistic, size_of::<u32>(), compacted, scratch)?;
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
        let &Compacted {
            kept,
            listed,
            rest,
            rows,
            most,
        } = compacted;
        let (list, rest, through) = (kept.address(), rest as u32, scratch.address());
        let (address, bytes) = (array.address(), row_bytes as u32);
        let piece = scratch.bytes() / row_bytes;
        for start in (0..most).step_by(piece) {
            let here = piece.min(most - start);
            let (first, count) = (start as u32, here as u32);
            self.tiles(
                self.kernels.gather_rows,
                here,
                &GatherRowsParams {
                    array: address,
                    scratch: through,
                    row_bytes: bytes,
                    kept: list,
                    listed,
                    rest,
                    first,
                    most: count,
                    rows,
                },
            )?;
            self.tiles(
                self.kernels.put_rows,
                here,
                &PutRowsParams {
                    array: address,
                    scratch: through,
                    row_bytes: bytes,
                    first,
                    most: count,
                    rows,
                },
            )?;
        }
        Ok(())
    }
}
