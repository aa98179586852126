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
use crate::device::buffer::failed;
use crate::device::queue::Marks;
use crate::ops::counters::Counters;
use crate::ops::densify::{self, Launched, Totals};
use bytemuck::Zeroable;
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, StageTimes, StepPlan};

/// Steps and refinements between two looks at the counters; the queue holds at most twice as many.
pub(super) const POLL_EVERY: usize = 16;
const _: () = assert!(2 * POLL_EVERY <= densify::REFINEMENTS);

/// What is in the queue.
pub(super) enum Pending {
    Step(StepPlan),
    Refine {
        refine: Refine,
        launched: Launched,
        marks: Marks,
    },
}

/// What is asked for again.
enum Missing {
    Step(StepPlan),
    Refine(Refine),
}

impl CudaLearner {
    /// Takes what the counters know of from what is pending, and hears what came of refinements.
    fn confirm(&mut self, counters: &Counters, totals: &Totals) -> Result<(), BackendError> {
        let done = (counters.steps as usize).saturating_sub(self.confirmed);
        let done = done.min(self.pending.len());
        self.confirmed += done;
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

    /// Reads what the last look saw, which is long past, and looks again: the device always has
    /// steps left to do while the host waits.
    fn look(&mut self) -> Result<(), BackendError> {
        let device = self.frame.queue.device.clone();
        if let (true, Some(event)) = (self.polling, &self.polled) {
            device.wait(event).map_err(failed)?;
            // SAFETY: the queue has passed the copies.
            let (counters, totals) = unsafe {
                (
                    self.mirror.value::<Counters>(),
                    self.numbers.value::<Totals>(),
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
        let (from, bytes) = (self.frame.counters_address(), size_of::<Counters>());
        let (numbers, all) = (self.densify.totals_address(), size_of::<Totals>());
        // SAFETY: counters and numbers are so large, and the mirrors are read only after the event.
        unsafe {
            self.mirror.download(from, bytes).map_err(failed)?;
            self.numbers.download(numbers, all).map_err(failed)?;
        }
        match &self.polled {
            Some(event) => device.record_again(event).map_err(failed)?,
            None => self.polled = Some(device.record().map_err(failed)?),
        }
        (self.polling, self.unseen) = (true, 0);
        Ok(())
    }

    /// Reads the marks that were left by steps, all of which the queue has passed. Those of a
    /// overflowed device did no work: their times are of nothing.
    fn read_marks(&mut self, overflowed: bool) -> Result<(), BackendError> {
        for marks in self.profiled.drain(..).filter(|_| !overflowed) {
            self.profile.add_step(marks.times()?);
        }
        Ok(())
    }

    /// Remembers a step that is not taken if this is why.
    pub(super) fn note_left_out<T>(&mut self, plan: &StepPlan, result: &Result<T, BackendError>) {
        if matches!(result, Err(BackendError::OutOfMemory { .. })) {
            self.left_out.push(plan.view);
        }
    }

    /// Notes what is in the queue, and looks now and then how far the device is.
    pub(super) fn launched(&mut self, pending: Pending) -> Result<(), BackendError> {
        self.pending.push(pending);
        self.unseen += 1;
        if self.unseen >= POLL_EVERY {
            self.look()?;
        }
        Ok(())
    }

    /// Waits until every step and refinement asked for is done. Returns how often room had to be
    /// made for that.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] if a step's frame, or what a refinement adds, does not fit:
    /// that one is left out, all others are done.
    pub(super) fn synchronise(&mut self) -> Result<u32, BackendError> {
        let mut rounds = 0;
        loop {
            let (counters, missing) = self.missing()?;
            if missing.is_empty() {
                return Ok(rounds);
            }
            let mut again = self.make_room(&counters, &missing);
            let mut launched = 0;
            while let (Ok(()), Some(missing)) = (&again, missing.get(launched)) {
                again = self
                    .launch_again(missing)
                    .map(|pending| self.pending.push(pending));
                launched += again.is_ok() as usize;
            }
            match again {
                Ok(()) => rounds += 1,
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
        let counters = self.frame.counters()?;
        let refined = |pending: &Pending| matches!(pending, Pending::Refine { .. });
        let totals = match self.pending.iter().any(refined) {
            true => self.densify.totals()?,
            false => Totals::zeroed(),
        };
        self.confirm(&counters, &totals)?;
        self.read_marks(counters.overflowed != 0)?;
        (self.confirmed, self.unseen, self.polling) = (0, 0, false);
        self.frame.forget()?;
        let pending = std::mem::take(&mut self.pending);
        if counters.overflowed == 0 {
            // Without Gaussians there is no thread to count the steps.
            return Ok((counters, Vec::new()));
        }
        let before = pending.iter().find_map(|pending| match pending {
            // A reset leaves the count alone, and is not told what it is.
            Pending::Step(_)
            | Pending::Refine {
                refine: Refine::ResetOpacity { .. },
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
        self.frame.reserve_pairs(counters.needed)
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
                    self.note_left_out(plan, &taken);
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
                self.frame.queue.start_marks()?;
            }
            let launched = self.launch(plan);
            // Whatever happened: later steps leave no marks.
            let times = self.frame.queue.take_times();
            let counters = self.frame.counters()?;
            self.frame.forget()?;
            launched?;
            if counters.overflowed == 0 {
                return times;
            }
            self.frame.reserve_pairs(counters.needed)?;
        }
    }
}

impl Drop for CudaLearner {
    fn drop(&mut self) {
        if let Some(event) = self.polled.take() {
            self.frame.queue.device.discard(event);
        }
    }
}
