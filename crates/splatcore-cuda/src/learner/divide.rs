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
        let Some(peers) = peers else {
            return Ok(None);
        };
        let count = state.gaussians.len();
        let rows = offload::row_bytes(state.gaussians.sh_degree, moments);
        let free = headroom.map(|headroom| device.memory().0.saturating_sub(headroom.of(count)));
        let said = 4 * peers.ranks().count;
        let said = Buffer::new(device, "what the ranks say", said)?;
        Division::if_short((peers, &said), count, (rows, free))
    }

    /// How the ranks divide a state that replaces the one that is there.
    pub(super) fn division_for(
        &self,
        state: &LearnerState,
    ) -> Result<Option<Division>, BackendError> {
        let Some(sharing) = &self.sharing else {
            return Ok(None);
        };
        let headroom = memory::headroom(memory::most_pixels(self.photos.views()));
        let had = self.passes.queue().device.memory().0 + self.state.bytes();
        let free = had.saturating_sub(headroom.of(state.gaussians.len()));
        let rows = offload::row_bytes(state.gaussians.sh_degree, self.state.moments);
        let free = self.offloads.then_some(free);
        let ask = (&sharing.peers, &sharing.agreed);
        Division::if_short(ask, state.gaussians.len(), (rows, free))
    }

    /// Divides the state if it would not fit after a refinement. All ranks ask; every row is as it
    /// should be.
    pub(super) fn divide_before(&mut self, refine: &Refine) -> Result<(), BackendError> {
        let Some(sharing) = self
            .sharing
            .as_ref()
            .filter(|_| self.state.division.is_none())
        else {
            return Ok(());
        };
        let count = self.state.count;
        let rows = match *refine {
            Refine::Adc { max_gaussians, .. } => {
                // Each that is split has two rows more for a moment.
                let room = 2 * max_gaussians.saturating_sub(count);
                self.densify
                    .rows_after(count)
                    .min(count.saturating_add(room))
            }
            Refine::Mcmc {
                growth,
                max_gaussians,
                ..
            } => {
                let grown = (count as f64 * (1.0 + f64::from(growth))) as usize;
                grown.min(max_gaussians.max(count))
            }
            _ => return Ok(()),
        };
        let device = self.passes.queue().device.clone();
        let pixels = memory::most_pixels(self.photos.views());
        let wanted = self.state.bytes_of(rows) + memory::headroom(pixels).of(rows);
        let had = device.memory().0 + self.state.bytes();
        let is_short = self.offloads && (self.state.in_host().bytes > 0 || wanted > had);
        let peers = Arc::clone(&sharing.peers);
        if any(&*peers, &sharing.agreed, is_short)? {
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

    /// Moves harmonics that were brought together to the host's memory, if they are on the device.
    pub(super) fn whole_leaves(&mut self) -> Result<bool, BackendError> {
        let sharing = self.sharing.as_mut();
        let Some(whole) = sharing.and_then(|sharing| sharing.whole.as_mut()) else {
            return Ok(false);
        };
        let bytes = whole.harmonics.bytes();
        match whole.harmonics.place() {
            Place::Device => whole.harmonics.move_to_host(bytes).map(|()| true),
            Place::Host => Ok(false),
        }
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
