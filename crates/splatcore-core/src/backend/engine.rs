//! The calls of a training step ([`Engine`]), and the function that makes them in order
//! ([`take_step`]).
//!
//! ```text
//! parameters --> project --> splats --> image --> compare --> dL/dimage --> backward --> sums
//!     ^                                (sky) (colour model, loss)                        |
//!     |                                  guide (depth, if asked for) --> more of them -->|
//!     +-- apply <-- gradients <-- accumulate (of several frames) <-----------------------+
//!                                                                                        |
//!           gradients of the cameras' poses <-- pose_gradient (if asked for) <-----------+
//!           and of their intrinsics <-- intrinsics_gradient (if asked for) <-------------+
//! ```
//!
//! A *splat* is a Gaussian as projected into a frame. A row of *sums* holds nine sums over a
//! splat's fragments, by which the loss depends on its place, shape, opacity and colour; on a card
//! a splat and a row take 48 bytes each. Data stays where the backend has it: a call takes what the
//! call before it made, and a device queues its launches. docs/design.md says what each op inside a
//! call takes and gives.
//!
//! Several *ranks* may take a step together, each on a card of its own. The frames of a step are
//! then taken in rounds of as many frames as there are ranks. Each rank projects its own Gaussians
//! into all frames of the round, gets the splats of the frame that it renders from the others, and
//! gives each its sums. What is exchanged of one round goes while another is rendered. If a round
//! has fewer frames than there are ranks, several ranks, a *team*, may render a frame. A rank moves
//! its own Gaussians alone. Gradients of a camera are sums over the Gaussians of all ranks.

use super::error::BackendError;
use super::step::StepPlan;
use crate::checks;
use std::ops::Range;

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

/// Who takes steps together, and which of them this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ranks {
    /// This one, from 0.
    pub rank: usize,
    /// How many there are, at least 1.
    pub count: usize,
    /// Whether several render a frame together where a round has fewer frames than ranks.
    pub strips: bool,
}

impl Ranks {
    /// Most ranks that render a frame together.
    const MAX_TEAM: usize = 16;

    /// One of so many, without strips.
    pub const fn of(rank: usize, count: usize) -> Self {
        Self {
            rank,
            count,
            strips: false,
        }
    }

    /// All but this one.
    pub fn others(self) -> impl Iterator<Item = usize> {
        (0..self.count).filter(move |&rank| rank != self.rank)
    }

    /// Nobody else.
    pub const ALONE: Self = Self::of(0, 1);

    /// The frames of a step of `frames` that are in one round with a frame.
    pub fn round(self, frame: usize, frames: usize) -> Range<usize> {
        let first = frame - frame % self.count;
        first..(first + self.count).min(frames)
    }

    /// The ranks that render a frame of a step of `frames`, all of which get its loss.
    pub fn team(self, frame: usize, frames: usize) -> Range<usize> {
        let round = self.round(frame, frames);
        let places = if self.strips { round.len() } else { self.count };
        let place = frame - round.start;
        let [first, end] = [place, place + 1].map(|place| place * self.count / places);
        first..end.min(first + Self::MAX_TEAM)
    }

    /// The frame of a step of `frames` that this rank renders in a round.
    pub fn rendered(self, round: &Range<usize>, frames: usize) -> Option<usize> {
        let renders = |&frame: &usize| self.team(frame, frames).contains(&self.rank);
        round.clone().find(renders)
    }
}

/// The calls of a step by which ranks exchange what they made. Who takes steps alone leaves them as
/// they are. Ranks make the same calls in the same order with the same plans, but for
/// [`Engine::image`], [`Engine::compare`], [`Engine::backward`] and [`Guided::guide`].
///
/// # Errors
/// Of each call: another rank does not answer, or the device failed.
pub trait Exchange {
    /// Who takes steps of this plan.
    fn ranks(&self, _: &StepPlan) -> Ranks {
        Ranks::ALONE
    }
    /// Begins to give the splats of a round's frames to the ranks that render them. `first` is the
    /// round's first frame.
    fn send_splats(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        let _ = first;
        Ok(())
    }
    /// Takes the splats of the round's frame that is rendered here.
    fn receive_splats(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        let _ = first;
        Ok(())
    }
    /// Begins to give the sums of a round's frames to the ranks that have the Gaussians.
    fn send_sums(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        let _ = first;
        Ok(())
    }
    /// Takes the sums of this rank's Gaussians in the frames of a round.
    fn receive_sums(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        let _ = first;
        Ok(())
    }
    /// Gives the losses and the gradients of colour models and sky to all ranks, and whether one
    /// could not render its frame.
    fn exchange_losses(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let _ = plan;
        Ok(())
    }
}

