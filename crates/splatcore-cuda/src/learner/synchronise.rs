//! Which steps and refinements has the device done, and what if it stopped?
//!
//! Each is launched and left alone: it is *pending* until the host has seen the device's counters
//! beyond it. Should a frame want more pairs than there is room for, or a refinement more
//! Gaussians, the device changes nothing from there on (`Counters::overflowed`); the host makes
//! room and asks again for what is missing.
//!
//! By how much a round of adc grew, the host knows only once it has seen the device beyond it.
//! Until then `state.count` is the most that there may be, by which the next steps are launched;
//! how many there are is on the device (`State::device_count`).

use super::CudaLearner;
use super::pending::{Missing, Pending};
use crate::device::error::failed;
use crate::ops::counters::Counters;
use crate::ops::densify::{self, Totals};
use bytemuck::Zeroable;
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, StageTimes, StepPlan};

/// Steps and refinements between two polls of the counters; the queue holds at most twice as many.
pub(super) const POLL_EVERY: usize = 16;
const _: () = assert!(2 * POLL_EVERY <= densify::REFINEMENTS);

impl CudaLearner {
    /// Takes what the counters know of from what is pending, and takes the reports of refinements.
    fn confirm(&mut self, counters: &Counters, totals: &Totals) -> Result<(), BackendError> {
        let done = (counters.steps as usize).saturating_sub(self.confirmed);
        let done = done.min(self.pending.len());
        self.confirmed += done;
        if done > 0 {
            self.seen = counters.visible.into();
        }
        let done: Vec<Pending> = self.pending.drain(..done).collect();
        for pending in done {
            let Pending::Refine {
                refine,
                launched,
                marks,
            } = pending
            else {
                continue;
            };
            let report = self.densify.take_report(&refine, launched, totals);
            self.profile.refine += marks
                .times()?
                .iter()
                .map(|(_, seconds)| seconds)
                .sum::<f64>();
            self.reports.push(report);
            self.known = report.count;
            if let Refine::Adc { .. } = refine {
                // There is no other round behind it: one begins where the count is known.
                self.state.count = report.count;
                self.guessed = false;
            }
        }
        Ok(())
    }

    /// Reads what the last poll asked for, which is long past, and polls again: the device always
    /// has steps left to do while the host waits.
    fn poll(&mut self) -> Result<(), BackendError> {
        let device = self.passes.queue().device.clone();
        if let (true, Some(event)) = (self.polling, &self.polled) {
            device.wait(event).map_err(failed)?;
            // SAFETY: the queue has passed the copies.
            let (counters, totals) = unsafe {
                (
                    self.counters_mirror.value::<Counters>(),
                    self.totals_mirror.value::<Totals>(),
                )
            };
            self.confirm(&counters, &totals)?;
            if counters.overflowed != 0 {
                return self.synchronise().map(drop);
            }
            if self.state.count == 0 {
                // There is no thread to count the steps.
                self.pending.clear();
            }
        }
        let (from, bytes) = (self.passes.work.counters(), size_of::<Counters>());
        let (totals, all) = (self.densify.totals_address(), size_of::<Totals>());
        // SAFETY: counters and totals are so large, and the mirrors are read only after the event.
        unsafe {
            self.counters_mirror.download(from, bytes).map_err(failed)?;
            self.totals_mirror.download(totals, all).map_err(failed)?;
        }
        match &self.polled {
            Some(event) => device.record_again(event).map_err(failed)?,
            None => self.polled = Some(device.record().map_err(failed)?),
        }
        (self.polling, self.unpolled) = (true, 0);
        Ok(())
    }

    /// Reads the marks that were left by steps, all of which the queue has passed. After an
    /// overflow they did no work: their times are of nothing.
    fn read_marks(&mut self, overflowed: bool) -> Result<(), BackendError> {
        for marks in self.profiled.drain(..).filter(|_| !overflowed) {
            self.profile.add_step(marks.times()?);
        }
        Ok(())
    }

    /// Remembers a step that is not taken if this is why.
    pub(super) fn note_skipped<T>(&mut self, plan: &StepPlan, result: &Result<T, BackendError>) {
        if matches!(result, Err(BackendError::OutOfMemory { .. })) {
            self.skipped_views.extend(&plan.views);
            self.poses.forget(plan.step);
            self.intrinsics.forget(plan.step);
        }
    }

    /// Notes what is in the queue, and polls now and then how far the device is.
    pub(super) fn launched(&mut self, pending: Pending) -> Result<(), BackendError> {
        self.pending.push(pending);
        self.unpolled += 1;
        if self.unpolled >= POLL_EVERY {
            self.poll()?;
        }
        Ok(())
    }

