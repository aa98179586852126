//! The seams of a training step: the calls that it is made of, and the page that makes it of them.
//!
//! ```text
//! parameters --> project --> splats --> image --> compare --> dL/dimage --> backward --> sums
//!     ^                                (colour model, loss)                              |
//!     |                                                                                  |
//!     +-- apply <-- gradients <-- accumulate (of several frames) <-----------------------+
//! ```
//!
//! A *splat* is a Gaussian as projected into a frame, a row of *sums* is what the frame's pixels
//! add up for a splat; both have 48 bytes. Data stays where the backend has it: a call takes what
//! the call before it made, and a device queues each of them without a wait of the host.
//! docs/design.md says what each op inside a call takes and gives.

use super::error::BackendError;
use super::step::StepPlan;

/// One of the frames of a step: the camera of a view at the step's scale.
#[derive(Clone, Copy, Debug)]
pub struct StepFrame<'a> {
    /// The step.
    pub plan: &'a StepPlan,
    /// Place in [`StepPlan::views`].
    pub index: usize,
}

impl StepFrame<'_> {
    /// Index into the learner's views.
    pub fn view(&self) -> usize {
        self.plan.views[self.index]
    }
}

/// The calls of a training step, in the order of [`take_step`]. A backend holds one frame at a
/// time, from [`Engine::project`] on.
///
/// # Errors
/// Of each call: what cannot be computed ([`BackendError::Input`], [`BackendError::Unsupported`]),
/// and memory that is short. A device may find out later.
pub trait Engine {
    /// From Gaussians to the splats of a frame.
    fn project(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// From splats to the image: lists of the tiles, blending.
    fn image(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// From the image through the photo's colour model to the loss, and back to dL/dimage. Leaves
    /// the gradient of the colour model for [`Engine::apply`].
    fn compare(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// From dL/dimage to the sums of each splat.
    fn backward(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// From the sums to the gradients of parameters, which are added to those of the step's frames
    /// before, in the order of the frames. Of a step of one frame this is not called: its sums go
    /// to [`Engine::apply`], which never writes a gradient to memory.
    fn accumulate(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// Moves the parameters against the mean of the frames' gradients; adds regularisers,
    /// statistics and noise; updates the frames' colour models, in their order.
    fn apply(&mut self, plan: &StepPlan) -> Result<(), BackendError>;
}

/// A training step of one or more frames.
///
/// # Errors
/// [`BackendError::Input`] if the plan has no view; what the calls report.
pub fn take_step(engine: &mut impl Engine, plan: &StepPlan) -> Result<(), BackendError> {
    if plan.views.is_empty() {
        return Err(BackendError::Input("a step without a view".into()));
    }
    for index in 0..plan.views.len() {
        let frame = StepFrame { plan, index };
        engine.project(frame)?;
        engine.image(frame)?;
        engine.compare(frame)?;
        engine.backward(frame)?;
        if plan.views.len() > 1 {
            engine.accumulate(frame)?;
        }
    }
    engine.apply(plan)
}
