//! `densify`: changes of the set of Gaussians, on the device; launches `kernels/densify.cu`, which says how and how fast.
//! CPU twin: `splatcore_cpu::densify`; the order of Gaussians afterwards is the same.
//!
//! Memory beside the state: lists of some 5 (adc) to 21 (mcmc) bytes a Gaussian, and scratch of 32 bytes a Gaussian to
//! compact through; kept for the next refinement where memory is plenty (`pool`).
//!
//! Where the host waits: once for the sizes of an adc or prune round (72 bytes), because the room that they need is
//! allocated by the host; once at the end of an mcmc round, for the report; the learner waits once before any of them, so
//! that no step is pending. 144 rounds of adc wait 288 times, 244 of mcmc 488 times, some 20 us each with what the device
//! then stands idle: 6 and 10 ms of a training of half a minute. That is not worth capacities that the device decides on.
//! What did cost time was allocating and freeing (each free waits for the device) some nine buffers a round, and growing
//! the state by way of the host, a tenth at a time: both are left to where memory is short.

mod adc;
mod mcmc;
mod pool;
mod prune;
mod rows;

pub use rows::reserve;

use pool::{Lent, Pool};

use crate::device::buffer::{device_error, failed};
use crate::device::program::files;
use crate::device::{Buffer, Device, Kernel, Program};
use crate::launch::arguments;
use crate::learner::DeviceScores;
use crate::state::{LOG_SCALES, OPACITIES, State};
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, RefineReport};
use splatcore_core::gaussians::logit;
use std::ffi::c_void;
use std::sync::Arc;

/// Threads of a block and rows of a tile, as in the kernel file.
const THREADS: usize = 256;
const TILE_ROWS: usize = 64;
/// Blocks a multiprocessor of kernels that walk over tiles.
const BLOCKS_A_MULTIPROCESSOR: usize = 16;

/// Bits of a Gaussian's action, as in the kernel file.
const EQUAL: u32 = 2;
const KEPT: u32 = 4;
const CLONED: u32 = 8;
const SPLIT: u32 = 16;
const DEAD: u32 = 32;

/// Places in [`Work::totals`], u64 each; the first two as in the kernel file.
const TOTAL_CLONED: usize = 0;
const TOTAL_SPLIT: usize = 1;
const TOTAL_MOVED: usize = 2;
const TOTAL_KEPT: usize = 3;
const TOTAL_CLONES: usize = 4;
const TOTAL_PARENTS: usize = 5;
const TOTAL_LISTED: usize = 6;
const TOTAL_WEIGHT: usize = 7;
const TOTAL_ADDED: usize = 8;
const TOTALS: usize = 9;

macro_rules! kernels {
    ($($name:ident),* $(,)?) => {
        struct Kernels { $($name: Kernel),* }
        impl Kernels {
            const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];
            fn new(loaded: Vec<Kernel>) -> Option<Self> {
                let mut loaded = loaded.into_iter();
                Some(Self { $($name: loaded.next()?),* })
            }
        }
    };
}

kernels!(
    scan_sums,
    list_count,
    list_write,
    select_histogram,
    select_digit,
    adc_choose,
    adc_admit,
    adc_decide,
    split_children,
    prune_mark,
    cap_opacity,
    mcmc_mark_dead,
    weight_sums,
    weight_scan,
    mcmc_draw,
    mcmc_share,
    copy_rows,
    clear_rows,
    gather_rows,
);

/// What [`Densify`] compiles.
pub fn program() -> Program {
    Program {
        op: "densify",
        files: files!["random.cuh", "smoothing.cuh", "densify.cu"],
        constants: Vec::new(),
        kernels: Kernels::NAMES,
    }
}

/// The kernels.
pub struct Densify {
    device: Arc<dyn Device>,
    kernels: Kernels,
    pool: Pool,
}

