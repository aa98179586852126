//! A scene that learns on the device.
//!
//! | question | file |
//! | --- | --- |
//! | what does a step launch | `engine.rs` |
//! | what do its calls leave for each other | `frame.rs` |
//! | what is compared with the photo, at which size, through which colour model | `compared.rs` |
//! | what is Adam told | `adam.rs` |
//! | where do the photos lie | `photos.rs` |
//! | what is in the queue | `pending.rs` |
//! | which steps and refinements has the device done, and what if it overflowed | `synchronise.rs` |
//! | how much memory does it need | `memory.rs` |
//! | what if the device has less | `offload.rs` |
//! | how does the set of Gaussians change | `refine.rs` |
//! | which Gaussians hang before what the views show | `floaters.rs` |
//! | how are images of it made | `render.rs` |
//! | what do ranks exchange that take steps together | `sharing.rs`, `shared.rs`, `whole.rs` |
//! | when do they divide the state | `divide.rs` |
//!
//! Here: what a learner holds, and what it answers to the trainer. Whatever reads the state first
//! waits until all steps and refinements asked for are done (`synchronise`); those themselves wait
//! for nothing, but for refinements where memory is short or views must be rendered.

mod adam;
mod compared;
mod divide;
mod engine;
mod floaters;
mod frame;
pub(crate) mod memory;
mod offload;
mod pending;
mod photos;
mod refine;
mod render;
mod shared;
mod sharing;
mod synchronise;
mod whole;

use crate::device::Kernels;
use crate::device::error::failed;
use crate::device::queue::Marks;
use crate::device::{Buffer, Event, Kernel, Pinned};
use crate::ops::accumulate::BatchGradients;
use crate::ops::adam::kind::AdamKind;
use crate::ops::adam::moments::Moments;
use crate::ops::by_camera::ByCamera;
use crate::ops::colour::Coloured;
use crate::ops::counters::Counters;
use crate::ops::densify::{Densify, Totals};
use crate::ops::depth_loss::Depths;
use crate::ops::intrinsics_gradient::{self, IntrinsicsGradients};
use crate::ops::loss::Loss;
use crate::ops::photo::StepPhoto;
use crate::ops::pose_gradient::{self, PoseGradients};
use crate::ops::scene;
use crate::ops::state::State;
use crate::passes::Passes;
use crate::peers::Peers;
use crate::peers::counted::Counted;
use frame::Frame;
use pending::Pending;
pub use photos::Photos;
use shared::Sharing;
use splatcore_core::backend::{
    Deferred, Exchanged, HostMemory, Learner, LearnerState, Posed, Profile, Profiled, Refine,
    RefineReport, Renderer, StageTimes, StepPlan, Surrounded,
};
use splatcore_core::colour::{ColourState, cameras_of};
use splatcore_core::columns::Each;
use splatcore_core::sky::Sky;
use splatcore_core::{
    BackendError, Camera, Gaussians, IntrinsicsGradient, PoseGradient, View, checks,
};
use std::sync::Arc;

/// Photos stay on the device if they take at most this share of what is free.
const PHOTO_SHARE: f64 = 0.4;

/// Parameters, moments, statistics, photos and the buffers of a step, all on the device.
pub struct CudaLearner {
    state: State,
    passes: Passes,
    kernels: Arc<Kernels>,
    photos: Photos,
    photo: StepPhoto,
    coloured: Coloured,
    depths: Depths,
    loss: Loss,
    densify: Densify,
    /// What computes columns, once it is asked for.
    computed: Each<Option<ByCamera>>,
    limit_scales: Option<ByCamera>,
    /// Adam's kernels, and which they are.
    adam: (Option<AdamKind>, Vec<Kernel>),
    /// The losses of the last step's frames, f64 each, and how many they are.
    values: Buffer,
    frames: usize,
    /// What the calls of a step leave for those after them.
    frame: Frame,
    /// Of steps of several frames.
    batch: BatchGradients,
    /// The views' cameras as they are now, and gradients of their poses and intrinsics.
    cameras: Vec<Camera>,
    poses: PoseGradients,
    intrinsics: IntrinsicsGradients,
    /// With whom steps are taken; `None` alone.
    sharing: Option<Sharing>,
    /// What they are given.
    exchanged: Option<Arc<Counted>>,
    /// What the device has not yet been seen to have done.
    pending: Vec<Pending>,
    /// Steps and refinements since the counters were last zeroed that are no longer pending.
    confirmed: usize,
    /// How many were launched since the last poll.
    unpolled: usize,
    /// Gaussians, as far as the host has seen.
    known: usize,
    /// `state.count` is the most that there may be: a round of adc is pending.
    guessed: bool,
    /// What came of refinements that nobody waited for, until someone asks.
    reports: Vec<RefineReport>,
    /// The counters and the refinements' totals as they were at the last poll, once the queue has
    /// passed `polled`.
    counters_mirror: Pinned,
    totals_mirror: Pinned,
    /// Where in the queue the last poll was.
    polled: Option<Event>,
    /// Whether a poll is under way.
    polling: bool,
    /// Views of the steps that found no memory.
    skipped_views: Vec<usize>,
    /// Marks of profiled steps that were not read yet.
    profiled: Vec<Marks>,
    /// What was read of them.
    profile: Profile,
    /// What the device has no memory for may lie in the host's.
    offloads: bool,
    /// Gaussians that the last step saw, as far as the host knows, and whether it left the others
    /// alone.
    seen: u64,
    leaves_unseen: bool,
}

