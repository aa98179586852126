//! `densify`: changes of the set of Gaussians, on the device; launches `ops/densify/densify.cu`,
//! which says how and how fast. CPU twin: `splatcore_cpu::densify`; the order of Gaussians
//! afterwards is the same.
//!
//! Memory beside the state: lists of some 5 (adc) to 21 (mcmc) bytes a Gaussian, and scratch of 32
//! bytes a Gaussian to compact through; kept for the next refinement where memory is plenty
//! (`pool`).
//!
//! Where the host waits: not at all where memory is plenty ([`Densify::launch`]). Sizes stay on the
//! device, the host launches for the most that there may be, and learns the numbers with the look
//! that tells it how far the steps are. It guesses how much room adc's growth takes from the rounds
//! before; should that be too little, the frame overflows as it does when pairs have no room. Where
//! memory is short, and for what asks for scores, [`Densify::refine`] waits for the sizes and
//! reserves no more than they ask for.
//!
//! What costs time is allocating and freeing (each free waits for the device), and growing the
//! state by way of the host, a tenth at a time: both are left to where memory is short.

mod adc;
mod mcmc;
mod pool;
mod prune;
mod rows;
mod totals;

pub use rows::reserve;
pub use totals::{Launched, REFINEMENTS, Totals};

use adc::{
    AdcAdmitParams, AdcChooseParams, AdcDecideParams, SelectDigitParams, SelectHistogramParams,
    SplitChildrenParams,
};
use mcmc::{
    McmcDrawParams, McmcMarkDeadParams, McmcShareParams, WeightScanParams, WeightSumsParams,
};
use pool::{Lent, Pool};
use prune::PruneMarkParams;
use rows::Compacted;
use rows::{ClearRowsParams, CopyRowsParams, GatherRowsParams, PutRowsParams};
use totals::{Numbers, Ring};

use crate::device::buffer::failed;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{launch, wrong_program};
use crate::device::{Buffer, Device, Kernel, Program, Signature};
use crate::ops::counters::Counters;
use crate::ops::score::DeviceScores;
use crate::ops::sources;
use crate::ops::state::{LOG_SCALES, OPACITIES, State};
use splatcore_core::backend::{Refine, RefineReport};
use splatcore_core::gaussians::logit;
use splatcore_core::{BackendError, Choice};
use std::sync::Arc;

kernel_params! {
    /// Parameters of `begin_refinement` (densify.cu).
    pub struct BeginRefinementParams {
        totals: Address,
        gaussians: Address,
        counters: Address,
    }

    /// Parameters of `end_refinement` (densify.cu).
    pub struct EndRefinementParams {
        totals: Address,
        gaussians: Address,
        counters: Address,
    }

    /// Parameters of `cap_opacity` (densify.cu).
    pub struct CapOpacityParams {
        logits: Address,
        all: Address,
        ceiling: f32,
        log_scales: Address,
        smoothing: Address,
    }

    /// Parameters of `decide_sizes` (densify.cu).
    pub struct DecideSizesParams {
        totals: Address,
        most_rows: u32,
        counters: Address,
    }

    /// Parameters of `scan_sums` (densify.cu).
    pub struct ScanSumsParams {
        sums: Address,
        count: u32,
        total: Address,
    }

    /// Parameters of `list_count` (densify.cu).
    pub struct ListCountParams {
        actions: Address,
        bits: u32,
        n: u32,
        sums: Address,
    }

    /// Parameters of `list_write` (densify.cu).
    pub struct ListWriteParams {
        actions: Address,
        bits: u32,
        n: u32,
        sums: Address,
        wanted: Address,
        list: Address,
    }
}

/// Threads of a block and rows of a tile, as in the kernel file.
const THREADS: usize = 256;
const TILE_ROWS: usize = 64;
/// Blocks a multiprocessor of kernels that walk over tiles.
const BLOCKS_A_MULTIPROCESSOR: usize = 16;

/// A round of adc is given room to grow by at least this part.
const LEAST_GROWTH: usize = 16;

/// Bits of a Gaussian's action, as in the kernel file.
const EQUAL: u32 = 2;
const KEPT: u32 = 4;
const CLONED: u32 = 8;
const SPLIT: u32 = 16;
const DEAD: u32 = 32;

macro_rules! kernels {
    ($($name:ident: $params:ty),* $(,)?) => {
        struct Kernels { $($name: Kernel),* }
        impl Kernels {
            fn signatures() -> Vec<Signature> {
                vec![$(<$params>::kernel(stringify!($name))),*]
            }
            fn new(loaded: Vec<Kernel>) -> Option<Self> {
                let mut loaded = loaded.into_iter();
                Some(Self { $($name: loaded.next()?),* })
            }
        }
    };
}