    /// Waits until every step and refinement asked for is done. Returns how often room had to be
    /// made for that.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] if a step's frame, or what a refinement adds, does not fit:
    /// that one is left out, all others are done; a learner that is one of several ranks is at its
    /// end.
    pub(super) fn synchronise(&mut self) -> Result<u32, BackendError> {
        let mut rounds = 0;
        loop {
            let (counters, missing) = self.missing()?;
            if missing.is_empty() {
                return Ok(rounds);
            }
            let mut again = self.with_memory(|learner| learner.make_room(&counters, &missing));
            let mut launched = 0;
            while let (Ok(()), Some(missing)) = (&again, missing.get(launched)) {
                again = self
                    .launch_again(missing)
                    .map(|pending| self.pending.push(pending));
                launched += again.is_ok() as usize;
            }
            match again {
                Ok(()) => rounds += 1,
                // Without the step that does not fit the others' exchanges would not be those of
                // the other ranks.
                Err(error @ BackendError::OutOfMemory { .. }) if self.sharing.is_some() => {
                    return Err(error);
                }
                Err(BackendError::OutOfMemory { .. }) => {
                    let (_, mut left) = self.missing()?;
                    left.extend(missing.into_iter().skip(launched));
                    return self.one_by_one(&left);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits for the queue; returns what it has not done because the device overflowed, which is so
    /// no more, and the counters. Nothing is pending then, and the count is known.
    fn missing(&mut self) -> Result<(Counters, Vec<Missing>), BackendError> {
        let counters = self.passes.counters()?;
        let refined = |pending: &Pending| matches!(pending, Pending::Refine { .. });
        let totals = match self.pending.iter().any(refined) {
            true => self.densify.totals()?,
            false => Totals::zeroed(),
        };
        self.confirm(&counters, &totals)?;
        self.read_marks(counters.overflowed != 0)?;
        (self.confirmed, self.unpolled, self.polling) = (0, 0, false);
        self.passes.work.reset_counters()?;
        let pending = std::mem::take(&mut self.pending);
        if counters.overflowed == 0 {
            // Without Gaussians there is no thread to count the steps.
            return Ok((counters, Vec::new()));
        }
        let before = pending.iter().find_map(|pending| match pending {
            // A reset leaves the count alone, and is not told what it is.
            Pending::Step(_)
            | Pending::Refine {
                refine: Refine::ResetOpacity { .. } | Refine::FadeOpacity { .. },
                ..
            } => None,
            Pending::Refine { launched, .. } => Some(launched.before),
        });
        if let Some(before) = before {
            self.state.count = before;
            self.guessed = false;
        }
        let missing = pending.into_iter().map(|pending| match pending {
            Pending::Step(plan) => Missing::Step(plan),
            Pending::Refine { refine, .. } => Missing::Refine(refine),
        });
        Ok((counters, missing.collect()))
    }

    /// For what overflowed the device.
    fn make_room(&mut self, counters: &Counters, missing: &[Missing]) -> Result<(), BackendError> {
        if let (Some(Missing::Refine(_)), 1..) = (missing.first(), counters.rows) {
            self.densify.expect_growth(counters.rows, self.state.count);
        }
        self.make_frame_room(counters)
    }

    /// For what a frame wanted that overflowed the device.
    fn make_frame_room(&mut self, counters: &Counters) -> Result<(), BackendError> {
        if let Some(sharing) = &mut self.sharing {
            sharing.widen()?;
        }
        self.passes.make_sorted_room(counters)
    }

    fn launch_again(&mut self, missing: &Missing) -> Result<Pending, BackendError> {
        match missing {
            Missing::Step(plan) => self.launch(plan).map(|()| Pending::Step(plan.clone())),
            Missing::Refine(refine) => self.launch_refine(refine),
        }
    }

    /// Takes steps and refinements one after the other, so that one that does not fit takes no
    /// other with it.
    fn one_by_one(&mut self, missing: &[Missing]) -> Result<u32, BackendError> {
        let mut first_error = Ok(missing.len() as u32);
        for missing in missing {
            let taken = match missing {
                Missing::Step(plan) => {
                    let taken = self.alone(plan, false).map(drop);
                    self.note_skipped(plan, &taken);
                    taken
                }
                Missing::Refine(refine) => self
                    .refine_synchronised(refine)
                    .map(|report| self.reports.push(report)),
            };
            match taken {
                Ok(()) => {}
                Err(error @ BackendError::OutOfMemory { .. }) => {
                    first_error = first_error.and(Err(error))
                }
                Err(error) => return Err(error),
            }
        }
        first_error
    }

    /// Takes one step and waits for it.
    pub(super) fn alone(
        &mut self,
        plan: &StepPlan,
        timed: bool,
    ) -> Result<StageTimes, BackendError> {
        loop {
            if timed {
                self.passes.queue().start_marks()?;
            }
            let launched = self.launch_or_synchronise(plan);
            // Whatever happened: later steps leave no marks.
            let times = self.passes.queue().take_times();
            let counters = self.passes.counters()?;
            self.passes.work.reset_counters()?;
            launched?;
            if counters.overflowed == 0 {
                return times;
            }
            self.with_memory(|learner| learner.make_frame_room(&counters))?;
        }
    }
}

impl Drop for CudaLearner {
    fn drop(&mut self) {
        if let Some(event) = self.polled.take() {
            self.passes.queue().device.discard(event);
        }
    }
}