impl CudaLearner {
    /// `offloads`: what the device has no memory for lies in the host's. `peers`: with whom it
    /// takes its steps.
    pub(crate) fn new(
        state: &LearnerState,
        views: Arc<Vec<View>>,
        mut passes: Passes,
        moments: Moments,
        offloads: bool,
        peers: Option<Arc<dyn Peers>>,
    ) -> Result<Self, BackendError> {
        checks::views(&views)?;
        checks::colours(&state.colours, &views)?;
        let device = passes.queue().device.clone();
        let pixels = memory::most_pixels(&views);
        if offloads {
            let scene = (state.gaussians.len(), state.gaussians.sh_degree);
            memory::check_least(scene, moments, pixels, device.memory().1)?;
        }
        let headroom = offloads.then(|| memory::headroom(pixels));
        let exchanged = Counted::around(peers);
        let peers = exchanged.clone().map(|peers| peers as Arc<dyn Peers>);
        let division =
            Self::division_at_start(&device, state, moments, (peers.as_ref(), headroom))?;
        let mut coloured = Coloured::new(&device, cameras_of(views.iter()))?;
        coloured.replace(&state.colours)?;
        passes.skies.replace(&state.sky)?;
        let kernels = passes.work.kernels.clone();
        let uploaded = State::upload_as(&device, state, moments, headroom, division)?;
        let depths = Depths::new(&device, &views)?;
        // What must be compiled or loaded is, at the same time, while the photos are copied.
        let (photos, (loss, densify)) = rayon::join(
            || Photos::new(&device, Arc::clone(&views), PHOTO_SHARE),
            || rayon::join(|| Loss::new(&kernels), || Densify::new(&kernels)),
        );
        let mut learner = Self {
            state: uploaded,
            cameras: views.iter().map(|view| view.camera.clone()).collect(),
            poses: pose_gradient::gradients(&device)?,
            intrinsics: intrinsics_gradient::gradients(&device)?,
            depths,
            photos: photos?,
            photo: StepPhoto::new(device.clone())?,
            coloured,
            loss: loss?,
            densify: densify?,
            computed: Each::of(|_| None),
            limit_scales: None,
            adam: (None, Vec::new()),
            values: Buffer::from_slice(&device, "loss", &[0.0f64])?,
            frames: 1,
            frame: Frame::default(),
            batch: BatchGradients::new(&device)?,
            sharing: None,
            exchanged,
            pending: Vec::new(),
            confirmed: 0,
            unpolled: 0,
            known: state.gaussians.len(),
            guessed: false,
            reports: Vec::new(),
            counters_mirror: Pinned::new(&device, size_of::<Counters>())?,
            totals_mirror: Pinned::new(&device, size_of::<Totals>())?,
            polled: None,
            polling: false,
            skipped_views: Vec::new(),
            profiled: Vec::new(),
            profile: Profile::default(),
            kernels: passes.work.kernels.clone(),
            passes,
            offloads,
            seen: 0,
            leaves_unseen: false,
        };
        if learner.state.in_host().bytes > 0 || learner.state.division.is_some() {
            learner.narrow()?;
        }
        if let Some(peers) = peers {
            learner.join(peers)?;
            learner.whole_harmonics()?;
        }
        Ok(learner)
    }
}

impl Profiled for CudaLearner {
    fn timed_step(&mut self, plan: &StepPlan) -> Result<StageTimes, BackendError> {
        self.synchronise()?;
        self.alone(plan, true)
    }