kernels!(
    begin_refinement: BeginRefinementParams,
    end_refinement: EndRefinementParams,
    scan_sums: ScanSumsParams,
    list_count: ListCountParams,
    list_write: ListWriteParams,
    select_histogram: SelectHistogramParams,
    select_digit: SelectDigitParams,
    adc_choose: AdcChooseParams,
    adc_admit: AdcAdmitParams,
    adc_decide: AdcDecideParams,
    decide_sizes: DecideSizesParams,
    split_children: SplitChildrenParams,
    prune_mark: PruneMarkParams,
    cap_opacity: CapOpacityParams,
    mcmc_mark_dead: McmcMarkDeadParams,
    weight_sums: WeightSumsParams,
    weight_scan: WeightScanParams,
    mcmc_draw: McmcDrawParams,
    mcmc_share: McmcShareParams,
    copy_rows: CopyRowsParams,
    clear_rows: ClearRowsParams,
    gather_rows: GatherRowsParams,
    put_rows: PutRowsParams,
);

/// What [`Densify`] compiles.
pub fn program() -> Program {
    sources::program("densify.cu", Vec::new(), Kernels::signatures())
}

/// Whether a refinement may wait for the device.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// It takes room for the most that there may be.
    Never,
    /// It takes room for what there is.
    ForSizes,
}

/// The kernels.
pub struct Densify {
    device: Arc<dyn Device>,
    kernels: Kernels,
    pool: Pool,
    /// The numbers of the last refinements.
    ring: Ring,
    /// For refinements that the host waits for.
    counters: Buffer,
    /// By how many rows the last round of adc that was heard of grew for a moment, and of how many
    /// Gaussians.
    growth: Option<(usize, usize)>,
}

/// What every refinement needs beside the state.
struct Work<'a> {
    /// Bits a Gaussian, u8.
    actions: Lent<'a>,
    /// Where its numbers are.
    numbers: Numbers,
}

