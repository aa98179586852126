//! A state whose larger arrays are divided over ranks: each rank has the rows of its own Gaussians
//! of what can leave the device ([`super::offload`]: moments and harmonics), one behind the other.
//! Means, scales, rotations, opacities and statistics, 52 bytes a Gaussian, stay whole on every
//! rank, as every refinement decides by them.

use super::offload;
use super::row_blocks::OwnRows;
use super::shards::Shards;
use crate::device::{Buffer, Device};
use crate::peers::{Peers, share_parts};
use splatcore_core::BackendError;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of all ranks' rows that are collected at a time, at most; and of the rows one of so many.
pub const STAGE: usize = 16 << 20;
/// See [`STAGE`].
pub const PARTS: usize = 8;

/// Over which ranks, and by which blocks. The same from the time when the state was divided on,
/// however many Gaussians there are later.
#[derive(Clone)]
pub struct Division {
    /// The ranks.
    pub peers: Arc<dyn Peers>,
    /// Rows of a block.
    block: usize,
}

impl Division {
    /// For a state of so many Gaussians.
    pub fn new(peers: Arc<dyn Peers>, gaussians: usize) -> Self {
        let block = Shards::new(gaussians, peers.ranks().count).block_rows();
        Self { peers, block }
    }

    /// How the ranks divide a state of so many Gaussians that is to be uploaded, with rows of these
    /// bytes, where so many bytes are free (`None`: nothing may leave the device): not at all if it
    /// fits all of them. All ranks ask, each with a buffer as [`any`] wants it.
    ///
    /// # Errors
    /// If another rank does not answer, or the device failed.
    pub fn if_short(
        (peers, said): (&Arc<dyn Peers>, &Buffer),
        gaussians: usize,
        (rows, free): ([[usize; 3]; 5], Option<u64>),
    ) -> Result<Option<Self>, BackendError> {
        let all = (gaussians, gaussians);
        let is_short = free.is_some_and(|free| offload::leaving(rows, all, free) > 0);
        let divides = any(&**peers, said, is_short)?;
        Ok(divides.then(|| Self::new(Arc::clone(peers), gaussians)))
    }

    /// Who has which of so many Gaussians.
    pub fn shards(&self, gaussians: usize) -> Shards {
        Shards::divided(gaussians, self.peers.ranks().count, self.block)
    }

    /// This rank's rows of so many Gaussians.
    pub fn own(&self, gaussians: usize) -> OwnRows {
        self.shards(gaussians).of(self.peers.ranks().rank)
    }

    /// The rows of this rank of an array of so many Gaussians.
    pub fn own_of<T: Copy>(&self, rows: &[T], gaussians: usize) -> Vec<T> {
        let width = rows.len() / gaussians.max(1);
        let shards = self.shards(gaussians);
        let own = shards.within(self.peers.ranks().rank, 0..gaussians);
        own.flat_map(|part| &rows[width * part.start..width * part.end])
            .copied()
            .collect()
    }
}

/// Whether one of the ranks says yes; all of them ask. `buffer` has room for a u32 of each.
///
/// # Errors
/// If another rank does not answer, or the device failed.
pub fn any(peers: &dyn Peers, buffer: &Buffer, says_yes: bool) -> Result<bool, BackendError> {
    let ranks = peers.ranks();
    let mut said = vec![0u32; ranks.count];
    said[ranks.rank] = says_yes.into();
    buffer.write(0, &said)?;
    let of = |rank: usize| (buffer.address() + 4 * rank as u64, 4);
    // SAFETY: the parts are of the buffer, which stays until it was read.
    unsafe { share_parts(peers, &**buffer.device(), of)? };
    buffer.read(0, &mut said)?;
    Ok(said.iter().any(|&said| said != 0))
}

/// Brings the rows of all ranks together, some blocks of each at a time.
pub struct Collector {
    peers: Arc<dyn Peers>,
    shards: Shards,
    stage: Buffer,
}