/// What every refinement needs beside the state.
struct Work<'a> {
    /// Bits a Gaussian, u8.
    actions: Lent<'a>,
    /// See the `TOTAL_` constants.
    totals: Lent<'a>,
}

impl<'a> Work<'a> {
    fn new(pool: &'a Pool, n: usize) -> Result<Self, BackendError> {
        let totals = pool.take("totals of a refinement", TOTALS * size_of::<u64>())?;
        totals.fill(0, TOTALS * size_of::<u64>())?;
        Ok(Self {
            actions: pool.take("actions of a refinement", n)?,
            totals,
        })
    }

    /// Address of a total.
    fn total(&self, place: usize) -> u64 {
        self.totals.address() + (place * size_of::<u64>()) as u64
    }
}

impl Densify {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// If compiling failed.
    pub fn new(device: Arc<dyn Device>) -> Result<Self, BackendError> {
        let kernels = Kernels::new(device.load(&program()).map_err(failed)?)
            .ok_or_else(|| device_error("the program of densify has other kernels than asked for".into()))?;
        let pool = Pool::new(device.clone());
        Ok(Self {
            device,
            kernels,
            pool,
        })
    }

    /// Applies one refinement, with the scores that it asks for. Waits for the device once. Deterministic.
    ///
    /// # Errors
    /// If memory is short (the state is then as before, perhaps with more capacity), there would be 2^31 Gaussians or
    /// more, or the device failed.
    pub fn refine(
        &self,
        state: &mut State,
        refine: &Refine,
        scores: Option<&DeviceScores>,
    ) -> Result<RefineReport, BackendError> {
        let refined = self.apply(state, refine, scores);
        self.pool.trim();
        refined
    }

    fn apply(
        &self,
        state: &mut State,
        refine: &Refine,
        scores: Option<&DeviceScores>,
    ) -> Result<RefineReport, BackendError> {
        let mut report = match *refine {
            _ if state.count == 0 => RefineReport::default(),
            Refine::Adc { .. } => self.adc(state, refine, scores)?,
            Refine::Prune { .. } | Refine::PruneFloaters { .. } => self.prune(state, refine, scores)?,
            // The learner's, which has the cameras.
            Refine::SmoothingFilter | Refine::LimitScales { .. } => RefineReport::default(),
            Refine::ResetOpacity { ceiling } => {
                self.reset_opacity(state, ceiling)?;
                RefineReport::default()
            }
            Refine::Mcmc { .. } => self.mcmc(state, refine)?,
        };
        report.count = state.count;
        Ok(report)
    }

    fn reset_opacity(&self, state: &State, ceiling: f32) -> Result<(), BackendError> {
        let group = &state.groups[OPACITIES];
        let (logits, n, ceiling) = (group.parameters.address(), state.count as u32, logit(ceiling));
        let scales = state.groups[LOG_SCALES].parameters.address();
        let smoothing = state.smoothing_address();
        // SAFETY: the arguments of cap_opacity.
        unsafe {
            self.each(
                self.kernels.cap_opacity,
                state.count,
                &mut arguments![logits, n, ceiling, scales, smoothing],
            )
        }?;
        for moments in [&group.first, &group.second] {
            self.zero(moments, 0, moments.bytes())?;
        }
        Ok(())
    }

    /// Launches a kernel with a thread an item.
    ///
    /// # Safety
    /// The arguments are those of the kernel.
    unsafe fn each(
        &self,
        kernel: Kernel,
        items: usize,
        arguments: &mut [*mut c_void],
    ) -> Result<(), BackendError> {
        let grid = items.div_ceil(THREADS).max(1) as u32;
        // SAFETY: the caller's.
        unsafe { self.device.launch(kernel, grid, THREADS as u32, arguments) }.map_err(failed)
    }

    /// Launches a kernel of one block.
    ///
    /// # Safety
    /// The arguments are those of the kernel.
    unsafe fn one(
        &self,
        kernel: Kernel,
        threads: usize,
        arguments: &mut [*mut c_void],
    ) -> Result<(), BackendError> {
        // SAFETY: the caller's.
        unsafe { self.device.launch(kernel, 1, threads as u32, arguments) }.map_err(failed)
    }

