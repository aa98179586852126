//! Kernels on this processor: each CUDA thread is a fiber (see `emulator/`), so barriers, shuffles
//! and look-back behave as on a card, some thousand times slower. For tests: memory starts poisoned
//! and has guard zones, and a deadlock is an error that says who waits where.
//!
//! [`Emulated::with_checks`] can also look at every access of memory and tell which lies outside
//! all buffers and which two make a race, between blocks too; see emulator/checks.hpp. That is some
//! ten times slower again.
//!
//! Limits: `(int)x` of an out-of-range float is the processor's, not the saturated one of a card;
//! stacks are 128 KiB; blocks never run at the same time, so without checks races between blocks do
//! not show.

mod library;
mod memory;
mod places;

pub use library::PRELUDE;

use super::{Allocations, Copies, Device, Events, HostAllocations, Launches};
use super::{DeviceError, Event, Kernel, Program, Tuned, options};
use library::{Compiler, Entry};
use memory::Memory;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The variable that makes every emulator a checked one if it is `checked`.
pub const EMULATOR_VARIABLE: &str = "SPLATCORE_EMULATOR";

/// What [`Device::memory`] calls all memory unless told otherwise.
const DEFAULT_LIMIT: u64 = 16 << 30;

/// This processor as a device. Everything is done when a call returns.
pub struct Emulated {
    compiler: Compiler,
    checked: bool,
    backward: AtomicBool,
    state: Mutex<State>,
}

struct State {
    memory: Memory,
    limit: u64,
    /// What `release`, which returns nothing, found.
    failure: Option<DeviceError>,
    events: HashMap<usize, Instant>,
    next_event: usize,
}

impl State {
    /// Guard zones, and what was found earlier.
    fn check(&mut self) -> Result<(), DeviceError> {
        match self.failure.take() {
            Some(failure) => Err(failure),
            None => self.memory.check(),
        }
    }

    fn allocate(&mut self, bytes: usize, pinned: bool) -> Result<u64, DeviceError> {
        // The device's limit is not the host's.
        let free = if pinned {
            u64::MAX
        } else {
            self.limit.saturating_sub(self.memory.used())
        };
        let wanted = bytes as u64;
        if wanted > free {
            return Err(DeviceError::OutOfMemory {
                bytes: wanted,
                free,
            });
        }
        self.memory
            .allocate(bytes, pinned)
            .ok_or(DeviceError::OutOfMemory {
                bytes: wanted,
                free,
            })
    }

    fn release(&mut self, address: u64) {
        if let Err(error) = self.memory.release(address) {
            self.failure.get_or_insert(error);
        }
    }

    fn event(&self, event: &Event) -> Result<Instant, DeviceError> {
        self.events
            .get(&event.0)
            .copied()
            .ok_or_else(|| DeviceError::Failed(format!("event {} was discarded", event.0)))
    }
}

impl Emulated {
    /// Finds the C++ compiler: `$CXX`, g++, c++ or clang++. Checked if [`EMULATOR_VARIABLE`] says
    /// so.
    ///
    /// # Errors
    /// If there is none, or no emulator for this system.
    pub fn new() -> Result<Self, DeviceError> {
        match std::env::var(EMULATOR_VARIABLE)
            .unwrap_or_default()
            .as_str()
        {
            "" => Self::with_checks(false),
            "checked" => Self::with_checks(true),
            other => Err(DeviceError::Failed(format!(
                "{EMULATOR_VARIABLE} is '{other}'; it may be 'checked' or not set"
            ))),
        }
    }

    /// As [`Emulated::new`], whatever the environment says. Checked kernels look at every access:
    /// whether it lies in a buffer that is alive, and whether another thread's access makes it a
    /// race. They stop at the first one that is wrong, with an error that says where.
    ///
    /// # Errors
    /// As [`Emulated::new`].
    pub fn with_checks(checked: bool) -> Result<Self, DeviceError> {
        Ok(Self {
            compiler: Compiler::find(checked)?,
            checked,
            backward: AtomicBool::new(false),
            state: Mutex::new(State {
                memory: Memory::new(checked),
                limit: DEFAULT_LIMIT,
                failure: None,
                events: HashMap::new(),
                next_event: 0,
            }),
        })
    }

    /// Lets allocations fail beyond `bytes` in all, what is allocated now included.
    pub fn set_memory_limit(&self, bytes: u64) {
        self.state().limit = bytes;
    }

    /// Lets the threads of a block take turns from the last to the first: a kernel that lacks a
    /// barrier gives other results then.
    pub fn set_backward(&self, backward: bool) {
        self.backward.store(backward, Ordering::Relaxed);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for Emulated {
    fn describe(&self) -> String {
        let how = if self.checked {
            "checked, very slow"
        } else {
            "slow"
        };
        format!("kernels emulated on the CPU ({how}, for tests)")
    }

    fn capability(&self) -> u32 {
        90
    }

    fn multiprocessors(&self) -> u32 {
        4
    }
}

impl Allocations for Emulated {
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        self.state().allocate(bytes, false)
    }

    unsafe fn release(&self, address: u64) {
        self.state().release(address);
    }

    fn memory(&self) -> (u64, u64) {
        let state = self.state();
        (state.limit.saturating_sub(state.memory.used()), state.limit)
    }
}

impl HostAllocations for Emulated {
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        self.state()
            .allocate(bytes, true)
            .map(|address| address as *mut u8)
    }

