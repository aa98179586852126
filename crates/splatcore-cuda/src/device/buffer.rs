//! Device memory that frees itself, and memory of the host that kernels reach.

use super::Device;
use super::error::{DeviceError, device_error, failed};
use splatcore_core::{BackendError, Choice};
use std::ops::Range;
use std::sync::Arc;

/// Which memory a buffer is of. Kernels read and write both; the host's by way of the bus, only
/// what they touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The device's.
    Device,
    /// The host's: pinned, or mapped files ([`Device`]'s `allocate_host`).
    Host,
}

/// Memory that kernels read and write, named so that a failure can say what did not fit.
pub struct Buffer {
    device: Arc<dyn Device>,
    address: u64,
    bytes: usize,
    name: &'static str,
    place: Place,
}

impl Buffer {
    /// `bytes` bytes of the device (at least 4, so that every buffer has an address) with undefined
    /// content.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] with name, size, what is free and what it depends on.
    pub fn new(
        device: &Arc<dyn Device>,
        name: &'static str,
        bytes: usize,
    ) -> Result<Self, BackendError> {
        Self::new_in(Place::Device, device, name, bytes)
    }

    /// As [`Buffer::new`], in either memory.
    ///
    /// # Errors
    /// As there.
    pub fn new_in(
        place: Place,
        device: &Arc<dyn Device>,
        name: &'static str,
        bytes: usize,
    ) -> Result<Self, BackendError> {
        let bytes = bytes.max(4);
        let allocated = match place {
            Place::Device => device.allocate(bytes),
            Place::Host => device.allocate_host(bytes).map(|address| address as u64),
        };
        let address = allocated.map_err(|error| match (error, place) {
            (DeviceError::OutOfMemory { bytes, free }, Place::Device) => {
                BackendError::OutOfMemory {
                    backend: "cuda",
                    buffer: name.into(),
                    bytes,
                    free: Some(free),
                    depends_on: depends_on(name),
                }
            }
            (DeviceError::OutOfMemory { bytes, .. }, Place::Host) => BackendError::OutOfMemory {
                backend: "cuda",
                buffer: format!("{name} in the host's memory"),
                bytes,
                free: None,
                depends_on: depends_on(name),
            },
            (DeviceError::Failed(message), _) => device_error(message),
        })?;
        Ok(Self {
            device: device.clone(),
            address,
            bytes,
            name,
            place,
        })
    }

