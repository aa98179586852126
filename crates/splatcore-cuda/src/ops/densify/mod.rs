//! `densify`: changes of the set of Gaussians, on the device; launches `ops/densify/densify.cu`,
//! which says how and how fast. CPU twin: `splatcore_cpu::densify`; the order of Gaussians
//! afterwards is the same.
//!
//! This file takes a refinement and launches its beginning and end. Between them stand the steps of
//! a method: `adc` (with `adc_choose`), `mcmc`, `prune`, `reset_opacity`. They share `lists` of
//! Gaussians, `totals` (the counts, on the device), `rows` (append, overwrite, compact), `reserve`
//! (room for more) and `pool` (memory beside the state). `kernels` names the kernels.
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
mod adc_choose;
mod kernels;
mod lists;
mod mcmc;
mod pool;
mod prune;
mod reserve;
mod reset_opacity;
mod rows;
mod totals;

pub use kernels::program;
pub use reserve::reserve;
pub use totals::{Launched, REFINEMENTS, Totals};

use kernels::{Kernels, THREADS};
use lists::{CLONED, DEAD, EQUAL, KEPT, SPLIT};
use pool::{Lent, Pool};
use reserve::{check_rows, is_plenty};
use rows::Compacted;
use totals::{BeginRefinementParams, EndRefinementParams, Numbers, Ring};

use crate::device::buffer::failed;
use crate::device::queue::wrong_program;
use crate::device::{Buffer, Device};
use crate::ops::counters::Counters;
use crate::ops::score::DeviceScores;
use crate::ops::state::{OPACITIES, State};
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, RefineReport};
use std::sync::Arc;

/// A round of adc is given room to grow by at least this part.
const LEAST_GROWTH: usize = 16;

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
        state.count > 0 && is_plenty(&self.device, state.bytes_of(2 * most))
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
    /// refinement as a step. What came of it: [`Densify::take_report`].
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
}

#[cfg(test)]
mod tests;
