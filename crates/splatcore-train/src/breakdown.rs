//! Where the time of a run went.
//!
//! Stages of steps are timed in one step of many (device events on a card, which nobody waits for)
//! and taken to be the same in the steps between; refinements, checkpoints and measuring are timed
//! every time. What is left of the wall clock is idle time of the device: launches that came too
//! late, waits for the host.

use serde::Serialize;
use splatcore_core::backend::Profile;
use std::fmt;

/// One step of so many is timed; in short runs one of fewer, so that there are some twenty.
pub const PROFILE_EVERY: u32 = 500;

/// Whether the stages of this step are timed. Never where the loss is sampled: the device has just
/// been idle there.
pub(crate) fn is_profiled(step: u32, iterations: u32) -> bool {
    let every = (iterations / 20).clamp(1, PROFILE_EVERY);
    step % every == every * 9 / 20
}

/// What a [`crate::Trainer`] has measured since it was made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Spent {
    /// Steps taken.
    pub steps: u32,
    /// Wall-clock seconds, all included.
    pub wall: f64,
    /// Of them, handing over checkpoints.
    pub checkpoint: f64,
    /// Of them, measuring held-out views.
    pub evaluation: f64,
    /// What the learner noted.
    pub profile: Profile,
}

/// Where the time of a run went since it was started or resumed, in `metrics.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Breakdown {
    /// Steps taken.
    pub steps: u32,
    /// Steps of which the stages were timed.
    pub sampled_steps: u32,
    /// Wall-clock seconds, with measuring while training and checkpoints, without loading and the
    /// final measure.
    pub seconds: f64,
    /// The stages as the backend names them, in the order they run, then `refine`, `checkpoint`,
    /// `evaluation`, `idle`.
    pub parts: Vec<Part>,
}

/// One line of a [`Breakdown`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// What was done.
    pub name: &'static str,
    /// How long, over all steps.
    pub seconds: f64,
    /// Of the run's wall-clock time.
    pub share: f64,
}

impl Breakdown {
    /// `None` if no step's stages were timed, in a run too short for that.
    pub(crate) fn new(spent: &Spent) -> Option<Self> {
        let profile = &spent.profile;
        if profile.steps == 0 || profile.stages.is_empty() {
            return None;
        }
        let steps = f64::from(spent.steps) / f64::from(profile.steps);
        let mut times: Vec<_> = profile
            .stages
            .iter()
            .map(|&(name, sampled)| (name, sampled * steps))
            .collect();
        times.extend([
            ("refine", profile.refine),
            ("checkpoint", spent.checkpoint),
            ("evaluation", spent.evaluation),
        ]);
        let busy: f64 = times.iter().map(|(_, seconds)| seconds).sum();
        // Sampled steps may have been slower than the others.
        times.push(("idle", (spent.wall - busy).max(0.0)));
        let part = |(name, seconds): (&'static str, f64)| Part {
            name,
            seconds,
            share: seconds / spent.wall.max(f64::MIN_POSITIVE),
        };
        Some(Self {
            steps: spent.steps,
            sampled_steps: profile.steps,
            seconds: spent.wall,
            parts: times.into_iter().map(part).collect(),
        })
    }
}

/// One line: `project 4 %, ..., idle 12 % of 54.2 s`.
impl fmt::Display for Breakdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.parts.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{} {:.1} %", part.name, 100.0 * part.share)?;
        }
        write!(f, " of {:.1} s", self.seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_stages_stand_for_all_steps() {
        let mut profile = Profile {
            refine: 3.0,
            ..Profile::default()
        };
        profile.add_step(vec![("blend", 0.25), ("loss", 0.5)]);
        profile.add_step(vec![("blend", 0.75), ("loss", 0.5)]);
        let mut spent = Spent {
            steps: 20,
            wall: 32.0,
            checkpoint: 1.0,
            evaluation: 2.0,
            profile,
        };
        let found = Breakdown::new(&spent).unwrap();
        let parts: Vec<_> = found
            .parts
            .iter()
            .map(|part| (part.name, part.seconds))
            .collect();
        let want = [
            ("blend", 10.0),
            ("loss", 10.0),
            ("refine", 3.0),
            ("checkpoint", 1.0),
            ("evaluation", 2.0),
            ("idle", 6.0),
        ];
        assert_eq!(parts, want);
        assert_eq!((found.steps, found.sampled_steps), (20, 2));
        let shares: f64 = found.parts.iter().map(|part| part.share).sum();
        assert!((shares - 1.0).abs() < 1e-12, "{shares}");
        let line = found.to_string();
        assert!(
            line.starts_with("blend 31.2 %, loss 31.2 %, refine 9.4 %")
                && line.ends_with("idle 18.8 % of 32.0 s"),
            "{line}"
        );

        spent.wall = 20.0;
        assert_eq!(Breakdown::new(&spent).unwrap().parts[5].seconds, 0.0);
        spent.profile = Profile::default();
        assert_eq!(Breakdown::new(&spent), None);
    }

    #[test]
    fn some_steps_of_every_run_are_sampled_and_few_of_a_long_one() {
        for iterations in [1u32, 2, 7, 19, 20, 60, 399, 1000, 7000, 30_000] {
            let count = (1..=iterations)
                .filter(|&step| is_profiled(step, iterations))
                .count() as u32;
            let most = (iterations / PROFILE_EVERY).max(20 + 19);
            assert!((1..=most).contains(&count), "{iterations}: {count}");
        }
        let sampled = (1..=30_000).filter(|&step| is_profiled(step, 30_000));
        assert!(
            sampled
                .into_iter()
                .all(|step| step % crate::trainer::SAMPLE_EVERY != 0)
        );
    }
}