/// The calls of a step by which cameras get gradients, after [`Exchange::receive_sums`]. They
/// leave the sums as they are. All ranks make them for every frame, each has its own Gaussians'
/// part, and all get the gradient of all.
///
/// # Errors
/// As those of [`Engine`].
pub trait CameraGradients {
    /// From the frame's sums to the gradient of its camera's pose, if the plan asks for it
    /// ([`StepPlan::pose_gradients`]).
    fn pose_gradient(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// The same of its camera's intrinsics ([`StepPlan::intrinsics_gradients`]).
    fn intrinsics_gradient(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
}

/// The call of a step by which geometry that was measured guides it, after [`Engine::backward`]:
/// the seam of every loss on depth and alpha.
pub trait Guided {
    /// From the frame's splats to alpha and inverse depth, to the plan's loss on them
    /// ([`StepPlan::depth`]), and back: adds it to the frame's loss, and to the sums of each splat
    /// what its gradients by place, shape, opacity and depth are. The frame's image is gone then.
    ///
    /// # Errors
    /// As those of [`Engine`].
    fn guide(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
}

/// The calls of a training step, in the order of [`take_step`]. A backend holds the splats of one
/// frame at a time from [`Engine::project`] on, with other ranks those of three rounds.
///
/// # Errors
/// Of each call: what cannot be computed ([`BackendError::Input`], [`BackendError::Unsupported`]),
/// and memory that is short. A device may find out later.
pub trait Engine: Exchange + CameraGradients + Guided {
    /// From Gaussians to the splats of a frame; of this rank's Gaussians.
    fn project(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// From splats to the image: lists of the tiles, blending, the sky behind it.
    fn image(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// From the image through the photo's colour model to the loss, and back to dL/dimage. Leaves
    /// the gradient of the colour model for [`Engine::apply`].
    fn compare(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// From dL/dimage to the sums of each splat. Leaves the gradient of the sky for
    /// [`Engine::apply`].
    fn backward(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// Computes the frame's gradients of parameters from its sums and adds them to those of the
    /// step's earlier frames. Called only in steps of several frames; in a step of one frame
    /// [`Engine::apply`] reads the sums.
    fn accumulate(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError>;
    /// Moves the parameters against the mean of the frames' gradients; adds regularisers,
    /// statistics and noise; updates the frames' colour models, in their order, and the sky.
    fn apply(&mut self, plan: &StepPlan) -> Result<(), BackendError>;
}

/// A training step of one or more frames.
///
/// With several ranks a round's splats are sent before the round in front of it is rendered, and
/// its sums are taken after the round behind it is: data goes while ranks compute.
///
/// # Errors
/// [`BackendError::Input`] if the plan has no view, or learns a column that does not learn; what
/// the calls report.
pub fn take_step(engine: &mut impl Engine, plan: &StepPlan) -> Result<(), BackendError> {
    if plan.views.is_empty() {
        return Err(BackendError::Input("a step without a view".into()));
    }
    checks::learned_columns(&plan.columns)?;
    let (ranks, frames) = (engine.ranks(plan), plan.views.len());
    let firsts = (0..frames).step_by(ranks.count);
    let rounds: Vec<_> = firsts.map(|first| ranks.round(first, frames)).collect();
    let lead = usize::from(ranks.count > 1);
    for turn in 0..rounds.len() + 2 * lead {
        let round = |late: usize| rounds.get(turn.checked_sub(late)?).cloned();
        if let Some(round) = round(0) {
            send_round(engine, plan, round)?;
        }
        if let Some(round) = round(lead) {
            render_round(engine, plan, &round)?;
        }
        if let Some(round) = round(2 * lead) {
            finish_round(engine, plan, round)?;
        }
    }
    engine.exchange_losses(plan)?;
    engine.apply(plan)
}

/// From this rank's Gaussians to the splats of a round.
fn send_round(
    engine: &mut impl Engine,
    plan: &StepPlan,
    round: Range<usize>,
) -> Result<(), BackendError> {
    let frame = |index| StepFrame { plan, index };
    for index in round.clone() {
        engine.project(frame(index))?;
    }
    engine.send_splats(frame(round.start))
}

/// From the splats of a round's frame that is rendered here to their sums.
fn render_round(
    engine: &mut impl Engine,
    plan: &StepPlan,
    round: &Range<usize>,
) -> Result<(), BackendError> {
    let frame = |index| StepFrame { plan, index };
    engine.receive_splats(frame(round.start))?;
    if let Some(here) = engine.ranks(plan).rendered(round, plan.views.len()) {
        engine.image(frame(here))?;
        engine.compare(frame(here))?;
        engine.backward(frame(here))?;
        if plan.depth.is_some() {
            engine.guide(frame(here))?;
        }
    }
    engine.send_sums(frame(round.start))
}

/// From the sums of this rank's Gaussians in a round to gradients.
fn finish_round(
    engine: &mut impl Engine,
    plan: &StepPlan,
    round: Range<usize>,
) -> Result<(), BackendError> {
    let frame = |index| StepFrame { plan, index };
    engine.receive_sums(frame(round.start))?;
    for index in round {
        if plan.pose_gradients {
            engine.pose_gradient(frame(index))?;
        }
        if plan.intrinsics_gradients {
            engine.intrinsics_gradient(frame(index))?;
        }
        if plan.views.len() > 1 {
            engine.accumulate(frame(index))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_frame_of_a_round_has_ranks_of_its_own() {
        for (count, frames) in [(1, 3), (2, 1), (3, 2), (4, 6), (7, 1), (7, 10), (40, 2)] {
            for first in (0..frames).step_by(count) {
                for strips in [false, true] {
                    let of = |rank| Ranks {
                        rank,
                        count,
                        strips,
                    };
                    let round = of(0).round(first, frames);
                    let rendered = |rank: usize| of(rank).rendered(&round, frames);
                    for frame in round.clone() {
                        let team = of(0).team(frame, frames);
                        assert!(!team.is_empty() && team.len() <= Ranks::MAX_TEAM);
                        let all = (0..count).filter(|&rank| rendered(rank) == Some(frame));
                        assert!(all.eq(team));
                    }
                }
            }
        }
        let strips = Ranks {
            strips: true,
            ..Ranks::of(0, 7)
        };
        assert_eq!(
            [7, 8, 9].map(|frame| strips.team(frame, 10)),
            [0..2, 2..4, 4..7]
        );
        assert_eq!(Ranks::of(0, 7).team(8, 10), 1..2);
    }
}
