//! A device that computes nothing and only notes what it is asked to launch: it tells which
//! programs a frame or a step is made of, without card and compiler. What is read from it is zero.

use super::{Allocations, Copies, Device, Events, HostAllocations, Launches};
use super::{DeviceError, Event, Kernel, Program, Tuned, options};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What every allocation is aligned to.
const ALIGNMENT: u64 = 256;
/// Pinned memory, which is real.
const PINNED_ALIGNMENT: usize = 64;
/// What the device calls all its memory, and free.
const MEMORY: u64 = 80 << 30;

/// A launch that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launched {
    /// Which of [`Dry::programs`].
    pub program: usize,
    /// The kernel's name.
    pub kernel: &'static str,
    /// Blocks.
    pub grid: u32,
    /// Threads of a block.
    pub block: u32,
}

/// See the module's documentation.
pub struct Dry {
    capability: u32,
    multiprocessors: u32,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    programs: Vec<Program>,
    /// Program and name of each kernel; a kernel's address is its number here.
    kernels: Vec<(usize, &'static str)>,
    launched: Vec<Launched>,
    next_address: u64,
    next_event: usize,
    pinned: HashMap<usize, Layout>,
}

impl Dry {
    /// In the place of a card of this compute capability with so many multiprocessors.
    pub fn new(capability: u32, multiprocessors: u32) -> Self {
        let state = State {
            next_address: ALIGNMENT,
            ..State::default()
        };
        Self {
            capability,
            multiprocessors,
            state: Mutex::new(state),
        }
    }

    /// The programs that were loaded.
    pub fn programs(&self) -> Vec<Program> {
        self.state().programs.clone()
    }

    /// The launches since the last call.
    pub fn take_launched(&self) -> Vec<Launched> {
        std::mem::take(&mut self.state().launched)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Device for Dry {
    fn describe(&self) -> String {
        "no device: launches are noted and not made".into()
    }

    fn capability(&self) -> u32 {
        self.capability
    }

    fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }
}

impl Allocations for Dry {
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        let mut state = self.state();
        let address = state.next_address;
        state.next_address += (bytes as u64).next_multiple_of(ALIGNMENT);
        Ok(address)
    }

    unsafe fn release(&self, _: u64) {}

    fn memory(&self) -> (u64, u64) {
        (MEMORY, MEMORY)
    }
}

impl HostAllocations for Dry {
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        let refused = DeviceError::OutOfMemory {
            bytes: bytes as u64,
            free: 0,
        };
        let Ok(layout) = Layout::from_size_align(bytes.max(1), PINNED_ALIGNMENT) else {
            return Err(refused);
        };
        // SAFETY: the layout is not empty.
        let address = unsafe { alloc_zeroed(layout) };
        if address.is_null() {
            return Err(refused);
        }
        self.state().pinned.insert(address as usize, layout);
        Ok(address)
    }

    unsafe fn release_pinned(&self, address: *mut u8) {
        if let Some(layout) = self.state().pinned.remove(&(address as usize)) {
            // SAFETY: `allocate_pinned` made it with this layout, and it left the map just now.
            unsafe { dealloc(address, layout) };
        }
    }
}

impl Drop for Dry {
    fn drop(&mut self) {
        let pinned = std::mem::take(&mut self.state().pinned);
        for (address, layout) in pinned {
            // SAFETY: as in `release_pinned`.
            unsafe { dealloc(address as *mut u8, layout) };
        }
    }
}

impl Copies for Dry {
    unsafe fn upload(&self, _: u64, _: &[u8]) -> Result<(), DeviceError> {
        Ok(())
    }

    unsafe fn upload_pinned(&self, _: u64, _: *const u8, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }

    unsafe fn download(&self, to: &mut [u8], _: u64) -> Result<(), DeviceError> {
        to.fill(0);
        Ok(())
    }

    unsafe fn download_pinned(&self, to: *mut u8, _: u64, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the caller's promise.
        unsafe { to.write_bytes(0, bytes) };
        Ok(())
    }

    unsafe fn copy(&self, _: u64, _: u64, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }

    unsafe fn fill(&self, _: u64, _: u8, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }
}

impl Launches for Dry {
    fn load(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
        options::of(program).map_err(DeviceError::Failed)?;
        let tuned = Tuned::of(program).map_err(DeviceError::Failed)?;
        let mut state = self.state();
        let number = state.programs.len();
        state.programs.push(program.clone());
        let mut kernels = Vec::new();
        for kernel in &program.kernels {
            kernels.push(Kernel {
                address: state.kernels.len(),
                awaits: false,
                params: kernel.params,
                tuned,
            });
            state.kernels.push((number, kernel.name));
        }
        Ok(kernels)
    }

    unsafe fn launch(
        &self,
        kernel: Kernel,
        grid: u32,
        block: u32,
        _: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        let mut state = self.state();
        let known = state.kernels.get(kernel.address).copied();
        let Some((program, kernel)) = known else {
            return Err(DeviceError::Failed("a kernel of another device".into()));
        };
        state.launched.push(Launched {
            program,
            kernel,
            grid,
            block,
        });
        Ok(())
    }

    fn synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }
}

impl Events for Dry {
    fn record(&self) -> Result<Event, DeviceError> {
        let mut state = self.state();
        state.next_event += 1;
        Ok(Event(state.next_event))
    }

    fn record_again(&self, _: &Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn passed(&self, _: &Event) -> Result<bool, DeviceError> {
        Ok(true)
    }

    fn wait(&self, _: &Event) -> Result<(), DeviceError> {
        Ok(())
    }

    fn seconds(&self, _: &Event, _: &Event) -> Result<f64, DeviceError> {
        Ok(0.0)
    }

    fn discard(&self, _: Event) {}
}
