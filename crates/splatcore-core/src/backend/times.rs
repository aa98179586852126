//! Where the time of a frame, a step or a run goes.

/// Raw times of the stages of one frame, seconds, in the order they ran.
pub type StageTimes = Vec<(&'static str, f64)>;

/// What [`crate::Renderer::stage_times`] times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timed {
    /// A whole frame, without marks between its stages: one entry, `frame`. On a device from event
    /// to event, behind another frame, so that the device does not wait for the host.
    Frame,
    /// The stages of a frame.
    Stages,
    /// The stages of a training step's forward pass, and those of its backward pass by a gradient
    /// of ones.
    TrainingStages,
}

/// Where a learner's time went since it was last asked, for the breakdown of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// Steps of which the stages were timed.
    pub steps: u32,
    /// Times of the stages, sums over those steps.
    pub stages: StageTimes,
    /// Seconds that refinements took, all of them.
    pub refine: f64,
}

impl Profile {
    /// Adds the stages of one step.
    pub fn add_step(&mut self, times: StageTimes) {
        self.steps += 1;
        self.add_stages(times);
    }

    /// Adds another profile.
    pub fn add(&mut self, other: Profile) {
        self.steps += other.steps;
        self.refine += other.refine;
        self.add_stages(other.stages);
    }

    fn add_stages(&mut self, times: StageTimes) {
        for (stage, seconds) in times {
            match self.stages.iter_mut().find(|(name, _)| *name == stage) {
                Some((_, sum)) => *sum += seconds,
                None => self.stages.push((stage, seconds)),
            }
        }
    }
}