impl Densify {
    /// Compiles the kernels.
    ///
    /// # Errors
    /// If compiling failed.
    pub fn new(device: Arc<dyn Device>) -> Result<Self, BackendError> {
        let kernels = Kernels::new(device.load(&program()).map_err(failed)?)
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

    /// Whether [`Densify::launch`] takes this refinement of this state. The host must know the
    /// count, but for a reset.
    pub fn can_launch(&self, state: &State, refine: &Refine) -> bool {
        let most = match *refine {
            Refine::Adc {
                consistency: None, ..
            } => state.count + self.growth_of(state.count),
            Refine::Mcmc { .. } | Refine::ResetOpacity { .. } => state.count,
            _ => return false,
        };
        state.count > 0 && rows::is_plenty(&self.device, state.bytes_of(2 * most))
    }

    /// Rows that a round of adc over `n` Gaussians is given to grow by for a moment: twice what the
    /// last one took. All launches until the host hears of it are for so many more, and what it
    /// wants beyond them overflows.
    fn growth_of(&self, n: usize) -> usize {
        let (rows, of) = self.growth.unwrap_or((n, 2 * n));
        let twice = 2.0 * rows as f64 * n as f64 / of.max(1) as f64;
        (twice as usize).max(n / LEAST_GROWTH).max(THREADS)
    }

    /// Tells that a round over `before` Gaussians wanted room for so many rows.
    pub fn expect_growth(&mut self, rows: u64, before: usize) {
        self.growth = Some(((rows as usize).saturating_sub(before), before));
    }

    /// Puts a refinement into the queue and waits for nothing. `state.count` is what there may be
    /// at most afterwards. The device does nothing if it has overflowed before, overflows if there
    /// is too little room (`counters.rows` says how much there must be), and else counts the
    /// refinement as a step. What came of it: [`Densify::hear`].
    ///
    /// # Errors
    /// If memory is short, there would be 2^31 Gaussians or more, or the device failed; nothing has
    /// changed then.
    pub fn launch(
        &mut self,
        state: &mut State,
        refine: &Refine,
        counters: u64,
    ) -> Result<Launched, BackendError> {
        let before = state.count;
        let (place, _) = self.apply(state, refine, None, counters, Waits::Never)?;
        Ok(Launched { place, before })
    }

    /// What came of a refinement that the device has done; `totals` are as of then or later, but
    /// not of [`totals::REFINEMENTS`] refinements later.
    pub fn take_report(
        &mut self,
        refine: &Refine,
        launched: Launched,
        totals: &Totals,
    ) -> RefineReport {
        self.note(refine, launched.before, totals.of(launched.place))
    }

    fn note(
        &mut self,
        refine: &Refine,
        before: usize,
        numbers: &[u64; totals::PLACES],
    ) -> RefineReport {
        if let Refine::Adc { .. } = refine {
            self.growth = Some((numbers[totals::APPENDED] as usize, before));
        }
        totals::report(refine, numbers)
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

    /// Applies one refinement, with the scores that it asks for, and waits until it is done.
    /// Deterministic.
    ///
    /// # Errors
    /// If memory is short (the state is then as before, perhaps with more capacity), there would be
    /// 2^31 Gaussians or more, or the device failed.
    pub fn refine(
        &mut self,
        state: &mut State,
        refine: &Refine,
        scores: Option<&DeviceScores>,
    ) -> Result<RefineReport, BackendError> {
        // The last two are the learner's, which has the cameras.
        if state.count == 0
            || matches!(refine, Refine::SmoothingFilter | Refine::LimitScales { .. })
        {
            return Ok(RefineReport {
                count: state.count,
                ..RefineReport::default()
            });
        }
        self.counters.fill(0, size_of::<Counters>())?;
        let counters = self.counters.address();
        let before = state.count;
        let (_, numbers) = self.apply(state, refine, scores, counters, Waits::ForSizes)?;
        let report = self.note(refine, before, &self.ring.read_one(numbers)?);
        state.count = report.count;
        Ok(report)
    }

    fn apply(
        &mut self,
        state: &mut State,
        refine: &Refine,
        scores: Option<&DeviceScores>,
        counters: u64,
        waits: Waits,
    ) -> Result<(usize, Numbers), BackendError> {
        let (place, numbers) = self.ring.take();
        let applied = self.launch_all(state, refine, scores, (numbers, counters), waits);
        self.pool.trim();
        applied.map(|()| (place, numbers))
    }

    fn launch_all(
        &self,
        state: &mut State,
        refine: &Refine,
        scores: Option<&DeviceScores>,
        (numbers, counters): (Numbers, u64),
        waits: Waits,
    ) -> Result<(), BackendError> {
        let (address, gaussians) = (numbers.address(), state.device_count.address());
        self.one(
            self.kernels.begin_refinement,
            32,
            &BeginRefinementParams {
                totals: address,
                gaussians,
                counters,
            },
        )?;
        match refine {
            Refine::Adc { .. } => self.adc(state, refine, scores, (numbers, counters), waits)?,
            Refine::Prune { .. } | Refine::PruneFloaters { .. } => {
                self.prune(state, refine, scores, (numbers, counters))?;
            }
            Refine::SmoothingFilter | Refine::LimitScales { .. } => {}
            Refine::ResetOpacity { ceiling } => self.reset_opacity(state, *ceiling, numbers)?,
            Refine::Mcmc { .. } => self.mcmc(state, refine, numbers)?,
        }
        self.one(
            self.kernels.end_refinement,
            1,
            &EndRefinementParams {
                totals: address,
                gaussians,
                counters,
            },
        )?;
        match refine {
            Refine::Adc { .. } | Refine::Mcmc { .. } => self.clear_statistics(state, numbers),
            _ => Ok(()),
        }
    }

    fn work(&self, n: usize, numbers: Numbers) -> Result<Work<'_>, BackendError> {
        Ok(Work {
            actions: self.pool.take("actions of a refinement", n)?,
            numbers,
        })
    }

    fn reset_opacity(
        &self,
        state: &State,
        ceiling: f32,
        numbers: Numbers,
    ) -> Result<(), BackendError> {
        let group = &state.groups[OPACITIES];
        let (logits, all, ceiling) = (
            group.parameters.address(),
            numbers.at(totals::ALL),
            logit(ceiling),
        );
        let scales = state.groups[LOG_SCALES].parameters.address();
        let smoothing = state.smoothing_address();
        self.each(
            self.kernels.cap_opacity,
            state.count,
            &CapOpacityParams {
                logits,
                all,
                ceiling,
                log_scales: scales,
                smoothing,
            },
        )?;
        let [_, first, second] = group.row_bytes();
        for (moments, row_bytes) in [(&group.first, first), (&group.second, second)] {
            self.clear(moments, row_bytes, 0, all, state.count)?;
        }
        Ok(())
    }

    /// Launches a kernel with a thread an item.
    fn each<P: Params>(
        &self,
        kernel: Kernel,
        items: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        let grid = items.div_ceil(THREADS).max(1) as u32;
        launch(&*self.device, kernel, grid, THREADS as u32, params)
    }

    /// Launches a kernel of one block.
    fn one<P: Params>(
        &self,
        kernel: Kernel,
        threads: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        launch(&*self.device, kernel, 1, threads as u32, params)
    }

    /// Launches a kernel that walks over tiles of rows.
    fn tiles<P: Params>(
        &self,
        kernel: Kernel,
        rows: usize,
        params: &P,
    ) -> Result<(), BackendError> {
        let most = self.device.multiprocessors() as usize * BLOCKS_A_MULTIPROCESSOR;
        let grid = rows.div_ceil(TILE_ROWS).clamp(1, most) as u32;
        launch(&*self.device, kernel, grid, THREADS as u32, params)
    }

    /// A sum a block for [`Densify::scan`].
    fn sums(&self, n: usize) -> Result<Lent<'_>, BackendError> {
        let bytes = n.div_ceil(THREADS) * size_of::<u64>();
        self.pool.take("sums of a refinement", bytes)
    }

