//! Numbers that kernels in a stream make for the host.

use crate::device::error::failed;
use crate::device::params::Address;
use crate::device::{Buffer, Device, Event, Pinned};
use splatcore_core::BackendError;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Two numbers on the device, and the host memory that they are copied to, for one stream.
pub struct Slot {
    stream: u64,
    device: Arc<dyn Device>,
    numbers: Buffer,
    copy: Pinned,
    /// Behind the last copy.
    copied: Event,
}

/// Bytes of the numbers.
const BYTES: usize = size_of::<[u64; 2]>();

impl Slot {
    fn new(stream: u64, device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        Ok(Self {
            stream,
            numbers: Buffer::new(device, "two numbers", BYTES)?,
            copy: Pinned::new(device, BYTES)?,
            copied: device.record().map_err(failed)?,
            device: device.clone(),
        })
    }

    /// Zeroes the numbers.
    pub fn zero(&self) -> Result<Address, BackendError> {
        self.numbers.fill(0, BYTES)?;
        Ok(self.numbers.address())
    }

    /// Puts a copy of the numbers into the stream.
    pub fn copy(&mut self) -> Result<(), BackendError> {
        // SAFETY: the numbers have these bytes, and `wait` reads the copy behind the event.
        unsafe { self.copy.download(self.numbers.address(), BYTES) }.map_err(failed)?;
        self.device.record_again(&self.copied).map_err(failed)
    }

    /// Waits for the last copy, and for nothing that is in the stream behind it.
    pub fn wait(&self) -> Result<[u64; 2], BackendError> {
        self.device.wait(&self.copied).map_err(failed)?;
        // SAFETY: the event behind the last copy has passed.
        Ok(unsafe { self.copy.value() })
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let event = std::mem::replace(&mut self.copied, Event(0));
        self.device.discard(event);
    }
}

/// Slots that nobody uses: it takes long to get pinned memory.
#[derive(Default)]
pub struct Slots(Mutex<Vec<Slot>>);

impl Slots {
    fn free(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One for a stream, which may hold any numbers.
    pub fn take(&self, stream: u64, device: &Arc<dyn Device>) -> Result<Slot, BackendError> {
        let mut free = self.free();
        match free.iter().position(|slot| slot.stream == stream) {
            Some(place) => Ok(free.swap_remove(place)),
            None => Slot::new(stream, device),
        }
    }

    /// Takes one back, whose last copy was waited for.
    pub fn give_back(&self, slot: Slot) {
        self.free().push(slot);
    }
}
