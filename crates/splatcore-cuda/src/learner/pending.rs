//! Which steps has the device done, and what if it stopped?
//!
//! A step is launched and left alone: it is *pending* until the host has seen the device's counters beyond it. Should a
//! frame want more pairs than there is room for, the device changes nothing from that step on (`Counters::halted`); the
//! host makes room and takes the missing steps again from their plans.

use super::CudaLearner;
use crate::device::buffer::failed;
use crate::frame::Counters;
use splatcore_core::BackendError;
use splatcore_core::backend::{StageTimes, StepPlan};

/// Steps between two looks at the counters; the queue holds at most twice as many.
pub(super) const LOOK_EVERY: usize = 16;

impl CudaLearner {
    /// Takes the steps that the counters know of from the pending ones.
    fn confirm(&mut self, counters: &Counters) {
        let done = (counters.steps as usize).saturating_sub(self.confirmed);
        let done = done.min(self.pending.len());
        self.pending.drain(..done);
        self.confirmed += done;
    }

    /// Reads what the last look saw, which is long past, and looks again: the device always has steps left to do while the
    /// host waits.
    fn look(&mut self) -> Result<(), BackendError> {
        let device = self.frame.queue.device.clone();
        if let (true, Some(event)) = (self.looking, &self.looked) {
            device.wait(event).map_err(failed)?;
            // SAFETY: the queue has passed the copy.
            let counters: Counters = unsafe { self.mirror.value() };
            self.confirm(&counters);
            if counters.halted != 0 {
                return self.settle().map(drop);
            }
            if self.state.count == 0 {
                // There is no thread to count the steps.
                self.pending.clear();
            }
        }
        let (from, bytes) = (self.frame.counters_address(), size_of::<Counters>());
        // SAFETY: the counters are so large, and the mirror is read only after the event.
        unsafe { self.mirror.download(from, bytes) }.map_err(failed)?;
        match &self.looked {
            Some(event) => device.record_again(event).map_err(failed)?,
            None => self.looked = Some(device.record().map_err(failed)?),
        }
        (self.looking, self.unseen) = (true, 0);
        Ok(())
    }

    /// Reads the marks that were left, all of which the queue has passed. Steps of a halted device did no work: their
    /// times are of nothing.
    fn read_marks(&mut self, halted: bool) -> Result<(), BackendError> {
        for marks in self.profiled.drain(..).filter(|_| !halted) {
            self.profile.add_step(marks.times()?);
        }
        for marks in self.refined.drain(..) {
            self.profile.refine += marks.times()?.iter().map(|(_, seconds)| seconds).sum::<f64>();
        }
        Ok(())
    }

    /// Remembers a step that is not taken if this is why.
    pub(super) fn note_left_out<T>(&mut self, plan: &StepPlan, result: &Result<T, BackendError>) {
        if matches!(result, Err(BackendError::OutOfMemory { .. })) {
            self.left_out.push(plan.view);
        }
    }

    /// Notes a step that is in the queue, and looks now and then how far the device is.
    pub(super) fn launched(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.pending.push(plan.clone());
        self.unseen += 1;
        if self.unseen >= LOOK_EVERY {
            self.look()?;
        }
        Ok(())
    }

    /// Waits until every step asked for is done. Returns how often room had to be made for that.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`] if a step's frame does not fit: that step is left out, all others are done.
    pub(super) fn settle(&mut self) -> Result<u32, BackendError> {
        let mut rounds = 0;
        loop {
            let counters = self.frame.counters()?;
            self.confirm(&counters);
            self.read_marks(counters.halted != 0)?;
            (self.confirmed, self.unseen, self.looking) = (0, 0, false);
            self.frame.forget()?;
            if counters.halted == 0 {
                // Without Gaussians there is no thread to count the steps.
                self.pending.clear();
                return Ok(rounds);
            }
            let missing = std::mem::take(&mut self.pending);
            let mut again = self.frame.reserve_pairs(counters.needed);
            for plan in &missing {
                again = again.and_then(|()| self.launch(plan));
            }
            match again {
                Ok(()) => self.pending = missing,
                Err(BackendError::OutOfMemory { .. }) => {
                    let done = self.frame.counters()?.steps as usize;
                    self.frame.forget()?;
                    return self.one_by_one(&missing[done.min(missing.len())..]);
                }
                Err(error) => return Err(error),
            }
            rounds += 1;
        }
    }

    /// Takes steps one after the other, so that one whose frame does not fit takes no other with it.
    fn one_by_one(&mut self, plans: &[StepPlan]) -> Result<u32, BackendError> {
        let mut first_error = Ok(plans.len() as u32);
        for plan in plans {
            let taken = self.alone(plan, false);
            self.note_left_out(plan, &taken);
            match taken {
                Ok(_) => {}
                Err(error @ BackendError::OutOfMemory { .. }) => first_error = first_error.and(Err(error)),
                Err(error) => return Err(error),
            }
        }
        first_error
    }

    /// Takes one step and waits for it.
    pub(super) fn alone(&mut self, plan: &StepPlan, timed: bool) -> Result<StageTimes, BackendError> {
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
            if counters.halted == 0 {
                return times;
            }
            self.frame.reserve_pairs(counters.needed)?;
        }
    }
}

impl Drop for CudaLearner {
    fn drop(&mut self) {
        if let Some(event) = self.looked.take() {
            self.frame.queue.device.discard(event);
        }
    }
}
