//! Ranks that take steps together: processes with a card each, or threads. Here: what they do for
//! each other. `nccl` moves data between cards, `loopback` between the threads of a process; which
//! rank has which Gaussians is in `shards`.

pub mod loopback;
pub mod nccl;
mod shards;

pub use shards::Shards;

use crate::device::error::failed;
use crate::device::queue::Queue;
use crate::device::{Address, Device, DeviceError};
use splatcore_core::BackendError;
use splatcore_core::backend::Ranks;

/// Bytes in the device's memory that go to a rank, or come from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The other rank; a rank may give to itself.
    pub rank: usize,
    /// Where they are.
    pub address: Address,
    /// How many.
    pub bytes: usize,
}

/// A piece for a rank, or from it: address and bytes.
pub(crate) fn piece(rank: usize, (address, bytes): (Address, usize)) -> Piece {
    Piece {
        rank,
        address,
        bytes,
    }
}

/// The other ranks.
pub trait Peers: Send + Sync {
    /// Which rank this is, and how many there are.
    fn ranks(&self) -> Ranks;
    /// Puts an exchange into the device's queue. What a rank gives to another in all exchanges and
    /// what that one takes from it are as many pieces of the same sizes, in the same order. Ranks
    /// that give each other nothing need not make the same exchanges.
    ///
    /// # Safety
    /// The pieces are the device's own, none that is taken overlaps another, and they stay until
    /// the queue has passed.
    ///
    /// # Errors
    /// If another rank does not answer, or the device failed.
    unsafe fn exchange(
        &self,
        device: &dyn Device,
        give: &[Piece],
        take: &[Piece],
    ) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise, here and below.
        let [give, take] = unsafe { copy_own(device, self.ranks().rank, give, take)? };
        match give.is_empty() && take.is_empty() {
            true => Ok(()),
            false => unsafe { self.transfer(device, &give, &take) },
        }
    }
    /// As [`Peers::exchange`], of pieces that are not empty, between this rank and others.
    ///
    /// # Safety
    /// As there.
    ///
    /// # Errors
    /// As there.
    unsafe fn transfer(
        &self,
        device: &dyn Device,
        give: &[Piece],
        take: &[Piece],
    ) -> Result<(), DeviceError>;
}

/// Puts an exchange into a queue, and a mark behind it.
///
/// # Safety
/// As [`Peers::exchange`].
///
/// # Errors
/// As there.
pub(crate) unsafe fn exchange(
    peers: &dyn Peers,
    queue: &Queue,
    give: &[Piece],
    take: &[Piece],
) -> Result<(), BackendError> {
    // SAFETY: the caller's promise.
    unsafe { peers.exchange(&*queue.device, give, take) }.map_err(failed)?;
    queue.mark("exchange")
}

/// Copies what a rank gives to itself, and returns the pieces for others.
///
/// # Safety
/// As [`Peers::exchange`].
unsafe fn copy_own(
    device: &dyn Device,
    rank: usize,
    give: &[Piece],
    take: &[Piece],
) -> Result<[Vec<Piece>; 2], DeviceError> {
    let own = |pieces: &[Piece]| -> (Vec<Piece>, Vec<Piece>) {
        let sound = pieces.iter().copied().filter(|piece| piece.bytes > 0);
        sound.partition(|piece| piece.rank == rank)
    };
    let ((from, give), (to, take)) = (own(give), own(take));
    for (from, to) in from.iter().zip(&to) {
        // SAFETY: the caller's promise.
        unsafe { device.copy(to.address, from.address, from.bytes.min(to.bytes))? };
    }
    Ok([give, take])
}