    fn profiled_step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.passes.queue().start_marks()?;
        let launched = self.launch_or_synchronise(plan);
        let marks = self.passes.queue().stop_marks();
        self.note_skipped(plan, &launched);
        launched?;
        self.profiled.push(marks);
        self.launched(Pending::Step(plan.clone()))
    }

    fn take_profile(&mut self) -> Result<Profile, BackendError> {
        self.synchronise()?;
        Ok(std::mem::take(&mut self.profile))
    }

    fn exchanged(&self) -> Exchanged {
        let counted = self.exchanged.as_deref();
        counted.map_or_else(Exchanged::default, Counted::exchanged)
    }

    fn host_memory(&mut self) -> Result<HostMemory, BackendError> {
        // What ranks do together does not depend on where a rank's arrays lie.
        if self.state.in_host().bytes == 0 && self.sharing.is_none() {
            return Ok(HostMemory::default());
        }
        self.synchronise()?;
        Ok(self.in_host())
    }
}

impl Deferred for CudaLearner {
    fn queue_refine(&mut self, refine: &Refine) -> Result<Option<RefineReport>, BackendError> {
        let counts = !matches!(
            refine,
            Refine::ResetOpacity { .. } | Refine::FadeOpacity { .. }
        );
        if self.guessed && counts {
            self.synchronise()?;
        }
        // Ranks wait for the same things at the same steps, whatever memory each has.
        if self.sharing.is_some() || !self.densify.can_launch(&self.state, refine) {
            return self.refine(refine).map(Some);
        }
        let pending = self.launch_refine(refine)?;
        self.launched(pending).map(|()| None)
    }

    fn take_reports(&mut self) -> Vec<RefineReport> {
        std::mem::take(&mut self.reports)
    }

    fn give_snapshot(&mut self) -> Result<(), BackendError> {
        let whole = self.brought_together();
        whole.map_or(Ok(()), |whole| self.state.give_moments(whole))?;
        // The process may end behind this.
        self.passes.queue().device.synchronize().map_err(failed)
    }

    fn take_skipped_views(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.skipped_views)
    }

    fn reserve(&mut self, gaussians: usize) -> Result<(), BackendError> {
        self.synchronise()?;
        self.reserve_synchronised(gaussians)
    }
}

impl Posed for CudaLearner {
    fn pose_gradients(&mut self) -> Result<Vec<(usize, PoseGradient)>, BackendError> {
        self.synchronise()?;
        self.poses.take(pose_gradient::of_numbers)
    }

    fn intrinsics_gradients(&mut self) -> Result<Vec<(usize, IntrinsicsGradient)>, BackendError> {
        self.synchronise()?;
        self.intrinsics.take(IntrinsicsGradient::from)
    }

    fn move_cameras(&mut self, cameras: &[Camera]) -> Result<(), BackendError> {
        checks::moved(&self.cameras, cameras)?;
        // Steps that must be taken again see what they saw.
        if !self.pending.is_empty() {
            self.synchronise()?;
        }
        self.cameras = cameras.to_vec();
        (self.computed, self.limit_scales) = (Each::of(|_| None), None);
        Ok(())
    }
}

impl Surrounded for CudaLearner {
    fn sky(&mut self) -> Result<Option<Sky>, BackendError> {
        self.synchronise()?;
        Ok(Sky::of(&self.passes.skies.download()?))
    }
}

impl Learner for CudaLearner {
    fn step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let launched = self.launch_or_synchronise(plan);
        self.note_skipped(plan, &launched);
        launched?;
        self.launched(Pending::Step(plan.clone()))
    }

    fn last_loss(&mut self) -> Result<f64, BackendError> {
        self.synchronise()?;
        let values: Vec<f64> = self.values.to_vec(self.frames)?;
        Ok(values.iter().sum::<f64>() / self.frames as f64)
    }

    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError> {
        self.whole()?;
        self.refine_synchronised(refine)
    }

    fn scene(&mut self) -> Result<Gaussians, BackendError> {
        self.finish()?;
        let scene = self.state.scene(self.brought_together())?;
        Ok(self.state.column_values()?.all_values().fuse(scene))
    }

    fn snapshot(&mut self) -> Result<LearnerState, BackendError> {
        self.finish()?;
        let mut state = self.state.download(self.brought_together())?;
        state.colours = self.coloured.download()?;
        state.sky = self.passes.skies.download()?;
        Ok(state)
    }

    fn colours(&mut self) -> Result<ColourState, BackendError> {
        self.synchronise()?;
        self.coloured.download()
    }

    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        checks::snapshot(state)?;
        checks::colours(&state.colours, self.photos.views())?;
        scene::check(&state.gaussians)?;
        self.whole()?;
        self.keep_own_rows();
        let division = self.division_for(state)?;
        let replaced = self.with_memory(|learner| learner.state.replace(state, division.clone()));
        self.known = self.state.count;
        replaced?;
        if self.state.division.is_some() {
            self.narrow()?;
        }
        self.passes.skies.replace(&state.sky)?;
        self.coloured.replace(&state.colours)?;
        self.whole_harmonics()
    }
}

#[cfg(test)]
mod tests;