    /// Launches a kernel that walks over tiles of rows.
    ///
    /// # Safety
    /// The arguments are those of the kernel.
    unsafe fn tiles(
        &self,
        kernel: Kernel,
        rows: usize,
        arguments: &mut [*mut c_void],
    ) -> Result<(), BackendError> {
        let most = self.device.multiprocessors() as usize * BLOCKS_A_MULTIPROCESSOR;
        let grid = rows.div_ceil(TILE_ROWS).clamp(1, most) as u32;
        // SAFETY: the caller's.
        unsafe { self.device.launch(kernel, grid, THREADS as u32, arguments) }.map_err(failed)
    }

    /// A sum a block for [`Densify::scan`].
    fn sums(&self, n: usize) -> Result<Lent<'_>, BackendError> {
        let bytes = n.div_ceil(THREADS) * size_of::<u64>();
        self.pool.take("sums of a refinement", bytes)
    }

    /// Turns the blocks' sums into the sums before each block; the total goes to `total`.
    fn scan(&self, sums: &Buffer, n: usize, total: u64) -> Result<(), BackendError> {
        let (address, count) = (sums.address(), n.div_ceil(THREADS) as u32);
        // SAFETY: the arguments of scan_sums.
        unsafe {
            self.one(
                self.kernels.scan_sums,
                THREADS,
                &mut arguments![address, count, total],
            )
        }
    }

    /// First half of a list of the Gaussians with one of `bits`: how many there are goes to `total`.
    fn count(&self, work: &Work<'_>, bits: u32, n: usize, total: usize) -> Result<Lent<'_>, BackendError> {
        let sums = self.sums(n)?;
        let (actions, count, address) = (work.actions.address(), n as u32, sums.address());
        // SAFETY: the arguments of list_count.
        unsafe {
            self.each(
                self.kernels.list_count,
                n,
                &mut arguments![actions, bits, count, address],
            )
        }?;
        self.scan(&sums, n, work.total(total))?;
        Ok(sums)
    }

    /// Second half: writes their indices in order, u32, to `list`, which has room for all.
    fn list(
        &self,
        work: &Work<'_>,
        bits: u32,
        n: usize,
        sums: &Buffer,
        list: &Buffer,
    ) -> Result<(), BackendError> {
        let (actions, count, sums, list) = (work.actions.address(), n as u32, sums.address(), list.address());
        // SAFETY: the arguments of list_write.
        unsafe {
            self.each(
                self.kernels.list_write,
                n,
                &mut arguments![actions, bits, count, sums, list],
            )
        }
    }

    /// Room for a list of Gaussians.
    fn indices(&self, count: usize) -> Result<Lent<'_>, BackendError> {
        self.pool.take("lists of a refinement", count * size_of::<u32>())
    }

    /// Sets `bytes` bytes from byte `at` on, which the buffer has, to zero.
    fn zero(&self, buffer: &Buffer, at: usize, bytes: usize) -> Result<(), BackendError> {
        debug_assert!(at + bytes <= buffer.bytes());
        // SAFETY: the buffer has that many.
        unsafe { self.device.fill(buffer.address() + at as u64, 0, bytes) }.map_err(failed)
    }

    fn clear_statistics(&self, state: &State) -> Result<(), BackendError> {
        for statistic in [&state.gradient_sum, &state.seen] {
            self.zero(statistic, 0, statistic.bytes())?;
        }
        Ok(())
    }
}

/// Kernels count rows in 32 bits.
fn check_rows(rows: usize) -> Result<(), BackendError> {
    if rows > i32::MAX as usize {
        return Err(BackendError::Input(format!(
            "a refinement would make {rows} Gaussians, {} are the most; use --max-gaussians",
            i32::MAX
        )));
    }
    Ok(())
}
