//! Ranks that count what they exchange.

use super::{Begun, Peers, Piece};
use crate::device::{Device, DeviceError};
use splatcore_core::backend::{Exchanged, Ranks};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The others, by way of who moves the data.
pub struct Counted {
    peers: Arc<dyn Peers>,
    exchanges: AtomicU64,
    pieces: AtomicU64,
    bytes: AtomicU64,
}

impl Counted {
    /// Counts from here on, if there are others.
    pub fn around(peers: Option<Arc<dyn Peers>>) -> Option<Arc<Self>> {
        let peers = peers.filter(|peers| peers.ranks().count > 1)?;
        Some(Arc::new(Self {
            peers,
            exchanges: AtomicU64::new(0),
            pieces: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }))
    }

    /// What this rank has exchanged so far.
    pub fn exchanged(&self) -> Exchanged {
        Exchanged {
            exchanges: self.exchanges.load(Ordering::Relaxed),
            pieces: self.pieces.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
        }
    }
}

impl Peers for Counted {
    fn ranks(&self) -> Ranks {
        self.peers.ranks()
    }

    unsafe fn begin(
        &self,
        device: &dyn Device,
        give: Vec<Piece>,
        take: Vec<Piece>,
    ) -> Result<Begun, DeviceError> {
        let bytes: usize = give.iter().map(|piece| piece.bytes).sum();
        self.exchanges.fetch_add(1, Ordering::Relaxed);
        self.pieces.fetch_add(give.len() as u64, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { self.peers.begin(device, give, take) }
    }

    fn end(&self, device: &dyn Device, begun: Begun) -> Result<(), DeviceError> {
        self.peers.end(device, begun)
    }

    fn is_behind(&self) -> Result<bool, DeviceError> {
        self.peers.is_behind()
    }

    fn give_up(&self) {
        self.peers.give_up();
    }
}
