//! A device of whose memory no more than some is used, and of which is known how much that was: it
//! stands before another.

use super::forward::{forward, forward_host_memory};
use super::{Allocations, Device, DeviceError};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Default)]
struct Used {
    sizes: HashMap<u64, u64>,
    bytes: u64,
    peak: u64,
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

    /// The most bytes that were in use at a time.
    pub fn peak(&self) -> u64 {
        self.used().peak
    }

    fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allocations for Limited {
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        let wanted = bytes as u64;
        {
            let mut used = self.used();
            let free = self.limit.saturating_sub(used.bytes);
            // The few bytes of an empty buffer are always there.
            if wanted > free.max(4) {
                let bytes = wanted;
                return Err(DeviceError::OutOfMemory { bytes, free });
            }
            used.bytes += wanted;
        }
        // The driver may wait for the device, and nobody else for that.
        let allocated = self.device.allocate(bytes);
        let mut used = self.used();
        match allocated {
            Ok(address) => {
                used.sizes.insert(address, wanted);
                used.peak = used.peak.max(used.bytes);
            }
            Err(_) => used.bytes -= wanted,
        }
        allocated
    }

    unsafe fn release(&self, address: u64) {
        let bytes = self.used().sizes.remove(&address).unwrap_or(0);
        // SAFETY: the caller's promise, here and below.
        unsafe { self.device.release(address) };
        self.used().bytes -= bytes;
    }

    fn memory(&self) -> (u64, u64) {
        let (free, all) = self.device.memory();
        let left = self.limit.saturating_sub(self.used().bytes);
        (free.min(left), all.min(self.limit))
    }
}

forward!(Limited);
forward_host_memory!(Limited);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::support::device::device;

    #[test]
    fn what_was_in_use_at_a_time_is_known() {
        let Some(device) = device() else { return };
        let limited = Limited::new(device, 1000);
        let first = limited.allocate(600).unwrap();
        let error = limited.allocate(500).unwrap_err();
        assert!(matches!(
            error,
            DeviceError::OutOfMemory {
                bytes: 500,
                free: 400
            }
        ));
        // SAFETY: it came from there, and nobody uses it.
        unsafe { limited.release(first) };
        assert!(limited.allocate(300).is_ok() && limited.allocate(200).is_ok());
        assert_eq!((limited.memory().0, limited.peak()), (500, 600));
    }
}
