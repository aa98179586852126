//! When do ranks divide the larger arrays of the state, and how are images made of it then?
//!
//! They do before one of them would have to keep a part of the state in the host's memory
//! ([`crate::ops::division`]). What is still too large then leaves the device, as it does on one
//! card.

use super::CudaLearner;
use super::memory;
use crate::device::{Buffer, Device, Place};
use crate::ops::adam::moments::Moments;
use crate::ops::division::{Division, any};
use crate::ops::offload::{self, Headroom};
use crate::ops::state::{SH, Whole};
use crate::peers::Peers;
use splatcore_core::BackendError;
use splatcore_core::backend::{LearnerState, Refine};
use std::sync::Arc;

impl CudaLearner {
    /// How the ranks divide a state that is to be uploaded, if there are any; without headroom
    /// nothing may leave the device.
    pub(super) fn division_at_start(
        device: &Arc<dyn Device>,
        state: &LearnerState,
        moments: Moments,
        (peers, headroom): (Option<&Arc<dyn Peers>>, Option<Headroom>),
    ) -> Result<Option<Division>, BackendError> {
        let count = state.gaussians.len();
        let rows = offload::row_bytes(state.gaussians.sh_degree, moments);
        let free = headroom.map(|headroom| device.memory().0.saturating_sub(headroom.of(count)));
        Division::if_short(peers, device, count, (rows, free))
    }

    /// How the ranks divide a state that replaces the one that is there.
    pub(super) fn division_for(
        &self,
        state: &LearnerState,
    ) -> Result<Option<Division>, BackendError> {
        let device = self.passes.queue().device.clone();
        let headroom = memory::headroom(memory::most_pixels(self.photos.views()));
        let had = device.memory().0 + self.state.bytes();
        let free = had.saturating_sub(headroom.of(state.gaussians.len()));
        let rows = offload::row_bytes(state.gaussians.sh_degree, self.state.moments);
        let peers = self.sharing.as_ref().map(|sharing| &sharing.peers);
        let free = self.offloads.then_some(free);
        Division::if_short(peers, &device, state.gaussians.len(), (rows, free))
    }

    /// Divides the state if it would not fit after a refinement. All ranks ask; every row is as it
    /// should be.
    pub(super) fn divide_before(&mut self, refine: &Refine) -> Result<(), BackendError> {
        let Some(sharing) = &self.sharing else {
            return Ok(());
        };
        let rows = match *refine {
            Refine::Adc { .. } => self.densify.rows_after(self.state.count),
            Refine::Mcmc { growth, .. } => {
                (self.state.count as f64 * (1.0 + f64::from(growth))) as usize
            }
            _ => return Ok(()),
        };
        if self.state.division.is_some() {
            return Ok(());
        }
        let device = self.passes.queue().device.clone();
        let pixels = memory::most_pixels(self.photos.views());
        let wanted = self.state.bytes_of(rows) + memory::headroom(pixels).of(rows);
        let had = device.memory().0 + self.state.bytes();
        let is_short = self.offloads && (self.state.in_host().bytes > 0 || wanted > had);
        let peers = Arc::clone(&sharing.peers);
        if any(&*peers, &device, is_short)? {
            let division = Division::new(peers, self.state.count);
            self.state.divide(division)?;
            self.narrow()?;
        }
        Ok(())
    }

    /// Brings the harmonics of all ranks together if the state is divided, for images of the whole
    /// scene; until the next step or refinement. Then one rank alone may make images.
    pub(super) fn whole_harmonics(&mut self) -> Result<(), BackendError> {
        if self
            .sharing
            .as_ref()
            .is_none_or(|sharing| sharing.whole.is_some())
        {
            return Ok(());
        }
        let (count, row_bytes) = (self.state.count, self.state.groups[SH].row_bytes()[0]);
        let device = self.passes.queue().device.clone();
        let Some(collector) = self.with_memory(|learner| learner.state.collector())? else {
            return Ok(());
        };
        let harmonics = self.with_memory(|learner| {
            let new =
                |place| Buffer::new_in(place, &device, "harmonics of all ranks", row_bytes * count);
            match new(Place::Device) {
                Err(BackendError::OutOfMemory { .. }) if learner.offloads => new(Place::Host),
                made => made,
            }
        })?;
        collector.rows(
            &self.state.groups[SH].parameters,
            row_bytes,
            |rows, stage, at| {
                let (to, bytes) = (row_bytes * rows.start, row_bytes * rows.len());
                match harmonics.place() {
                    Place::Device => harmonics.copy_part(to, stage, at, bytes),
                    Place::Host => harmonics.write(to, &stage.slice(at..at + bytes)?),
                }
            },
        )?;
        if let Some(sharing) = &mut self.sharing {
            sharing.whole = Some(Whole {
                harmonics,
                collector,
            });
        }
        Ok(())
    }

    /// Gives back what was brought together of a divided state, which is about to change.
    pub(super) fn keep_own_rows(&mut self) {
        if let Some(sharing) = &mut self.sharing {
            sharing.whole = None;
        }
    }

    /// What was brought together of a divided state.
    pub(super) fn brought_together(&self) -> Option<&Whole> {
        self.sharing.as_ref()?.whole.as_ref()
    }
}
