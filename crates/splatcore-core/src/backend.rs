//! What a backend offers. The trainer and the commands know backends by these traits only.
//!
//! A [`Backend`] makes renderers and learners; a [`Renderer`] holds an uploaded scene and renders
//! cameras; a [`Learner`] is a renderer that can also take a training step, refine (densify and
//! prune), snapshot and restore. [`Profiled`], [`Deferred`], [`Posed`] and [`Surrounded`] are the
//! parts of a learner that only a training loop needs. Everything between a photo going in and a
//! snapshot coming out stays on the device.

mod cotangents;
mod engine;
mod error;
mod frame;
mod photos;
mod refine;
mod state;
mod step;
mod times;
mod visibility;

pub use cotangents::Cotangents;
pub use engine::{CameraGradients, Engine, Exchange, Guided, Ranks, StepFrame, take_step};
pub use error::BackendError;
pub use frame::{FrameCounts, RenderOptions, Rendered, StripCounts};
pub use photos::read_ahead;
pub use refine::{Refine, RefineReport, budget_room};
pub use state::LearnerState;
pub use step::{BETAS, LearningRates, Statistic, StepPlan};
pub use times::{Profile, StageTimes, Timed};
pub use visibility::{Scored, TileCounts, Visibility};

use crate::colour::ColourState;
use crate::pipeline::Blend;
use crate::sky::Sky;
use crate::{Camera, Gaussians, IntrinsicsGradient, Pipeline, PoseGradient, Precision, View};
use serde::Serialize;
use std::sync::Arc;

/// Makes renderers and learners.
pub trait Backend: Send + Sync {
    /// `cpu` or `cuda`.
    fn name(&self) -> &'static str;
    /// One line: which processor, which instruction set or card, how many threads.
    fn describe(&self) -> String;
    /// Uploads a scene.
    fn renderer(&self, scene: &Gaussians) -> Result<Box<dyn Renderer>, BackendError>;
    /// Uploads a scene and the photos to learn from.
    fn learner(
        &self,
        scene: &Gaussians,
        views: Arc<Vec<View>>,
    ) -> Result<Box<dyn Learner>, BackendError>;
    /// How exact its images are.
    fn precision(&self, blend: Blend) -> Precision {
        blend.precision()
    }
    /// Relative L2 error that gradients of a pipeline may have, for each parameter group.
    fn gradient_tolerance(&self, pipeline: Pipeline) -> f64 {
        pipeline.gradient_tolerance()
    }
    /// Bytes a learner will need for `gaussians` Gaussians besides the photos.
    fn memory_plan(&self, gaussians: usize, sh_degree: u8, largest_view: [u32; 2]) -> MemoryPlan;
}

/// What a learner keeps, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryPlan {
    /// The Gaussians' parameters.
    pub parameters: u64,
    /// The optimiser's two moments.
    pub moments: u64,
    /// Gradients, lists and images of a step.
    pub working: u64,
    /// Of parameters and moments, what lies in the host's memory because the device's is short.
    pub host: u64,
}

/// Parameters and moments that a learner keeps in the host's memory because the device's is short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostMemory {
    /// Bytes there.
    pub bytes: u64,
    /// Bytes that the last step moved between host and device, both ways, about.
    pub moved: u64,
}

/// What a rank has given to the others since a learner began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Exchanged {
    /// Exchanges that it took part in.
    pub exchanges: u64,
    /// Pieces that it gave in them.
    pub pieces: u64,
    /// Bytes of these.
    pub bytes: u64,
}

