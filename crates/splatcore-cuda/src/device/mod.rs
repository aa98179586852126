//! Where kernels run: an NVIDIA card through its driver ([`driver`]), or this processor, thread by
//! thread ([`emulated`]), which is slow and needs a C++ compiler but shows whether a kernel is
//! right where there is no card.
//!
//! Everything goes through one in-order queue, like a CUDA stream.

pub mod buffer;
pub mod cubin;
pub mod driver;
pub mod dry;
pub mod emulated;
pub mod error;
pub mod filed;
pub mod find;
pub(crate) mod forward;
pub mod guarded;
pub mod kernels;
pub mod limited;
pub mod machine_code;
pub mod nvrtc;
pub mod options;
pub mod params;
pub mod pinned;
pub mod program;
pub mod queue;
pub mod replaced;
#[cfg(test)]
mod tests;
pub mod tunables;

pub use buffer::{Buffer, Place};
pub use error::DeviceError;
pub use filed::Filed;
pub use kernels::Kernels;
pub use limited::Limited;
pub use params::{Address, Layout, Params, Signature};
pub use pinned::Pinned;
pub use program::Program;
pub use queue::Queue;
pub use replaced::Replacements;
pub use tunables::Tuned;

use splatcore_core::BackendError;
use std::ffi::c_void;

/// A loaded kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Means something to the device it came from.
    pub address: usize,
    /// Whether it awaits the kernel before it by itself ([`Program::awaits`]).
    pub awaits: bool,
    /// What it takes ([`Signature::params`]).
    pub params: Option<&'static Layout>,
    /// The values of its program's tunables.
    pub tuned: Tuned,
}

impl Kernel {
    /// The value of a tunable of its program.
    ///
    /// # Errors
    /// If the program's text declares none of this name.
    pub fn tuned(self, name: &str) -> Result<u32, BackendError> {
        self.tuned
            .get(name)
            .map_err(|message| BackendError::Device {
                backend: "cuda",
                message,
            })
    }
}

/// A moment in the queue, for timing and for knowing how far the device is.
#[derive(Debug, PartialEq, Eq)]
pub struct Event(pub usize);

/// A device with one in-order queue. The methods of the traits that it stands on can be called on a
/// `dyn Device` without importing these.
pub trait Device: Allocations + HostAllocations + Copies + Launches + Events + Send + Sync {
    /// One line: card, compute capability, driver.
    fn describe(&self) -> String;
    /// Compute capability, major * 10 + minor.
    fn capability(&self) -> u32;
    /// Streaming multiprocessors.
    fn multiprocessors(&self) -> u32;
}

/// Memory of a device.
///
/// Addresses are the device's own; [`Buffer`] and [`Pinned`] own them. The methods that take
/// addresses are unsafe because a wrong one corrupts memory of the device (of this process, when
/// emulated).
pub trait Allocations {
    /// Memory of at least `bytes`, aligned to 256; its content is undefined.
    ///
    /// # Errors
    /// If there is not so much.
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError>;
    /// Gives memory back, once the queue is done with it.
    ///
    /// # Safety
    /// `address` came from `allocate` and is not used again.
    unsafe fn release(&self, address: u64);
    /// Bytes free and in all.
    fn memory(&self) -> (u64, u64);
}

