//! What a learner does when the device's memory is short.
//!
//! If it may offload (`CudaLearner::offloads`), it first keeps room for the splats that frames have
//! and no longer for one of each Gaussian, then moves arrays of the state to the host's memory
//! ([`crate::ops::offload`]), one after another, until what found no memory finds it. Neither
//! changes a bit. In a step that is taken together with other ranks arrays alone move, and the call
//! that found no memory is made again, not the step: others have gone on with it.

use super::CudaLearner;
use super::memory::first_splats;
use splatcore_core::BackendError;
use splatcore_core::backend::HostMemory;

impl CudaLearner {
    /// Tries until there is memory, or nothing more can be done for it.
    pub(super) fn with_memory<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Self) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        loop {
            let error = match attempt(self) {
                // Without a number of free bytes it is not the device's memory that is short.
                Err(error @ BackendError::OutOfMemory { free: Some(_), .. }) => error,
                done => return done,
            };
            match self.make_memory() {
                Ok(true) => {}
                Ok(false) | Err(BackendError::OutOfMemory { .. }) => return Err(error),
                Err(error) => return Err(error),
            }
        }
    }

    /// A call of a step, which ranks try until there is memory. Before it has all that it
    /// allocates it exchanges nothing and changes nothing that it reads.
    pub(super) fn in_step<T>(
        &mut self,
        mut call: impl FnMut(&mut Self) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        match self.sharing {
            Some(_) => self.with_memory(call),
            None => call(self),
        }
    }

    /// Takes less memory of the device, if it can.
    fn make_memory(&mut self) -> Result<bool, BackendError> {
        if !self.offloads {
            return Ok(false);
        }
        if self.whole_leaves()? {
            return Ok(true);
        }
        let in_step = (self.sharing.as_ref()).is_some_and(|sharing| !sharing.is_whole);
        if in_step || self.passes.work.is_narrow() {
            return self.state.offload_next();
        }
        self.narrow().map(|()| true)
    }

    /// Keeps no longer room for one splat of each Gaussian.
    pub(super) fn narrow(&mut self) -> Result<(), BackendError> {
        self.passes.narrow(first_splats(self.state.count))
    }

    /// What the last step moved, and what lies there; nothing is pending.
    pub(super) fn in_host(&self) -> HostMemory {
        let in_host = self.state.in_host();
        let unseen = match self.leaves_unseen {
            true => 0,
            false => (self.state.count as u64).saturating_sub(self.seen),
        };
        HostMemory {
            bytes: in_host.bytes,
            moved: self.seen * in_host.seen + unseen * in_host.unseen,
        }
    }
}
