//! Stateless functions on f32 tensors that another library owns, such as torch: the CUDA half of
//! the native functions below `splatcore.compat` in Python.
//!
//! Tensors come as addresses ([`DeviceSlice`]), and kernels go into the caller's stream, in the
//! device's primary context, which the CUDA runtime uses too. No call waits for the device, but for
//! the first of a program, which loads or compiles its kernels. Each output is written in full.
//! Semantics are those of gsplat 1.5.3 where no other source is named.
//!
//! | function | folder |
//! | --- | --- |
//! | images from splats, gradients, the splats of each pixel | `rasterize/` |
//! | splats from Gaussians | `projection/` |
//! | covariances and precisions from rotations and scales | `quat_scale/` |
//! | colours from spherical harmonics | `harmonics/` |
//! | from which directions cameras see Gaussians | `directions/` |
//! | sorted (tile, splat) pairs | `tile_pairs/` |
//! | Adam for chosen rows | `selective_adam/` |
//! | rows of packed tensors | `rows/` |
//! | distances to the nearest points | `neighbours/` |
//! | structural similarity | `ssim/` |
//!
//! `common/` holds headers that several include.

pub mod directions;
pub mod harmonics;
pub mod neighbours;
mod programs;
pub mod projection;
pub mod quat_scale;
pub mod rasterize;
pub mod rows;
pub mod selective_adam;
mod slice;
mod slots;
pub mod ssim;
#[cfg(test)]
mod tests;
pub mod tile_pairs;

pub use programs::programs;
pub use slice::{Bools, DeviceSlice, Floats, Ints, Longs};

use crate::device::driver::{Card, NoCard, RestoreContext};
use crate::device::error::{device_error, failed};
use crate::device::params::Params;
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Device, Kernel, Kernels, Program, Replacements, machine_code, nvrtc};
use crate::ops::SOURCES;
use slots::Slots;
use splatcore_core::BackendError;
use std::sync::Arc;

/// Threads of a block where a kernel has no reason for another number.
const BLOCK: u32 = 256;

/// A device with the kernels that were loaded so far. To be opened once for each device.
pub struct Tensors {
    /// None for a device that is not a card.
    card: Option<Arc<Card>>,
    kernels: Kernels,
    slots: Arc<Slots>,
}

impl Tensors {
    /// Opens a card by its number in the driver's order, which is torch's.
    ///
    /// # Errors
    /// If there is no driver, no such card, neither kernels that are built in for the card nor a
    /// compiler, or the card is too old.
    pub fn open(ordinal: usize) -> Result<Self, NoCard> {
        let _restored = crate::device::driver::driver_info().map(|_| RestoreContext::new())?;
        let card = Arc::new(Card::open(Some(ordinal))?);
        machine_code::check(card.capability()).map_err(|_| NoCard {
            reason: "NVIDIA's run-time compiler (libnvrtc) was not found".into(),
            remedy: nvrtc::REMEDY.into(),
        })?;
        card.keep_freed_memory().map_err(|error| NoCard {
            reason: error.to_string(),
            remedy: "check nvidia-smi for other programs that hold it".into(),
        })?;
        Ok(Self {
            card: Some(card.clone()),
            kernels: kernels_of(card),
            slots: Arc::default(),
        })
    }

    /// Any device, such as the emulator, whose queue takes the place of every stream.
    pub fn of_device(device: Arc<dyn Device>) -> Self {
        Self {
            card: None,
            kernels: kernels_of(device),
            slots: Arc::default(),
        }
    }

    /// Where launches go: a raw `cudaStream_t`, 0 for the default stream.
    ///
    /// # Safety
    /// The stream belongs to this device and lives as long as the result.
    pub unsafe fn on_stream(&self, stream: u64) -> OnStream<'_> {
        let restored = self.card.as_ref().map(|_| RestoreContext::new());
        let device = match &self.card {
            // SAFETY: the caller's promise.
            Some(card) => Arc::new(unsafe { card.on_stream(stream) }),
            None => self.kernels.device().clone(),
        };
        OnStream {
            kernels: &self.kernels,
            slots: &self.slots,
            stream,
            queue: Queue::new(device),
            restored,
        }
    }
}

fn kernels_of(device: Arc<dyn Device>) -> Kernels {
    Kernels::replaced(device, Replacements::of_environment(SOURCES))
}

/// A stream of a device, for the calls of one thread; the thread's current context is the same
/// again after it is dropped.
pub struct OnStream<'a> {
    kernels: &'a Kernels,
    slots: &'a Arc<Slots>,
    stream: u64,
    queue: Queue,
    /// None where there is no card.
    restored: Option<RestoreContext>,
}

impl OnStream<'_> {
    fn kernels<const N: usize>(&self, program: &Program) -> Result<[Kernel; N], BackendError> {
        let kernels = self.kernels.get(program).map_err(failed)?;
        kernels
            .try_into()
            .map_err(|_| wrong_program(program.name()))
    }

    /// Launches the only kernel of a program in `blocks` blocks.
    fn launch_one<P: Params>(
        &self,
        program: &Program,
        blocks: usize,
        block: u32,
        params: &P,
    ) -> Result<(), BackendError> {
        if blocks == 0 {
            return Ok(());
        }
        let [kernel] = self.kernels(program)?;
        self.queue.launch(kernel, grid(blocks)?, block, params)
    }

    /// Zeroes a tensor.
    fn zero<T>(&self, slice: DeviceSlice<T>) -> Result<(), BackendError> {
        if slice.is_empty() {
            return Ok(());
        }
        // SAFETY: `DeviceSlice::new`'s promise.
        unsafe { self.queue.device.fill(slice.address(), 0, slice.bytes()) }.map_err(failed)
    }
}

/// The number of blocks as launches take it.
fn grid(blocks: usize) -> Result<u32, BackendError> {
    match i32::try_from(blocks) {
        Ok(blocks) => Ok(blocks as u32),
        Err(_) => Err(device_error(format!(
            "{blocks} blocks of threads are more than a launch may have; split the tensors"
        ))),
    }
}

/// A size as kernels take it.
fn word(name: &str, size: usize) -> Result<u32, BackendError> {
    match i32::try_from(size) {
        Ok(size) => Ok(size as u32),
        Err(_) => Err(device_error(format!(
            "{name} is {size}, but may be 2147483647 at most"
        ))),
    }
}
