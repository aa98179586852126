//! Ranks that take steps together: processes with a card each, or threads. Here: what they do for
//! each other. `nccl` moves data between cards, `loopback` between the threads of a process; which
//! rank has which Gaussians is in `ops/shards.rs`.

pub(crate) mod counted;
pub mod loopback;
pub mod nccl;

use crate::device::error::failed;
use crate::device::queue::Queue;
use crate::device::{Address, Device, DeviceError};
use splatcore_core::BackendError;
use splatcore_core::backend::Ranks;

/// Pieces that are given and taken at a time, at most: NCCL's groups are limited to 2,048.
pub(crate) const MAX_PIECES: usize = 1024;

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

/// An exchange that was begun, and is to be ended.
#[derive(Debug)]
#[must_use]
pub struct Begun(pub(super) usize);

/// The other ranks. Exchanges go in a queue of their own, one after the other; what a rank gives to
/// another in all exchanges and what that one takes from it are as many pieces of the same sizes,
/// in the same order. Ranks that give each other nothing need not make the same exchanges.
pub trait Peers: Send + Sync {
    /// Which rank this is, and how many there are.
    fn ranks(&self) -> Ranks;
    /// Begins an exchange of pieces that are not empty, between this rank and others, behind what
    /// is in the device's queue now.
    ///
    /// # Safety
    /// The pieces are the device's own, and none that is taken overlaps another. Until
    /// [`Peers::end`] what comes into the device's queue writes to none of them and reads none that
    /// is taken; they stay until the queue has passed that.
    ///
    /// # Errors
    /// If another rank does not answer, or the device failed.
    unsafe fn begin(
        &self,
        device: &dyn Device,
        give: Vec<Piece>,
        take: Vec<Piece>,
    ) -> Result<Begun, DeviceError>;
    /// Lets the device's queue wait until the exchange is done.
    ///
    /// # Errors
    /// As [`Peers::begin`].
    fn end(&self, device: &dyn Device, begun: Begun) -> Result<(), DeviceError>;
    /// Whether an exchange is under way that was at an earlier call too: what is true for long of
    /// all ranks will never end. Any thread may ask.
    ///
    /// # Errors
    /// If an exchange that was begun has failed since: it never ends.
    fn is_behind(&self) -> Result<bool, DeviceError> {
        Ok(false)
    }
    /// Ends what is under way without its result, and refuses all that follows. Any thread may ask
    /// for it.
    fn give_up(&self) {}
}

/// Begins an exchange whose pieces may be empty or go from this rank to itself. `None` if no other
/// rank takes part.
///
/// # Safety
/// As [`Peers::begin`].
///
/// # Errors
/// As there.
pub(crate) unsafe fn begin(
    peers: &dyn Peers,
    queue: &Queue,
    give: &[Piece],
    take: &[Piece],
) -> Result<Option<Begun>, BackendError> {
    let device = &*queue.device;
    // SAFETY: the caller's promise, here and below.
    let [give, take] =
        unsafe { copy_own(device, peers.ranks().rank, give, take) }.map_err(failed)?;
    let begun = match give.is_empty() && take.is_empty() {
        true => None,
        false => Some(unsafe { peers.begin(device, give, take) }.map_err(failed)?),
    };
    queue.mark("exchange")?;
    Ok(begun)
}

/// Lets a queue wait for an exchange, and puts a mark behind it.
///
/// # Errors
/// As [`Peers::end`].
pub(crate) fn end(
    peers: &dyn Peers,
    queue: &Queue,
    begun: Option<Begun>,
) -> Result<(), BackendError> {
    if let Some(begun) = begun {
        peers.end(&*queue.device, begun).map_err(failed)?;
    }
    queue.mark("exchange")
}

/// [`begin`] and [`end`] in one.
///
/// # Safety
/// As [`Peers::begin`].
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
    let begun = unsafe { begin(peers, queue, give, take)? };
    end(peers, queue, begun)
}

/// [`exchange`] of pieces for other ranks alone, some of which may be empty, without a mark.
///
/// # Safety
/// As [`Peers::begin`].
///
/// # Errors
/// As there.
pub(crate) unsafe fn exchange_others(
    peers: &dyn Peers,
    device: &dyn Device,
    give: Vec<Piece>,
    take: Vec<Piece>,
) -> Result<(), BackendError> {
    let [give, take] = [give, take].map(|mut pieces| {
        pieces.retain(|piece| piece.bytes > 0);
        pieces
    });
    if give.is_empty() && take.is_empty() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    let begun = unsafe { peers.begin(device, give, take) }.map_err(failed)?;
    peers.end(device, begun).map_err(failed)
}

/// Gives the own part of something to every other rank, and takes theirs. Where a rank's is,
/// address and bytes, `part` says.
///
/// # Safety
/// As [`Peers::begin`].
///
/// # Errors
/// As there.
pub(crate) unsafe fn share_parts(
    peers: &dyn Peers,
    device: &dyn Device,
    part: impl Fn(usize) -> (Address, usize),
) -> Result<(), BackendError> {
    let ranks = peers.ranks();
    let give = ranks.others().map(|to| piece(to, part(ranks.rank)));
    let take = ranks.others().map(|from| piece(from, part(from)));
    // SAFETY: the caller's promise.
    unsafe { exchange_others(peers, device, give.collect(), take.collect()) }
}

/// Copies what a rank gives to itself, and returns the pieces for others.
///
/// # Safety
/// As [`Peers::begin`].
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
