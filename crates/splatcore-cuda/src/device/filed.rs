//! A device whose arrays in the host's memory lie in files: what neither the device's memory nor
//! the host's holds is on a disk. It stands before another.
//!
//! A file is mapped, and kernels reach the mapping as they reach the host's memory; the system
//! keeps in memory what was touched last, and reads and writes the rest, by pages of 4 KiB. Files
//! have no name: whatever becomes of the process, nothing is left of them. They are no checkpoints.

use super::forward::forward;
use super::{Allocations, Device, DeviceError, HostAllocations};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a mapping with which it is tried whether the device reaches it.
const TRIED: usize = 4096;

/// See the module's documentation.
pub struct Filed {
    device: Arc<dyn Device>,
    folder: PathBuf,
    /// Bytes of each mapping.
    mapped: Mutex<HashMap<usize, usize>>,
}

impl Filed {
    /// This device, with files in this folder.
    ///
    /// # Errors
    /// If there can be no files, or the device does not reach their memory.
    pub fn new(device: Arc<dyn Device>, folder: &Path) -> Result<Self, DeviceError> {
        let filed = Self {
            device,
            folder: folder.to_owned(),
            mapped: Mutex::default(),
        };
        let tried = filed.allocate_host(TRIED)?;
        // SAFETY: nobody else knows the address.
        unsafe { filed.release_host(tried) };
        Ok(filed)
    }

    fn mapped(&self) -> MutexGuard<'_, HashMap<usize, usize>> {
        self.mapped.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Allocations for Filed {
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.device.allocate(bytes)
    }

    unsafe fn release(&self, address: u64) {
        // SAFETY: the caller's promise, here and below.
        unsafe { self.device.release(address) }
    }

    fn memory(&self) -> (u64, u64) {
        self.device.memory()
    }
}

impl HostAllocations for Filed {
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.device.allocate_pinned(bytes)
    }

    unsafe fn release_pinned(&self, address: *mut u8) {
        unsafe { self.device.release_pinned(address) }
    }

    fn allocate_host(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        let address = map(&self.folder, bytes).map_err(DeviceError::Failed)?;
        // SAFETY: the mapping is alive until `release_host`.
        if let Err(error) = unsafe { self.device.reach(address, bytes, true) } {
            unsafe { unmap(address, bytes) };
            return Err(error);
        }
        self.mapped().insert(address as usize, bytes);
        Ok(address)
    }

    unsafe fn release_host(&self, address: *mut u8) {
        if let Some(bytes) = self.mapped().remove(&(address as usize)) {
            unsafe {
                let _ = self.device.reach(address, bytes, false);
                unmap(address, bytes);
            }
        }
    }
}

forward!(Filed);

/// A mapping of a new file without a name, all of whose bytes have their place on the disk.
#[cfg(target_os = "linux")]
fn map(folder: &Path, bytes: usize) -> Result<*mut u8, String> {
    use std::io::Error;
    use std::os::fd::AsRawFd;
    let wrong = |error: Error| {
        let folder = folder.display();
        format!("{folder}: no file of {bytes} bytes for what the card has no memory for: {error}")
    };
    let file = tempfile::tempfile_in(folder).map_err(wrong)?;
    // SAFETY: the file is open. A page that finds no room later would end the process.
    let room = unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, bytes as libc::off_t) };
    if room != 0 {
        return Err(wrong(Error::from_raw_os_error(room)));
    }
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let (anywhere, shared) = (std::ptr::null_mut(), libc::MAP_SHARED);
    // SAFETY: a new mapping of the file, where the system likes; it outlives the descriptor.
    let mapped = unsafe { libc::mmap(anywhere, bytes, access, shared, file.as_raw_fd(), 0) };
    match mapped == libc::MAP_FAILED {
        true => Err(wrong(Error::last_os_error())),
        false => Ok(mapped.cast()),
    }
}

/// # Safety
/// [`map`] made the mapping, and nobody uses it any more.
#[cfg(target_os = "linux")]
unsafe fn unmap(address: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise.
    let _ = unsafe { libc::munmap(address.cast(), bytes) };
}

#[cfg(not(target_os = "linux"))]
fn map(folder: &Path, _: usize) -> Result<*mut u8, String> {
    let folder = folder.display();
    Err(format!("{folder}: files in place of memory are for Linux"))
}

#[cfg(not(target_os = "linux"))]
unsafe fn unmap(_: *mut u8, _: usize) {}
