//! What both passes run on: queue, kernels, counters, scratch memory, splats.

use crate::device::error::failed;
use crate::device::queue::Queue;
use crate::device::{Address, Buffer, Kernel, Kernels, Program};
use crate::ops::clear::{self, ClearParams};
use crate::ops::counters::{COUNTERS_BYTES, Counters};
use crate::ops::lens::{KernelLens, LensKind};
use crate::ops::project::RAY_BYTES;
use bytemuck::Zeroable;
use splatcore_core::BackendError;
use std::sync::Arc;

/// Bytes of a splat (ops/shared/splat.cuh).
pub(super) const SPLAT_BYTES: usize = 48;

/// See the module's documentation.
pub struct Work {
    /// The queue that everything runs in.
    pub queue: Queue,
    /// Compiled programs.
    pub kernels: Arc<Kernels>,
    counters: Buffer,
    /// States, histograms, ranges: what a frame needs zeroed lies at the start.
    scratch: Buffer,
    /// Several ranks fill one of them while the other is rendered.
    splats: [Buffer; 2],
    /// Which of them the frame has, and of other pairs of buffers.
    set: usize,
    /// What depths along rays follow from, for blends that read it.
    rays: Buffer,
    /// Of the camera of the last frame that was projected; `None` for a pinhole.
    pub lens: Option<KernelLens>,
    /// Splats of a frame that there is to be room for; `None` for one of each Gaussian.
    splat_room: Option<usize>,
    /// The same of a frame whose splats several ranks projected.
    pub shared_room: Option<usize>,
}

impl Work {
    /// Empty buffers.
    ///
    /// # Errors
    /// If not even that fits.
    pub fn new(queue: Queue, kernels: Arc<Kernels>) -> Result<Self, BackendError> {
        let device = &queue.device;
        Ok(Self {
            counters: Buffer::from_slice(device, "counters", &[0u8; COUNTERS_BYTES])?,
            scratch: Buffer::new(device, "states of a frame", 0)?,
            splats: Buffer::two(device, "projected Gaussians", 0)?,
            set: 0,
            rays: Buffer::new(device, "projected Gaussians along rays", 0)?,
            lens: None,
            splat_room: None,
            shared_room: None,
            queue,
            kernels,
        })
    }

    /// Address of the counters.
    pub fn counters(&self) -> Address {
        self.counters.address()
    }

    /// What the camera is.
    pub fn lens_kind(&self) -> LensKind {
        self.lens.map_or(LensKind::Pinhole, |lens| lens.kind())
    }

    /// That lens as kernels take it.
    pub fn kernel_lens(&self) -> KernelLens {
        self.lens.unwrap_or_else(KernelLens::zeroed)
    }

    /// Waits for the queue and returns the counters.
    ///
    /// # Errors
    /// If the device failed.
    pub fn read_counters(&self) -> Result<Counters, BackendError> {
        let mut counters = [Counters::default()];
        self.counters.read(0, &mut counters)?;
        Ok(counters[0])
    }

    /// Starts counting anew.
    ///
    /// # Errors
    /// If the device failed.
    pub fn reset_counters(&self) -> Result<(), BackendError> {
        self.counters.fill(0, COUNTERS_BYTES)
    }

    /// Address of the splats of the last frame, by compacted index.
    pub fn splats(&self) -> Address {
        self.splats_in(self.set)
    }

    /// The same of the frame that has a set.
    pub fn splats_in(&self, set: usize) -> Address {
        self.splats[set].address()
    }

    /// Which set the last frame has.
    pub fn set(&self) -> usize {
        self.set
    }

    /// From now on frames have this set, 0 or 1.
    pub fn choose_set(&mut self, set: usize) {
        self.set = set;
    }

    /// Splats that a frame of so many Gaussians has room for. Who sees more overflows.
    pub fn splats_of(&self, gaussians: usize) -> usize {
        match (self.shared_room, self.splat_room) {
            (Some(room), _) => room,
            (None, Some(room)) => room.min(gaussians),
            (None, None) => gaussians,
        }
    }

