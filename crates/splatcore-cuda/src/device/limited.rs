//! A device of which no more than some of its memory is used: it stands before another.

use super::forward::{forward, forward_host_memory};
use super::{Allocations, Device, DeviceError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Used {
    sizes: HashMap<u64, u64>,
    bytes: u64,
}

/// See the module's documentation.
pub struct Limited {
    device: Arc<dyn Device>,
    limit: u64,
    used: Mutex<Used>,
}

impl Limited {
    /// So many bytes of this device. What its driver takes for itself does not count.
    pub fn new(device: Arc<dyn Device>, limit: u64) -> Self {
        Self {
            device,
            limit,
            used: Mutex::default(),
        }
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allocations for Limited {
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        let (mut used, wanted) = (self.used(), bytes as u64);
        let free = self.limit.saturating_sub(used.bytes);
        // The few bytes of an empty buffer are always there.
        if wanted > free.max(4) {
            let bytes = wanted;
            return Err(DeviceError::OutOfMemory { bytes, free });
        }
        let address = self.device.allocate(bytes)?;
        used.sizes.insert(address, wanted);
        used.bytes += wanted;
        Ok(address)
    }

    unsafe fn release(&self, address: u64) {
        let mut used = self.used();
        used.bytes -= used.sizes.remove(&address).unwrap_or(0);
        // SAFETY: the caller's promise, here and below.
        unsafe { self.device.release(address) }
    }

    fn memory(&self) -> (u64, u64) {
        let (free, all) = self.device.memory();
        let left = self.limit.saturating_sub(self.used().bytes);
        (free.min(left), all.min(self.limit))
    }
}

forward!(Limited);
forward_host_memory!(Limited);
