//! The calls of a training step ([`Engine`]), and the function that makes them in order
//! ([`take_step`]).
//!
//! ```text
//! parameters --> project --> splats --> image --> compare --> dL/dimage --> backward --> sums
//!     ^                                (colour model, loss)                              |
//!     |                                                                                  |
//!     +-- apply <-- gradients <-- accumulate (of several frames) <-----------------------+
//! ```
//!
//! A *splat* is a Gaussian as projected into a frame. A row of *sums* holds nine sums over a
//! splat's fragments, by which the loss depends on its place, shape, opacity and colour; on a card
//! a splat and a row take 48 bytes each. Data stays where the backend has it: a call takes what the
//! call before it made, and a device queues its launches. docs/design.md says what each op inside a
//! call takes and gives.

use super::error::BackendError;
use super::step::StepPlan;

/// One frame of a step: the plan, and which of its views is rendered.
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
    /// Computes the frame's gradients of parameters from its sums and adds them to those of the
    /// step's earlier frames. Called only in steps of several frames; in a step of one frame
    /// [`Engine::apply`] reads the sums.
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