/// Memory of the host where the device can reach it.
pub trait HostAllocations {
    /// Host memory that the device can read and write by itself, aligned to 64; zeroed.
    ///
    /// # Errors
    /// If there is not so much.
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError>;
    /// Gives pinned memory back.
    ///
    /// # Safety
    /// `address` came from `allocate_pinned` and is not used again, by the queue either.
    unsafe fn release_pinned(&self, address: *mut u8);
    /// Host memory that kernels read and write, for arrays that the device has no memory for;
    /// aligned to 64, zeroed. Pinned, unless it lies in files ([`Filed`]).
    ///
    /// # Errors
    /// If there is not so much.
    fn allocate_host(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.allocate_pinned(bytes)
    }
    /// Gives such memory back.
    ///
    /// # Safety
    /// `address` came from `allocate_host` and is not used again, by the queue either.
    unsafe fn release_host(&self, address: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { self.release_pinned(address) }
    }
    /// Lets kernels reach memory of the host that is not pinned, or ends that.
    ///
    /// # Safety
    /// The memory is alive as long as it is reached.
    ///
    /// # Errors
    /// If the device cannot.
    unsafe fn reach(
        &self,
        address: *mut u8,
        bytes: usize,
        is_reached: bool,
    ) -> Result<(), DeviceError> {
        let _ = (address, bytes, is_reached);
        Err(DeviceError::Failed(
            "this device reaches pinned memory of the host alone".into(),
        ))
    }
}

/// Copies in the queue, between host and device and on the device. Unsafe as [`Allocations`] are.
pub trait Copies {
    /// Copies to the device; `from` may change when this returns.
    ///
    /// # Safety
    /// `to` owns that many bytes.
    unsafe fn upload(&self, to: u64, from: &[u8]) -> Result<(), DeviceError>;
    /// Copies from pinned memory to the device when the queue gets there; returns at once.
    ///
    /// # Safety
    /// Both sides own that many bytes, and the pinned side does not change until the queue has
    /// passed.
    unsafe fn upload_pinned(
        &self,
        to: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DeviceError>;
    /// Waits for the queue and copies to the host.
    ///
    /// # Safety
    /// `from` owns that many bytes.
    unsafe fn download(&self, to: &mut [u8], from: u64) -> Result<(), DeviceError>;
    /// Copies to pinned memory when the queue gets there; returns at once.
    ///
    /// # Safety
    /// Both sides own that many bytes, and nobody reads the pinned side until the queue has passed.
    unsafe fn download_pinned(
        &self,
        to: *mut u8,
        from: u64,
        bytes: usize,
    ) -> Result<(), DeviceError>;
    /// Copies on the device.
    ///
    /// # Safety
    /// Both sides own that many bytes and do not overlap.
    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), DeviceError>;
    /// Sets bytes on the device.
    ///
    /// # Safety
    /// `to` owns that many bytes.
    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), DeviceError>;
}

/// Programs, and launches of their kernels in the queue.
pub trait Launches {
    /// Whether programs that will be wanted later are better compiled with the first ones, all at
    /// once.
    fn compiles_ahead(&self) -> bool {
        false
    }
    /// Compiles (or takes from the cache) a program and returns its kernels in the order of
    /// `program.kernels`.
    ///
    /// # Errors
    /// With the compiler's own words.
    fn load(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError>;
    /// Puts a launch of `grid` blocks of `block` threads into the queue; `arguments` point to the
    /// values.
    ///
    /// # Safety
    /// The arguments are those of the kernel.
    unsafe fn launch(
        &self,
        kernel: Kernel,
        grid: u32,
        block: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError>;
    /// Waits for the queue.
    ///
    /// # Errors
    /// What went wrong in it since the last wait.
    fn synchronize(&self) -> Result<(), DeviceError>;
}

/// Moments in the queue.
pub trait Events {
    /// Marks this place in the queue.
    fn record(&self) -> Result<Event, DeviceError>;
    /// Marks this place in the queue with an event that is used again.
    fn record_again(&self, event: &Event) -> Result<(), DeviceError>;
    /// Whether the queue has passed the event.
    fn passed(&self, event: &Event) -> Result<bool, DeviceError>;
    /// Waits until the queue has passed the event.
    fn wait(&self, event: &Event) -> Result<(), DeviceError>;
    /// Seconds between two events, both passed.
    fn seconds(&self, from: &Event, to: &Event) -> Result<f64, DeviceError>;
    /// Gives an event back.
    fn discard(&self, event: Event);
}