    /// Decides the sizes by who is kept, cloned and split; the lists and arrays have room for
    /// `rows`.
    fn decide_sizes(
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

    /// Turns the blocks' sums into the sums before each block; the total goes to `total`.
    fn scan(&self, sums: &Buffer, n: usize, total: u64) -> Result<(), BackendError> {
        let (address, count) = (sums.address(), n.div_ceil(THREADS) as u32);
        self.one(
            self.kernels.scan_sums,
            THREADS,
            &ScanSumsParams {
                sums: address,
                count,
                total,
            },
        )
    }

    /// First half of a list of the Gaussians with one of `bits`: how many there are goes to
    /// `total`.
    fn count(
        &self,
        work: &Work<'_>,
        bits: u32,
        n: usize,
        total: usize,
    ) -> Result<Lent<'_>, BackendError> {
        let sums = self.sums(n)?;
        let (actions, count, address) = (work.actions.address(), n as u32, sums.address());
        self.each(
            self.kernels.list_count,
            n,
            &ListCountParams {
                actions,
                bits,
                n: count,
                sums: address,
            },
        )?;
        self.scan(&sums, n, work.numbers.at(total))?;
        Ok(sums)
    }

    /// Second half: writes their indices in order, u32, to `list`, which has room for as many as
    /// the total of that name, unless that is 0.
    fn list(
        &self,
        work: &Work<'_>,
        (bits, total): (u32, usize),
        n: usize,
        sums: &Buffer,
        list: &Buffer,
    ) -> Result<(), BackendError> {
        let (actions, count, sums, list) = (
            work.actions.address(),
            n as u32,
            sums.address(),
            list.address(),
        );
        let wanted = work.numbers.at(total);
        self.each(
            self.kernels.list_write,
            n,
            &ListWriteParams {
                actions,
                bits,
                n: count,
                sums,
                wanted,
                list,
            },
        )
    }

    /// Room for a list of Gaussians.
    fn indices(&self, count: usize) -> Result<Lent<'_>, BackendError> {
        self.pool
            .take("lists of a refinement", count * size_of::<u32>())
    }

    /// Sets rows from `base` on to zero, as many as the u64 at `wanted` says, at most `most`.
    fn clear(
        &self,
        array: &Buffer,
        row_bytes: usize,
        base: usize,
        wanted: u64,
        most: usize,
    ) -> Result<(), BackendError> {
        debug_assert!((base + most) * row_bytes <= array.bytes());
        let (address, row_bytes, no_list, base) =
            (array.address(), row_bytes as u32, 0u64, base as u32);
        self.tiles(
            self.kernels.clear_rows,
            most,
            &ClearRowsParams {
                array: address,
                row_bytes,
                list: no_list,
                base,
                wanted,
            },
        )
    }

    /// Behind the end of a refinement, which says how many Gaussians there are.
    fn clear_statistics(&self, state: &State, numbers: Numbers) -> Result<(), BackendError> {
        for statistic in [&state.gradient_sum, &state.seen] {
            self.clear(
                statistic,
                size_of::<u32>(),
                0,
                numbers.at(totals::AFTER),
                state.count,
            )?;
        }
        Ok(())
    }
}

/// Kernels count rows in 32 bits.
fn check_rows(rows: usize) -> Result<(), BackendError> {
    if rows > i32::MAX as usize {
        return Err(BackendError::TooLarge {
            what: format!(
                "a refinement would make {rows} Gaussians, {} are the most",
                i32::MAX
            ),
            depends_on: &[Choice::GaussianCount],
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests;