    /// Two of one name that take turns.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub fn two(
        device: &Arc<dyn Device>,
        name: &'static str,
        bytes: usize,
    ) -> Result<[Self; 2], BackendError> {
        Ok([
            Self::new(device, name, bytes)?,
            Self::new(device, name, bytes)?,
        ])
    }

    /// An empty buffer of the same name in the same memory, of another size.
    ///
    /// # Errors
    /// As [`Buffer::new`].
    pub fn new_like(&self, bytes: usize) -> Result<Self, BackendError> {
        Self::new_in(self.place, &self.device, self.name, bytes)
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

    /// Moves to the host's memory, with the first `used` bytes of its content. Waits for the queue.
    ///
    /// # Errors
    /// If the host has not so much, or a copy failed; the buffer is as before then.
    pub fn move_to_host(&mut self, used: usize) -> Result<(), BackendError> {
        let moved = Self::new_in(Place::Host, &self.device, self.name, self.bytes)?;
        moved.copy_from(self, used)?;
        *self = moved;
        Ok(())
    }

    /// Copies the first `bytes` bytes of another buffer. Waits for the queue if one of them is in
    /// the host's memory.
    ///
    /// # Errors
    /// If one of them has not so many, or the copy failed.
    pub fn copy_from(&self, from: &Self, bytes: usize) -> Result<(), BackendError> {
        self.check(0, bytes)?;
        from.check(0, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        match (self.place, from.place) {
            // SAFETY: both have that many.
            (Place::Device, Place::Device) => {
                unsafe { self.device.copy(self.address, from.address, bytes) }.map_err(failed)
            }
            (Place::Host, _) => {
                self.device.synchronize().map_err(failed)?;
                // SAFETY: checked above, and the queue is done with it.
                from.read(0, unsafe {
                    std::slice::from_raw_parts_mut(self.address as *mut u8, bytes)
                })
            }
            (Place::Device, Place::Host) => {
                self.device.synchronize().map_err(failed)?;
                // SAFETY: as above.
                self.write(0, unsafe {
                    std::slice::from_raw_parts(from.address as *const u8, bytes)
                })
            }
        }
    }

    /// Copies bytes of another buffer, from its byte `at` on, to byte `to`; this one is in the
    /// device's memory.
    ///
    /// # Errors
    /// If one of them has not so many, or the copy failed.
    pub fn copy_part(
        &self,
        to: usize,
        from: &Self,
        at: usize,
        bytes: usize,
    ) -> Result<(), BackendError> {
        debug_assert_eq!(self.place, Place::Device);
        if from.place == Place::Host {
            return self.write(to, &from.slice(at..at + bytes)?);
        }
        self.check(to, bytes)?;
        from.check(at, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let (to, from) = (self.address + to as u64, from.address + at as u64);
        // SAFETY: both have that many, and two buffers do not overlap.
        unsafe { self.device.copy(to, from, bytes) }.map_err(failed)
    }

    /// Where it is on the device.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its size.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device that reaches it.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Which memory it is of.
    pub fn place(&self) -> Place {
        self.place
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
        // The old memory goes first: both together may not fit.
        self.free();
        *self = self.new_like(bytes)?;
        Ok(true)
    }

    /// Gives all memory back, of which there is none if the last attempt to grow failed.
    fn free(&mut self) {
        let address = std::mem::take(&mut self.address);
        self.bytes = 0;
        if address == 0 {
            return;
        }
        match self.place {
            // SAFETY: the address came from this device, nobody else frees it, and nobody can use
            // it any more.
            Place::Device => unsafe { self.device.release(address) },
            Place::Host => {
                // The queue may still be at it.
                let _ = self.device.synchronize();
                // SAFETY: as above.
                unsafe { self.device.release_host(address as *mut u8) }
            }
        }
    }

    /// Gives the memory back, but for a few bytes.
    ///
    /// # Errors
    /// If the device failed.
    pub fn clear(&mut self) -> Result<(), BackendError> {
        *self = self.new_like(0)?;
        Ok(())
    }

    /// Copies `data` to byte `at`.
    ///
    /// # Errors
    /// If it does not fit or the copy failed.
    pub fn write<T: bytemuck::NoUninit>(&self, at: usize, data: &[T]) -> Result<(), BackendError> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        self.check(at, bytes.len())?;
        let to = self.address + at as u64;
        if self.place == Place::Host {
            self.device.synchronize().map_err(failed)?;
            // SAFETY: checked above, and the queue is done with it.
            unsafe { std::ptr::copy(bytes.as_ptr(), to as *mut u8, bytes.len()) };
            return Ok(());
        }
        // SAFETY: checked above.
        unsafe { self.device.upload(to, bytes) }.map_err(failed)
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
        let from = self.address + at as u64;
        if self.place == Place::Host {
            self.device.synchronize().map_err(failed)?;
            // SAFETY: checked above, and the queue is done with it.
            unsafe { std::ptr::copy(from as *const u8, bytes.as_mut_ptr(), bytes.len()) };
            return Ok(());
        }
        // SAFETY: checked above.
        unsafe { self.device.download(bytes, from) }.map_err(failed)
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

    /// Waits for the queue and copies a range of bytes.
    ///
    /// # Errors
    /// As [`Buffer::read`].
    pub fn slice(&self, range: Range<usize>) -> Result<Vec<u8>, BackendError> {
        let mut bytes = vec![0; range.len()];
        self.read(range.start, &mut bytes)?;
        Ok(bytes)
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
        let to = self.address + at as u64;
        if self.place == Place::Host {
            self.device.synchronize().map_err(failed)?;
            // SAFETY: checked above, and the queue is done with it.
            unsafe { std::ptr::write_bytes(to as *mut u8, byte, bytes) };
            return Ok(());
        }
        // SAFETY: checked above.
        unsafe { self.device.fill(to, byte, bytes) }.map_err(failed)
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
        self.free();
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
