//! Device memory that frees itself.

use super::Device;
use super::error::{DeviceError, device_error, failed};
use splatcore_core::{BackendError, Choice};
use std::sync::Arc;

/// Memory of a device, named so that a failure can say what did not fit.
pub struct Buffer {
    device: Arc<dyn Device>,
    address: u64,
    bytes: usize,
    name: &'static str,
}

impl Buffer {
    /// `bytes` bytes (at least 4, so that every buffer has an address) with undefined content.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] with name, size, what is free and what it depends on.
    pub fn new(
        device: &Arc<dyn Device>,
        name: &'static str,
        bytes: usize,
    ) -> Result<Self, BackendError> {
        let bytes = bytes.max(4);
        let address = device.allocate(bytes).map_err(|error| match error {
            DeviceError::OutOfMemory { bytes, free } => BackendError::OutOfMemory {
                backend: "cuda",
                buffer: name.into(),
                bytes,
                free: Some(free),
                depends_on: depends_on(name),
            },
            DeviceError::Failed(message) => device_error(message),
        })?;
        Ok(Self {
            device: device.clone(),
            address,
            bytes,
            name,
        })
    }

    /// A buffer that holds `data`.
    ///
    /// # Errors
    /// As [`Buffer::new`], or the copy failed.
    pub fn from_slice<T: bytemuck::NoUninit>(
        device: &Arc<dyn Device>,
        name: &'static str,
        data: &[T],
    ) -> Result<Self, BackendError> {
        let buffer = Self::new(device, name, size_of_val(data))?;
        buffer.write(0, data)?;
        Ok(buffer)
    }

    /// Where it is on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// What it holds.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Grows to at least `bytes`, by an eighth more than needed; the content is lost then. Returns
    /// whether it grew.
    ///
    /// # Errors
    /// As [`Buffer::new`]; the old memory is gone then.
    pub fn reserve(&mut self, bytes: usize) -> Result<bool, BackendError> {
        if bytes <= self.bytes {
            return Ok(false);
        }
        self.reserve_exactly(bytes + bytes / 8)
    }

    /// Grows to at least `bytes` and not more; the content is lost then. Returns whether it grew.
    ///
    /// # Errors
    /// As [`Buffer::new`]; the old memory is gone then.
    pub fn reserve_exactly(&mut self, bytes: usize) -> Result<bool, BackendError> {
        if bytes <= self.bytes {
            return Ok(false);
        }
        let device = self.device.clone();
        // The old memory goes first: both together may not fit.
        // There is none if the last attempt failed.
        if self.address != 0 {
            // SAFETY: the address is replaced before anyone can use it.
            unsafe { device.release(self.address) };
        }
        self.address = 0;
        self.bytes = 0;
        let grown = Self::new(&device, self.name, bytes)?;
        *self = grown;
        Ok(true)
    }

    /// Gives the memory back, but for a few bytes.
    ///
    /// # Errors
    /// If the device failed.
    pub fn clear(&mut self) -> Result<(), BackendError> {
        *self = Self::new(&self.device, self.name, 0)?;
        Ok(())
    }

    /// Copies `data` to byte `at`.
    ///
    /// # Errors
    /// If it does not fit or the copy failed.
    pub fn write<T: bytemuck::NoUninit>(&self, at: usize, data: &[T]) -> Result<(), BackendError> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        self.check(at, bytes.len())?;
        // SAFETY: checked above.
        unsafe { self.device.upload(self.address + at as u64, bytes) }.map_err(failed)
    }

    /// Waits for the queue and copies from byte `at`.
    ///
    /// # Errors
    /// If there is not so much or the copy failed.
    pub fn read<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
        &self,
        at: usize,
        data: &mut [T],
    ) -> Result<(), BackendError> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(data);
        self.check(at, bytes.len())?;
        // SAFETY: checked above.
        unsafe { self.device.download(bytes, self.address + at as u64) }.map_err(failed)
    }

    /// Waits for the queue and copies `count` values from the start.
    ///
    /// # Errors
    /// If there are not so many or the copy failed.
    pub fn to_vec<T: bytemuck::AnyBitPattern + bytemuck::NoUninit>(
        &self,
        count: usize,
    ) -> Result<Vec<T>, BackendError> {
        let mut data = vec![T::zeroed(); count];
        self.read(0, &mut data)?;
        Ok(data)
    }

    /// Sets the first `bytes` bytes.
    ///
    /// # Errors
    /// If there are not so many or the device failed.
    pub fn fill(&self, byte: u8, bytes: usize) -> Result<(), BackendError> {
        self.fill_at(0, byte, bytes)
    }

    /// Sets `bytes` bytes from byte `at` on.
    ///
    /// # Errors
    /// If there are not so many or the device failed.
    pub fn fill_at(&self, at: usize, byte: u8, bytes: usize) -> Result<(), BackendError> {
        self.check(at, bytes)?;
        // SAFETY: checked above.
        unsafe { self.device.fill(self.address + at as u64, byte, bytes) }.map_err(failed)
    }

    fn check(&self, at: usize, bytes: usize) -> Result<(), BackendError> {
        if at.checked_add(bytes).is_none_or(|end| end > self.bytes) {
            return Err(device_error(format!(
                "a copy of {bytes} bytes at {at} does not fit the buffer of {} ({} bytes)",
                self.name, self.bytes
            )));
        }
        Ok(())
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.address != 0 {
            // SAFETY: the address came from this device and nobody else frees it.
            unsafe { self.device.release(self.address) }
        }
    }
}

/// What the size of a buffer of this name depends on.
fn depends_on(name: &str) -> &'static [Choice] {
    let about = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if about(&["photos", "masks"]) {
        &[Choice::PhotoSize]
    } else if about(&["pairs", "gradient sums"]) {
        &[Choice::ImageSize, Choice::GaussianCount, Choice::Pipeline]
    } else if about(&["image", "transmittance", "loss", "states of a frame"]) {
        &[Choice::ImageSize]
    } else {
        &[Choice::GaussianCount, Choice::ShDegree, Choice::Backend]
    }
}
