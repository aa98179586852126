//! The refinements' kernels, what they keep on the device, and what all rounds share: the three
//! shapes of launches, the memory of a refinement and the sizes that it decides.

use super::kernels::{Kernels, THREADS, TILE_ROWS, program};
use super::params::DecideSizesParams;
use super::pool::{Lent, Pool};
use super::totals::{Numbers, Ring, Totals};
use crate::device::error::failed;
use crate::device::params::Params;
use crate::device::queue::{launch, wrong_program};
use crate::device::{self, Buffer, Device, Kernel};
use crate::ops::counters::Counters;
use splatcore_core::BackendError;
use std::sync::Arc;

/// A round of adc gets room to grow by at least one part in this many.
const MIN_GROWTH: usize = 16;
/// Blocks a multiprocessor of kernels that walk over tiles.
const BLOCKS_A_MULTIPROCESSOR: usize = 16;

/// Whether a refinement may wait for the device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waits {
    /// It takes room for the most that there may be.
    Never,
    /// It takes room for what there is.
    ForSizes,
}

/// The kernels, compiled, and what they keep from one refinement to the next.
pub struct Densify {
    pub(super) device: Arc<dyn Device>,
    pub(super) kernels: Kernels,
    pub(super) pool: Pool,
    /// The numbers of the last refinements.
    pub(super) ring: Ring,
    /// For refinements that the host waits for.
    pub(super) counters: Buffer,
    /// Rows by which the last reported round of adc grew for a moment, and its Gaussians before.
    pub(super) growth: Option<(usize, usize)>,
}

/// What every refinement needs beside the state.
pub(super) struct Work<'a> {
    /// Bits a Gaussian, u8.
    pub actions: Lent<'a>,
    /// Where its numbers are.
    pub numbers: Numbers,
}

impl Densify {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// If compiling failed.
    pub fn new(programs: &device::Kernels) -> Result<Self, BackendError> {
        let device = programs.device().clone();
        let kernels = Kernels::new(programs.get(&program()).map_err(failed)?)
            .ok_or_else(|| wrong_program("densify"))?;
        Ok(Self {
            kernels,
            pool: Pool::new(device.clone()),
            ring: Ring::new(&device)?,
            counters: Buffer::from_slice(
                &device,
                "counters of a refinement",
                &[Counters::default()],
            )?,
            growth: None,
            device,
        })
    }

    /// Bytes on the device between refinements, but for what is kept where memory is plenty.
    pub fn bytes(&self) -> u64 {
        (self.ring.bytes() + self.counters.bytes()) as u64
    }

    /// Address of the numbers of all refinements that can be in the queue.
    pub fn totals_address(&self) -> u64 {
        self.ring.address()
    }

    /// The numbers of the last refinements. Waits for the device.
    ///
    /// # Errors
    /// If the device failed.
    pub fn totals(&self) -> Result<Totals, BackendError> {
        self.ring.read()
    }

    /// Rows that a round of adc over `n` Gaussians is given to grow by for a moment: twice what the
    /// last one took. All launches until the host hears of it are for so many more, and what it
    /// wants beyond them overflows.
    pub(super) fn growth_of(&self, n: usize) -> usize {
        let (rows, of) = self.growth.unwrap_or((n, 2 * n));
        let twice = 2.0 * rows as f64 * n as f64 / of.max(1) as f64;
        (twice as usize).max(n / MIN_GROWTH).max(THREADS)
    }

    /// Rows that there may be for a moment in a round of adc over so many.
    pub fn rows_after(&self, n: usize) -> usize {
        n + self.growth_of(n)
    }

    /// Tells that a round over `before` Gaussians wanted room for so many rows.
    pub fn expect_growth(&mut self, rows: u64, before: usize) {
        self.growth = Some(((rows as usize).saturating_sub(before), before));
    }

    /// Room for the actions of a refinement of `n` Gaussians.
    pub(super) fn work(&self, n: usize, numbers: Numbers) -> Result<Work<'_>, BackendError> {
        Ok(Work {
            actions: self.pool.take("actions of a refinement", n)?,
            numbers,
        })
    }

    /// Decides the sizes by who is kept, cloned and split; the lists and arrays have room for
    /// `rows`.
    pub(super) fn decide_sizes(
        &self,
        work: &Work<'_>,
        rows: usize,
        counters: u64,
    ) -> Result<(), BackendError> {
        let (numbers, rows) = (work.numbers.address(), rows as u32);
        self.one(
            self.kernels.decide_sizes,
            1,
            &DecideSizesParams {
                totals: numbers,
                most_rows: rows,
                counters,
            },
        )
    }

    /// Launches a kernel with a thread an item.
    pub(super) fn each<P: Params>(
        &self,
        kernel: Kernel,
        items: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        let grid = items.div_ceil(THREADS).max(1) as u32;
        launch(&*self.device, kernel, grid, THREADS as u32, params)
    }

    /// Launches a kernel of one block.
    pub(super) fn one<P: Params>(
        &self,
        kernel: Kernel,
        threads: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        launch(&*self.device, kernel, 1, threads as u32, params)
    }

    /// Launches a kernel that walks over tiles of rows.
    pub(super) fn tiles<P: Params>(
        &self,
        kernel: Kernel,
        rows: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        let most = self.device.multiprocessors() as usize * BLOCKS_A_MULTIPROCESSOR;
        let grid = rows.div_ceil(TILE_ROWS).clamp(1, most) as u32;
        launch(&*self.device, kernel, grid, THREADS as u32, params)
    }
}
