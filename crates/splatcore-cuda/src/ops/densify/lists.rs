//! Lists of the Gaussians with some action, in order: counted, then written, so that the host can
//! make room between the two.

use super::densifier::{Densify, Work};
use super::kernels::THREADS;
use super::params::{ListCountParams, ListWriteParams, ScanSumsParams};
use super::pool::Lent;
use crate::device::Buffer;
use splatcore_core::BackendError;

impl Densify {
    /// A sum a block for [`Densify::scan`].
    pub(super) fn sums(&self, n: usize) -> Result<Lent<'_>, BackendError> {
        let bytes = n.div_ceil(THREADS) * size_of::<u64>();
        self.pool.take("sums of a refinement", bytes)
    }

    /// Turns the blocks' sums into the sums before each block; the total goes to `total`.
    pub(super) fn scan(&self, sums: &Buffer, n: usize, total: u64) -> Result<(), BackendError> {
        let (address, count) = (sums.address(), n.div_ceil(THREADS) as u32);
        self.one(
            self.kernels.scan_sums,
            THREADS,
            &ScanSumsParams {
                sums: address,
                count,
                total,
            },
        )
    }

    /// First half of a list of the Gaussians with one of `bits`: how many there are goes to
    /// `total`.
    pub(super) fn count(
        &self,
        work: &Work<'_>,
        bits: u32,
        n: usize,
        total: usize,
    ) -> Result<Lent<'_>, BackendError> {
        let sums = self.sums(n)?;
        let (actions, count, address) = (work.actions.address(), n as u32, sums.address());
        self.each(
            self.kernels.list_count,
            n,
            &ListCountParams {
                actions,
                bits,
                n: count,
                sums: address,
            },
        )?;
        self.scan(&sums, n, work.numbers.at(total))?;
        Ok(sums)
    }

    /// Second half: writes their indices in order, u32, to `list`, which has room for as many as
    /// the total of that name, unless that is 0.
    pub(super) fn list(
        &self,
        work: &Work<'_>,
        (bits, total): (u32, usize),
        n: usize,
        sums: &Buffer,
        list: &Buffer,
    ) -> Result<(), BackendError> {
        let (actions, count, sums, list) = (
            work.actions.address(),
            n as u32,
            sums.address(),
            list.address(),
        );
        let wanted = work.numbers.at(total);
        self.each(
            self.kernels.list_write,
            n,
            &ListWriteParams {
                actions,
                bits,
                n: count,
                sums,
                wanted,
                list,
            },
        )
    }

    /// Room for a list of Gaussians.
    pub(super) fn indices(&self, count: usize) -> Result<Lent<'_>, BackendError> {
        self.pool
            .take("lists of a refinement", count * size_of::<u32>())
    }
}
