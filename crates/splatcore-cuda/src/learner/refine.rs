//! How does the set of Gaussians change?

use super::{CudaLearner, score};
use crate::backend::working_bytes;
use crate::densify;
use crate::limit_scales::LimitScales;
use crate::smoothing::Smoothing;
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, RefineReport};

impl CudaLearner {
    /// Gives every Gaussian its 3D filter.
    fn smooth(&mut self) -> Result<(), BackendError> {
        let queue = &self.frame.queue;
        if self.smoothing.is_none() {
            let views = self.photos.views();
            self.smoothing = Some(Smoothing::new(&queue.device, &self.kernels, views)?);
        }
        match &self.smoothing {
            Some(smoothing) if self.state.count > 0 => smoothing.compute(queue, &mut self.state),
            _ => Ok(()),
        }
    }

    /// Caps every Gaussian's size.
    fn limit(&mut self, share: f32) -> Result<(), BackendError> {
        let queue = &self.frame.queue;
        if self.limit_scales.is_none() {
            let views = self.photos.views();
            self.limit_scales = Some(LimitScales::new(&queue.device, &self.kernels, views)?);
        }
        match &self.limit_scales {
            Some(limit) => limit.apply(queue, &self.state, share),
            None => Ok(()),
        }
    }

    /// Changes the set; nothing is pending. Its time is noted for the profile.
    pub(super) fn refine_settled(&mut self, refine: &Refine) -> Result<RefineReport, BackendError> {
        self.frame.queue.start_marks()?;
        let refined = match (score::scoring_of(refine), refine) {
            _ if self.state.count == 0 => Ok(None),
            (Some(scoring), _) => self.score(scoring).map(Some),
            (_, Refine::PruneFloaters { render, depth_share }) => {
                self.find_floaters(render, *depth_share).map(Some)
            }
            _ => Ok(None),
        }
        .and_then(|scores| self.densify.refine(&mut self.state, refine, scores.as_ref()));
        let refined = match refine {
            Refine::SmoothingFilter => refined.and_then(|report| self.smooth().map(|()| report)),
            &Refine::LimitScales { share } => refined.and_then(|report| self.limit(share).map(|()| report)),
            _ => refined,
        };
        let queue = &self.frame.queue;
        let marked = queue.mark("refine");
        self.refined.push(queue.stop_marks());
        let report = refined?;
        marked.map(|()| report)
    }

    /// Makes room for so many Gaussians at once, if memory is plenty; nothing is pending.
    pub(super) fn reserve_settled(&mut self, gaussians: usize) -> Result<(), BackendError> {
        let views = self.photos.views();
        let pixels = views
            .iter()
            .map(|view| view.camera.width as u64 * view.camera.height as u64);
        let working = working_bytes(gaussians, pixels.max().unwrap_or(0));
        let device = &self.frame.queue.device;
        let more = self.state.bytes_of(gaussians).saturating_sub(self.state.bytes());
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