    /// Whether there is less room than one splat for each Gaussian.
    pub fn is_narrow(&self) -> bool {
        self.splat_room.is_some()
    }

    /// From now on frames have room for so many splats; what there is goes.
    ///
    /// # Errors
    /// If the device failed.
    pub fn narrow(&mut self, splats: usize) -> Result<(), BackendError> {
        self.splat_room = Some(splats);
        self.splats.iter_mut().try_for_each(Buffer::clear)?;
        self.rays.clear()
    }

    /// From now on frames have room for so many splats, and for a quarter more.
    pub fn widen(&mut self, splats: usize) {
        if let Some(room) = self.splat_room.filter(|&room| room < splats) {
            self.splat_room = Some(room.max(splats + splats / 4));
        }
    }

    /// Makes room for splats.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve_splats(&mut self, gaussians: usize) -> Result<(), BackendError> {
        self.reserve_splats_in(self.set, gaussians)
    }

    /// As [`Work::reserve_splats`], in a set.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve_splats_in(&mut self, set: usize, gaussians: usize) -> Result<(), BackendError> {
        reserve_rows(&mut self.splats[set], SPLAT_BYTES, gaussians)
    }

    /// Address of what depths along rays follow from, by compacted index.
    pub fn rays(&self) -> Address {
        self.rays.address()
    }

    /// Makes room for what depths along rays follow from.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve_rays(&mut self, gaussians: usize) -> Result<(), BackendError> {
        reserve_rows(&mut self.rays, RAY_BYTES, gaussians)
    }

    /// Makes room for so many bytes of scratch memory.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve_scratch(&mut self, bytes: usize) -> Result<(), BackendError> {
        self.scratch.reserve(bytes).map(drop)
    }

    /// Address of what lies at an offset of the scratch memory.
    pub fn scratch_at(&self, offset: usize) -> Address {
        self.scratch.address() + offset as u64
    }

    /// Waits for the queue and copies what lies at an address of [`Work::scratch_at`].
    ///
    /// # Errors
    /// If there is not so much or the device failed.
    pub fn read_scratch(&self, at: Address, data: &mut [[u32; 2]]) -> Result<(), BackendError> {
        self.scratch
            .read((at - self.scratch.address()) as usize, data)
    }

    /// Zeroes the first `bytes` bytes of the scratch memory, and of the counters what does not last
    /// through the frames of a training.
    ///
    /// # Errors
    /// If the launch failed.
    pub fn clear(&self, kernel: Kernel, bytes: usize) -> Result<(), BackendError> {
        let params = ClearParams {
            cleared: self.scratch.address(),
            count: (bytes / clear::PIECE_BYTES) as u64,
            counters: self.counters(),
        };
        clear::launch(&self.queue, kernel, &params)
    }

    /// Compiles programs that are not compiled yet, at the same time.
    ///
    /// # Errors
    /// If one does not compile.
    pub fn prepare(&self, programs: &[Program]) -> Result<(), BackendError> {
        self.kernels.prepare(programs).map_err(failed)
    }

    /// Blocks for the long-list queue.
    pub fn long_blocks(&self, gaussians: usize) -> u32 {
        (gaussians as u32).min(8 * self.queue.device.multiprocessors())
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let splats: usize = self.splats.iter().map(Buffer::bytes).sum();
        (self.scratch.bytes() + splats + self.rays.bytes()) as u64
    }
}

/// Makes room for a row of so many bytes for each Gaussian, and for an eighth more if there is not
/// enough.
fn reserve_rows(
    buffer: &mut Buffer,
    row_bytes: usize,
    gaussians: usize,
) -> Result<(), BackendError> {
    if row_bytes * gaussians > buffer.bytes() {
        buffer.reserve_exactly(row_bytes * (gaussians + gaussians / 8))?;
    }
    Ok(())
}
