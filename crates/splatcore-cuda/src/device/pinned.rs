//! Host memory that the device reads and writes by itself.

use super::error::failed;
use super::{Device, DeviceError};
use splatcore_core::BackendError;
use std::sync::Arc;

/// Pinned memory, zeroed at first, that frees itself once the queue has passed.
pub struct Pinned {
    device: Arc<dyn Device>,
    address: *mut u8,
    bytes: usize,
}

// SAFETY: plain memory that its owner alone touches, but for the device when its owner asks for it.
unsafe impl Send for Pinned {}

impl Pinned {
    /// At least one byte.
    ///
    /// # Errors
    /// If there is not so much.
    pub fn new(device: &Arc<dyn Device>, bytes: usize) -> Result<Self, BackendError> {
        let bytes = bytes.max(1);
        Ok(Self {
            address: device.allocate_pinned(bytes).map_err(failed)?,
            device: device.clone(),
            bytes,
        })
    }

    /// Puts parts one after another.
    ///
    /// # Safety
    /// The queue has passed every copy from or to this memory.
    ///
    /// # Panics
    /// If they do not fit.
    pub unsafe fn fill(&mut self, parts: &[&[u8]]) {
        let mut at = 0;
        for part in parts {
            assert!(
                part.len() <= self.bytes - at,
                "the parts fit their pinned memory"
            );
            // SAFETY: checked above; the device is not at it, as the caller says.
            unsafe {
                std::ptr::copy_nonoverlapping(part.as_ptr(), self.address.add(at), part.len())
            };
            at += part.len();
        }
    }

    /// The first value.
    ///
    /// # Safety
    /// The queue has passed every copy to this memory.
    ///
    /// # Panics
    /// If the memory is smaller.
    pub unsafe fn value<T: bytemuck::AnyBitPattern>(&self) -> T {
        assert!(
            size_of::<T>() <= self.bytes,
            "the value fits its pinned memory"
        );
        // SAFETY: checked above, any bits are a value, and the device is not at it, as the caller
        // says.
        unsafe { self.address.cast::<T>().read_unaligned() }
    }

    /// Copies the first `bytes` bytes to the device when the queue gets there.
    ///
    /// # Safety
    /// `to` owns that many bytes, and nothing changes here until the queue has passed.
    ///
    /// # Errors
    /// If the device failed.
    pub unsafe fn upload(&self, to: u64, bytes: usize) -> Result<(), DeviceError> {
        let bytes = bytes.min(self.bytes);
        // SAFETY: the caller's promise.
        unsafe { self.device.upload_pinned(to, self.address, bytes) }
    }

    /// Copies the first `bytes` bytes from the device when the queue gets there.
    ///
    /// # Safety
    /// `from` owns that many bytes, and nobody reads here until the queue has passed.
    ///
    /// # Errors
    /// If the device failed.
    pub unsafe fn download(&mut self, from: u64, bytes: usize) -> Result<(), DeviceError> {
        let bytes = bytes.min(self.bytes);
        // SAFETY: the caller's promise.
        unsafe { self.device.download_pinned(self.address, from, bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // The queue may still be at it.
        let _ = self.device.synchronize();
        // SAFETY: nobody else has the address.
        unsafe { self.device.release_pinned(self.address) }
    }
}
