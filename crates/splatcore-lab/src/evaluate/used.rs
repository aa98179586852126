//! Frames in memory that others used before, as on a card: what a kernel finds there is plausible,
//! and what it leaves there another frame may find.

use super::Broken;
use super::blame::blame;
use super::gradients::gradient_of_image;
use super::suite::{Case, STEPS, Suite};
use crate::gates::result::Losses;
use crate::gates::{Gate, Rejection};
use crate::worker::{Answer, Ask, Child, FrameSpec, WorkerError};
use splatcore_core::Gaussians;

/// Scenes that follow themselves in other colours.
const RECOLOURED: usize = 6;
/// Scenes whose frames are rendered in rounds.
const WATCHED: usize = 2;

impl Child {
    /// A number that follows from what the device's memory holds; of [`super::Role::Filled`] only.
    ///
    /// # Errors
    /// As [`Child::ask`].
    pub fn digest(&mut self) -> Result<u64, WorkerError> {
        match self.ask(&Ask::Digest)? {
            Answer::Digest { digest } => Ok(digest),
            other => Err(WorkerError::Said(format!("a digest is no {other:?}"))),
        }
    }
}

impl Suite {
    /// Holds a worker of [`super::Role::Filled`] to the references: each scene follows one with the
    /// same Gaussians in other colours, by the same camera, and a frame follows one on another
    /// background. Returns how many scenes.
    ///
    /// # Errors
    /// The rejection, by [`Gate::Memory`].
    pub fn check_used(&self, worker: &mut Child) -> Result<usize, Rejection> {
        worker.ask(&Ask::Reuse).map_err(blame)?;
        let mut scenes = 0;
        for case in self.cases.iter().take(RECOLOURED) {
            check_case(case, worker).map_err(|Rejection { reason, .. }| {
                let reason = format!("in memory that another frame used before: {reason}");
                Rejection::new(Gate::Memory, reason)
            })?;
            scenes += 1;
        }
        Ok(scenes)
    }

    /// Whether all memory is the same after each round of the same frames, gradients among them: a
    /// kernel that counts launches or cameras leaves something else each time. The worker is one of
    /// [`super::Role::Filled`].
    ///
    /// # Errors
    /// What the worker fails with.
    pub fn keeps_memory(&self, worker: &mut Child) -> Result<bool, WorkerError> {
        for case in self.cases.iter().take(WATCHED) {
            worker.load(&case.test.scene)?;
            let mut round = || self.round(case, worker);
            round()?;
            if round()? != round()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What memory holds once a scene's frames were rendered, the scene being loaded.
    fn round(&self, case: &Case, worker: &mut Child) -> Result<u64, WorkerError> {
        for frame in &case.test.frames {
            worker.render(frame)?;
        }
        for frame in case
            .test
            .frames
            .iter()
            .take(STEPS)
            .filter(|_| self.training)
        {
            worker.gradients(frame, &gradient_of_image(frame))?;
        }
        worker.digest()
    }

    /// Rejects a candidate that does not keep memory where the baseline does.
    ///
    /// # Errors
    /// The rejection, by [`Gate::Repeat`].
    pub fn check_memory(&self, baseline: bool, worker: &mut Child) -> Result<(), Rejection> {
        match self.keeps_memory(worker).map_err(blame)? || !baseline {
            true => Ok(()),
            false => Err(Rejection::new(
                Gate::Repeat,
                "the same frames once more leave other numbers in memory: a kernel counts",
            )),
        }
    }
}

/// Words for a baseline that fails.
pub(super) fn baseline_fails(error: &WorkerError) -> Broken {
    Broken(format!("the baseline itself fails in used memory: {error}"))
}

fn check_case(case: &Case, worker: &mut Child) -> Result<(), Rejection> {
    let Some((frame, expected)) = case.test.frames.first().zip(case.frames.first()) else {
        return Ok(());
    };
    worker.load(&recoloured(&case.test.scene)).map_err(blame)?;
    worker.render(frame).map_err(blame)?;
    if let Some(gradients) = case.gradients.first() {
        worker
            .gradients(frame, &gradient_of_image(frame))
            .map_err(blame)?;
        worker.load(&case.test.scene).map_err(blame)?;
        gradients.judge(&case.test.name, frame, worker)?;
    } else {
        worker.load(&case.test.scene).map_err(blame)?;
    }
    case.judge(frame, expected, worker, &mut Losses::default())?;
    let other = FrameSpec {
        background: frame.background.map(|c| 0.75 - 0.5 * c),
        ..frame.clone()
    };
    worker.render(&other).map_err(blame)?;
    case.judge(frame, expected, worker, &mut Losses::default())
        .map(drop)
}

/// The scene in colours of its own: all that lists are made of is as it was.
fn recoloured(scene: &Gaussians) -> Gaussians {
    let mut other = scene.clone();
    other.sh.iter_mut().flatten().for_each(|v| *v = 0.3 - *v);
    other
}
