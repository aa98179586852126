//! A refinement from beginning to end: which round it is, and whether the host waits for it.

use super::densifier::{Densify, Waits};
use super::params::{BeginRefinementParams, EndRefinementParams};
use super::reserve::is_plenty;
use super::totals::{self, Launched, Numbers, Totals};
use crate::device::Buffer;
use crate::ops::counters::Counters;
use crate::ops::state::State;
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, RefineReport};

impl Densify {
    /// Whether [`Densify::launch`] takes this refinement of this state. The host must know the
    /// count, but for a reset.
    pub fn can_launch(&self, state: &State, refine: &Refine) -> bool {
        let most = match *refine {
            Refine::Adc { .. } => state.count + self.growth_of(state.count),
            Refine::Mcmc { .. } | Refine::ResetOpacity { .. } | Refine::FadeOpacity { .. } => {
                state.count
            }
            _ => return false,
        };
        state.count > 0 && is_plenty(&self.device, state.bytes_of(2 * most))
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

    /// Applies one refinement, with the verdicts on floaters that it asks for, and waits until it
    /// is done. Deterministic.
    ///
    /// # Errors
    /// If memory is short (the state is then as before, perhaps with more capacity), there would be
    /// 2^31 Gaussians or more, or the device failed.
    pub fn refine(
        &mut self,
        state: &mut State,
        refine: &Refine,
        verdicts: Option<&Buffer>,
    ) -> Result<RefineReport, BackendError> {
        // The last two are the learner's, which has the cameras.
        if state.count == 0
            || matches!(
                refine,
                Refine::ComputeColumn(_) | Refine::LimitScales { .. }
            )
        {
            return Ok(RefineReport {
                count: state.count,
                ..RefineReport::default()
            });
        }
        self.counters.fill(0, size_of::<Counters>())?;
        let counters = self.counters.address();
        let before = state.count;
        let (_, numbers) = self.apply(state, refine, verdicts, counters, Waits::ForSizes)?;
        let report = self.note(refine, before, &self.ring.read_one(numbers)?);
        state.count = report.count;
        Ok(report)
    }

    fn apply(
        &mut self,
        state: &mut State,
        refine: &Refine,
        verdicts: Option<&Buffer>,
        counters: u64,
        waits: Waits,
    ) -> Result<(usize, Numbers), BackendError> {
        let (place, numbers) = self.ring.take();
        let applied = self.launch_all(state, refine, verdicts, (numbers, counters), waits);
        self.pool.trim();
        applied.map(|()| (place, numbers))
    }

    fn launch_all(
        &self,
        state: &mut State,
        refine: &Refine,
        verdicts: Option<&Buffer>,
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
            Refine::Adc { .. } => self.adc(state, refine, (numbers, counters), waits)?,
            Refine::PruneFloaters { .. } | Refine::PruneByColumn(_) => {
                self.prune(state, refine, verdicts, (numbers, counters))?;
            }
            Refine::ComputeColumn(_) | Refine::LimitScales { .. } => {}
            Refine::ResetOpacity { ceiling } => self.reset_opacity(state, *ceiling, numbers)?,
            &Refine::FadeOpacity { factor, floor } => {
                self.fade_opacity(state, (factor, floor), numbers)?;
            }
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
}
