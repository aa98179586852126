//! How does the set of Gaussians change?

use super::CudaLearner;
use super::memory::{most_pixels, working_bytes};
use super::pending::Pending;
use crate::ops::by_camera::ByCamera;
use crate::ops::{columns, densify, limit_scales};
use splatcore_core::backend::{Refine, RefineReport};
use splatcore_core::{BackendError, Lens};

impl CudaLearner {
    /// What of a refinement needs the cameras.
    fn refine_by_camera(&mut self, refine: &Refine) -> Result<(), BackendError> {
        let lens = (self.cameras.iter()).any(|camera| camera.lens != Lens::Pinhole);
        let computed = match *refine {
            Refine::ComputeColumn(column) => columns::computed(column).map(|by| (column, by)),
            _ => None,
        };
        let (op, program) = match (&computed, refine) {
            (Some((column, by)), _) => (&mut self.computed[*column], (by.program)(lens)),
            (None, Refine::LimitScales { .. }) => (&mut self.limit_scales, limit_scales::program()),
            _ => return Ok(()),
        };
        let queue = self.passes.queue();
        let op = match op {
            Some(op) => op,
            None => op.insert(ByCamera::new(
                &queue.device,
                &self.kernels,
                &program,
                &self.cameras,
            )?),
        };
        match (computed, refine) {
            _ if self.state.count == 0 => Ok(()),
            (Some((_, by)), _) => (by.launch)(op, queue, &mut self.state),
            (None, &Refine::LimitScales { share, floor }) => {
                limit_scales::limit_scales(op, queue, &self.state, (share, floor))
            }
            _ => Ok(()),
        }
    }

    /// Changes the set; nothing is pending. Its time is noted for the profile.
    pub(super) fn refine_synchronised(
        &mut self,
        refine: &Refine,
    ) -> Result<RefineReport, BackendError> {
        self.divide_before(refine)?;
        if let Refine::PruneFloaters { .. } = refine {
            self.whole_harmonics()?;
        }
        self.passes.queue().start_marks()?;
        let refined = match refine {
            Refine::PruneFloaters {
                render,
                depth_share,
            } if self.state.count > 0 => self
                .with_memory(|learner| learner.find_floaters(render, *depth_share))
                .map(Some),
            _ => Ok(None),
        }
        .and_then(|verdicts| {
            self.keep_own_rows();
            self.with_memory(|learner| {
                let (densify, state) = (&mut learner.densify, &mut learner.state);
                densify.refine(state, refine, verdicts.as_ref())
            })
        });
        let refined = refined.and_then(|report| self.refine_by_camera(refine).map(|()| report));
        self.known = self.state.count;
        let marked = self.passes.queue().mark("refine");
        let times = self.passes.queue().take_times();
        let report = refined?;
        marked?;
        self.profile.refine += times?.iter().map(|(_, seconds)| seconds).sum::<f64>();
        Ok(report)
    }

    /// Puts a refinement into the queue, which [`crate::ops::densify::Densify::can_launch`] has
    /// allowed.
    pub(super) fn launch_refine(&mut self, refine: &Refine) -> Result<Pending, BackendError> {
        self.passes.queue().start_marks()?;
        let counters = self.passes.work.counters();
        let launched = self.densify.launch(&mut self.state, refine, counters);
        let marked = self.passes.queue().mark("refine");
        let marks = self.passes.queue().stop_marks();
        let launched = launched?;
        marked?;
        self.guessed |= matches!(refine, Refine::Adc { .. });
        Ok(Pending::Refine {
            refine: refine.clone(),
            launched,
            marks,
        })
    }

    /// Makes room for so many Gaussians at once, if memory is plenty; nothing is pending.
    pub(super) fn reserve_synchronised(&mut self, gaussians: usize) -> Result<(), BackendError> {
        let working = working_bytes(gaussians, most_pixels(self.photos.views()));
        let device = &self.passes.queue().device;
        let more = self
            .state
            .bytes_of(gaussians)
            .saturating_sub(self.state.bytes());
        if more.saturating_add(working) > device.memory().0 {
            return Ok(());
        }
        match densify::reserve(device, &mut self.state, gaussians, gaussians) {
            // Someone else has taken it: the state is whole, and grows when it must.
            Err(BackendError::OutOfMemory { .. }) => Ok(()),
            reserved => reserved,
        }
    }
}