    unsafe fn release_pinned(&self, address: *mut u8) {
        self.state().release(address as u64);
    }

    unsafe fn reach(
        &self,
        address: *mut u8,
        bytes: usize,
        is_reached: bool,
    ) -> Result<(), DeviceError> {
        let mut state = self.state();
        state.memory.reach(address as u64, bytes, is_reached);
        Ok(())
    }
}

impl Copies for Emulated {
    unsafe fn upload(&self, to: u64, from: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: a slice owns its bytes.
        unsafe { self.upload_pinned(to, from.as_ptr(), from.len()) }
    }

    unsafe fn upload_pinned(
        &self,
        to: u64,
        from: *const u8,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.state().memory.check_range("upload", to, bytes)?;
        // SAFETY: the device side was checked just now, the host side is the caller's promise.
        unsafe { std::ptr::copy(from, to as *mut u8, bytes) };
        Ok(())
    }

    unsafe fn download(&self, to: &mut [u8], from: u64) -> Result<(), DeviceError> {
        // SAFETY: a slice owns its bytes.
        unsafe { self.download_pinned(to.as_mut_ptr(), from, to.len()) }
    }

    unsafe fn download_pinned(
        &self,
        to: *mut u8,
        from: u64,
        bytes: usize,
    ) -> Result<(), DeviceError> {
        self.state().memory.check_range("download", from, bytes)?;
        // SAFETY: as for the upload.
        unsafe { std::ptr::copy(from as *const u8, to, bytes) };
        Ok(())
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), DeviceError> {
        let state = self.state();
        state.memory.check_range("copy to", to, bytes)?;
        state.memory.check_range("copy from", from, bytes)?;
        if bytes != 0 && to.abs_diff(from) < bytes as u64 {
            return Err(DeviceError::Failed(format!(
                "copy of {bytes} bytes from {from:#x} to {to:#x}, which overlap"
            )));
        }
        // SAFETY: both sides were checked just now.
        unsafe { std::ptr::copy(from as *const u8, to as *mut u8, bytes) };
        Ok(())
    }

    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Result<(), DeviceError> {
        self.state().memory.check_range("fill", to, bytes)?;
        // SAFETY: checked just now.
        unsafe { (to as *mut u8).write_bytes(byte, bytes) };
        Ok(())
    }
}

impl Launches for Emulated {
    fn load(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
        options::of(program).map_err(DeviceError::Failed)?;
        let tuned = Tuned::of(program).map_err(DeviceError::Failed)?;
        let entries = self.compiler.load(program)?;
        Ok(entries
            .into_iter()
            .zip(&program.kernels)
            .map(|(entry, kernel)| Kernel {
                address: std::ptr::from_ref(entry) as usize,
                awaits: false,
                params: kernel.params,
                tuned,
            })
            .collect())
    }

    unsafe fn launch(
        &self,
        kernel: Kernel,
        grid: u32,
        block: u32,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        // SAFETY: `load` made the handle from an entry that lives as long as the process.
        let entry = unsafe { &*(kernel.address as *const Entry) };
        let backward = self.backward.load(Ordering::Relaxed);
        let ranges = if self.checked {
            self.state().memory.ranges()
        } else {
            Vec::new()
        };
        // SAFETY: the arguments are the caller's promise.
        unsafe { entry.run(grid, block, arguments, backward, &ranges)? };
        // Here and not only later, so that the error can name the kernel.
        self.state().check().map_err(|error| match error {
            DeviceError::Failed(words) => {
                DeviceError::Failed(format!("after kernel {}: {words}", entry.name()))
            }
            other => other,
        })
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        self.state().check()
    }
}

impl Events for Emulated {
    fn record(&self) -> Result<Event, DeviceError> {
        let mut state = self.state();
        let event = Event(state.next_event);
        state.next_event += 1;
        state.events.insert(event.0, Instant::now());
        Ok(event)
    }

    fn record_again(&self, event: &Event) -> Result<(), DeviceError> {
        let mut state = self.state();
        state.event(event)?;
        state.events.insert(event.0, Instant::now());
        Ok(())
    }

    fn passed(&self, event: &Event) -> Result<bool, DeviceError> {
        self.state().event(event).map(|_| true)
    }

    fn wait(&self, event: &Event) -> Result<(), DeviceError> {
        self.state().event(event).map(|_| ())
    }

    fn seconds(&self, from: &Event, to: &Event) -> Result<f64, DeviceError> {
        let state = self.state();
        let (from, to) = (state.event(from)?, state.event(to)?);
        Ok(to.saturating_duration_since(from).as_secs_f64()
            - from.saturating_duration_since(to).as_secs_f64())
    }

    fn discard(&self, event: Event) {
        self.state().events.remove(&event.0);
    }
}