impl Collector {
    /// For arrays of so many Gaussians whose rows have `row_bytes` at most.
    ///
    /// # Errors
    /// If memory is short.
    pub fn new(
        division: &Division,
        device: &Arc<dyn Device>,
        gaussians: usize,
        row_bytes: usize,
    ) -> Result<Self, BackendError> {
        let (shards, ranks) = (division.shards(gaussians), division.peers.ranks().count);
        let turn = row_bytes * shards.block_rows() * ranks;
        let most = shards.blocks(0).div_ceil(PARTS).max(1);
        let bytes = turn * (STAGE / turn).clamp(1, most);
        Ok(Self {
            peers: Arc::clone(&division.peers),
            shards,
            stage: Buffer::new(device, "rows of the ranks", bytes)?,
        })
    }

    /// Calls `put` for all rows of an array, which is divided: with neighbours, and the byte of the
    /// given buffer at which they are; of rows without bytes for none. All ranks call it.
    ///
    /// # Errors
    /// If another rank does not answer, or the device failed.
    pub fn rows(
        &self,
        array: &Buffer,
        row_bytes: usize,
        mut put: impl FnMut(Range<usize>, &Buffer, usize) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        if row_bytes == 0 {
            return Ok(());
        }
        let (peers, shards) = (&*self.peers, &self.shards);
        let ranks = peers.ranks();
        let block = shards.block_rows();
        let most = shards.blocks(0);
        let turn = row_bytes * block * ranks.count;
        let count = (self.stage.bytes() / turn).clamp(1, most.max(1));
        let part = |rank: usize| row_bytes * block * count * rank;
        for first in (0..most).step_by(count) {
            let rows_of = |rank: usize| {
                let rows = shards.rows(rank);
                (block * first).min(rows)..(block * (first + count)).min(rows)
            };
            let own = rows_of(ranks.rank);
            let (from, bytes) = (row_bytes * own.start, row_bytes * own.len());
            self.stage.copy_part(part(ranks.rank), array, from, bytes)?;
            let of = |rank: usize| {
                let at = self.stage.address() + part(rank) as u64;
                (at, row_bytes * rows_of(rank).len())
            };
            // SAFETY: the parts are of the stage, which stays; what reads it comes behind.
            unsafe { share_parts(peers, &**array.device(), of)? };
            for rank in 0..ranks.count {
                for number in 0..count {
                    let rows = shards.block(rank, first + number);
                    let at = part(rank) + row_bytes * block * number;
                    if !rows.is_empty() {
                        put(rows, &self.stage, at)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::loopback::Loopback;
    use crate::tests::support::device::device;
    use std::thread;
    use std::time::Duration;

    /// More rows than a stage holds, of fewer bytes than it was made for: of each rank the last
    /// block is a part of one, or there is none.
    #[test]
    fn rows_of_all_ranks_come_together() {
        const GAUSSIANS: usize = 1_000_001;
        let value = |row: usize| (row % 65_521) as u16;
        let peers = Loopback::new(2, Duration::from_secs(60));
        let ranks = peers.into_iter().map(|peers| {
            thread::spawn(move || {
                let device = device()?;
                let division = Division::new(Arc::new(peers), GAUSSIANS);
                let all: Vec<u16> = (0..GAUSSIANS).map(value).collect();
                let own = division.own_of(&all, GAUSSIANS);
                let array = Buffer::from_slice(&device, "rows", &own).unwrap();
                let collector = Collector::new(&division, &device, GAUSSIANS, 192).unwrap();
                let mut found = vec![0u16; GAUSSIANS];
                let put = |rows: Range<usize>, stage: &Buffer, at| stage.read(at, &mut found[rows]);
                collector.rows(&array, size_of::<u16>(), put).unwrap();
                Some(found == all)
            })
        });
        let ranks: Vec<_> = ranks.collect();
        for rank in ranks {
            assert!(rank.join().unwrap().unwrap_or(true));
        }
    }
}