/// An uploaded scene. It also tells how much of each Gaussian a view shows and how many each tile
/// takes, and lets Gaussians be changed ([`Scored`]).
pub trait Renderer: Scored + Send {
    /// Number of Gaussians now.
    fn count(&self) -> usize;
    /// Renders one view.
    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError>;
    /// Renders one view to look at: the bytes ([`crate::Image::to_bytes`], `[height][width][3]`) of
    /// the image that [`Renderer::render`] gives. A device brings less to the host for them.
    fn render_bytes(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Vec<u8>, BackendError> {
        Ok(self.render(camera, options)?.image.to_bytes())
    }
    /// Renders one view and leaves the image where it is: what a frame costs, without the way to
    /// the host. A device may still be at work on it when this returns; [`Renderer::finish`] waits.
    fn render_only(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        self.render(camera, options).map(drop)
    }
    /// Waits until all work asked for is done, and returns what went wrong in it. `false` if a
    /// frame of [`Renderer::render_only`] since the last call found too little room and was left
    /// empty: there is room now, and times of these frames say nothing.
    fn finish(&mut self) -> Result<bool, BackendError> {
        Ok(true)
    }
    /// Gradients of a scalar with respect to every parameter, given its gradients with respect to
    /// the rendered image, its transmittance and inverse depth. The result has the scene's shape; a
    /// row of a Gaussian that is not in view is zero. [`crate::pose_gradient`] makes the gradient
    /// of the camera's pose of it.
    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Gaussians, BackendError>;
    /// Renders, and returns times.
    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError>;
}

/// A scene that learns. It also tells where its time goes ([`Profiled`]), may put work off
/// ([`Deferred`]), says how the views' cameras should move ([`Posed`]), and what it learned of the
/// sky ([`Surrounded`]).
pub trait Learner: Renderer + Profiled + Deferred + Posed + Surrounded {
    /// Takes one step: [`take_step`]. A device may take it later: an error may be of a step before.
    fn step(&mut self, plan: &StepPlan) -> Result<(), BackendError>;
    /// The loss of the last step, the mean over its views. May wait for the device: call it rarely.
    fn last_loss(&mut self) -> Result<f64, BackendError>;
    /// Changes the set of Gaussians, and waits for what comes of it.
    fn refine(&mut self, refine: &Refine) -> Result<RefineReport, BackendError>;
    /// The Gaussians alone, for evaluation and export; with the 3D filter, if there is one, in
    /// scales and opacities.
    fn scene(&mut self) -> Result<Gaussians, BackendError>;
    /// What the views' photos and cameras made of colours; empty if no step learned any.
    fn colours(&mut self) -> Result<ColourState, BackendError> {
        Ok(self.snapshot()?.colours)
    }
    /// Everything, for a checkpoint.
    fn snapshot(&mut self) -> Result<LearnerState, BackendError>;
    /// Goes on from a snapshot, bit for bit.
    fn restore(&mut self, state: &LearnerState) -> Result<(), BackendError>;
}

/// What is around a learner's scene.
pub trait Surrounded {
    /// The sky as it is; `None` if no step learned one. May wait for the device.
    fn sky(&mut self) -> Result<Option<Sky>, BackendError>;
}

/// The poses and intrinsics of a learner's cameras.
pub trait Posed {
    /// Gradients of poses since the last call, of steps that were asked for them
    /// ([`StepPlan::pose_gradients`]): the view, and the gradient of its loss by the pose that its
    /// camera had then, in the order of the steps and of their views. Waits for the device.
    fn pose_gradients(&mut self) -> Result<Vec<(usize, PoseGradient)>, BackendError> {
        Ok(Vec::new())
    }
    /// The same for intrinsics ([`StepPlan::intrinsics_gradients`]).
    fn intrinsics_gradients(&mut self) -> Result<Vec<(usize, IntrinsicsGradient)>, BackendError> {
        Ok(Vec::new())
    }
    /// Moves the views' cameras, one for each view, for whatever comes from here on. Only poses and
    /// intrinsics may differ from those that the learner was made with: sizes and the models of
    /// lenses stay.
    ///
    /// # Errors
    /// [`BackendError::Input`] if more differs, [`BackendError::Unsupported`] from a learner that
    /// cannot.
    fn move_cameras(&mut self, cameras: &[Camera]) -> Result<(), BackendError> {
        let _ = cameras;
        Err(BackendError::Unsupported {
            backend: "this",
            what: "other poses while it learns".into(),
            depends_on: &[],
        })
    }
}

/// Where a learner's time goes.
pub trait Profiled {
    /// Takes one step as [`Learner::step`] does, waits for it, and returns the time of each stage,
    /// or of the whole where a backend does not tell them apart.
    fn timed_step(&mut self, plan: &StepPlan) -> Result<StageTimes, BackendError>;
    /// Takes one step as [`Learner::step`] does, without waiting for it, and notes the times of its
    /// stages for [`Profiled::take_profile`] where the backend can.
    fn profiled_step(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        self.timed_step(plan).map(drop)
    }
    /// What has been noted since the last call: stages of profiled steps, time of refinements. May
    /// wait for the device.
    fn take_profile(&mut self) -> Result<Profile, BackendError> {
        Ok(Profile::default())
    }
    /// What lies in the host's memory for want of the device's. May wait for the device.
    fn host_memory(&mut self) -> Result<HostMemory, BackendError> {
        Ok(HostMemory::default())
    }
    /// What this rank has given to the others, of ranks that take steps together.
    fn exchanged(&self) -> Exchanged {
        Exchanged::default()
    }
}

/// Work that a learner puts off, and what came of it. A learner that does everything at once has
/// nothing to say but [`Deferred::queue_refine`].
pub trait Deferred {
    /// Queues a refinement, which does what [`Learner::refine`] does. Returns its report if it is
    /// known now; otherwise [`Deferred::take_reports`] delivers it later. An error may be of a step
    /// or a refinement before.
    fn queue_refine(&mut self, refine: &Refine) -> Result<Option<RefineReport>, BackendError>;
    /// Reports of queued refinements, in order, as far as they are known by now and since the last
    /// call. All of them are known after whatever waits for the device.
    fn take_reports(&mut self) -> Vec<RefineReport> {
        Vec::new()
    }
    /// Views of the steps that were asked for and not taken for want of memory, in their order,
    /// since the last call.
    fn take_skipped_views(&mut self) -> Vec<usize> {
        Vec::new()
    }
    /// A hint that the set will grow to so many Gaussians: a backend may make room for them at
    /// once, if memory is plenty, so that nothing has to be moved later. Changes nothing but time.
    fn reserve(&mut self, gaussians: usize) -> Result<(), BackendError> {
        let _ = gaussians;
        Ok(())
    }
    /// Gives this rank's part of the snapshot that another rank takes at the same time.
    fn give_snapshot(&mut self) -> Result<(), BackendError> {
        Ok(())
    }
}
