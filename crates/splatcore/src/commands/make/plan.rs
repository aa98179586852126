//! What is left to do, how long that takes, and what would make it shorter.

use super::asked::Asked;
use super::choice::{self, Choice, MINIMUM, TOTAL};
use super::input::Kind;
use super::state::{self, State};
use crate::backends;
use crate::output::{about, counted};
use crate::progress::Phase;
use crate::run::Files;
use anyhow::Result;
use splatcore_poses::{Forecast, forecast};

/// Features of photos are searched at this size without a graphics card: the time of matching falls
/// with the fourth power of the size, and cameras remain exact enough to train at the sizes that a
/// processor can.
const FEATURE_SIZE: u32 = 1000;
/// Seconds that training is expected to take on a card.
const ON_CARD: f64 = 60.0;
/// Seconds to measure the held-out photos, and to write the page, after training.
pub const AFTER: f64 = 15.0;

/// What is left to do.
pub struct Plan {
    /// The processor trains.
    pub cpu: bool,
    /// The largest size in which features are searched.
    pub feature_size: Option<u32>,
    /// Seconds that are left for training if all shall end within [`TOTAL`].
    pub budget: f64,
    poses: Option<Forecast>,
    /// Expected seconds; none if an earlier call trained.
    training: Option<f64>,
    page: bool,
    /// Size and length of the training are chosen for this machine.
    chooses: bool,
}

impl Plan {
    /// Looks at what is there, and estimates the rest.
    pub fn new(asked: &Asked, poses: &splatcore_poses::Job, state: &State) -> Result<Self> {
        let cpu = backends::for_training(&asked.typed.complete(), asked.device)?.name() == "cpu";
        let forecast = match asked.kind {
            Kind::Posed => None,
            Kind::Photos | Kind::Video => {
                let mut job = poses.clone();
                job.max_size = job.max_size.or(state.feature_size);
                Some(forecast(&job, Some(FEATURE_SIZE))?)
            }
        };
        let spent = forecast.as_ref().map_or(0.0, |poses| poses.seconds);
        let budget = (TOTAL - AFTER - spent).max(MINIMUM);
        let complete = state::is_complete(&Files::of(&asked.run_folder()));
        let expected = match (&state.choice, cpu) {
            (Some(Choice { seconds, .. }), true) => seconds.unwrap_or(budget),
            (None, true) => budget,
            (_, false) => ON_CARD,
        };
        Ok(Self {
            cpu,
            feature_size: forecast.as_ref().and_then(|poses| poses.max_size),
            budget,
            training: (!complete).then_some(expected),
            page: !asked.page().is_file(),
            chooses: cpu && state.choice.is_none() && choice::is_open(&asked.typed),
            poses: forecast,
        })
    }

    /// The phases for the progress.
    pub fn phases(&self) -> Vec<Phase> {
        let phase = |name, seconds: Option<f64>| Phase {
            name,
            seconds: seconds.unwrap_or(0.0),
        };
        let poses = self.poses.as_ref().map(|poses| poses.seconds);
        vec![
            phase("poses", poses),
            phase("training", self.training),
            phase("page", self.page.then_some(AFTER)),
        ]
    }

    /// All of it in one line.
    pub fn line(&self) -> String {
        let mut parts = Vec::new();
        let mut all = 0.0;
        let mut add = |what: String, seconds: f64| {
            all += seconds;
            parts.push(format!("{what} {}", about(seconds)));
        };
        if let Some(poses) = self.poses.as_ref().filter(|poses| !poses.done) {
            let photos = counted(poses.photos, "photo");
            add(
                format!("cameras of {photos} by {}", poses.program),
                poses.seconds,
            );
        }
        if let Some(seconds) = self.training {
            let most = if self.chooses {
                "training at most"
            } else {
                "training"
            };
            add(most.into(), seconds);
        }
        if self.page {
            add("page".into(), AFTER);
        }
        if parts.is_empty() {
            return "nothing is left to do: an earlier call came to the end".into();
        }
        let shorter = self.shorter();
        let shorter = match shorter.is_empty() {
            true => String::new(),
            false => format!("; shorter with {}", shorter.join(", or ")),
        };
        format!("about {}: {}{shorter}", about(all), parts.join(", "))
    }

    /// What would make it shorter.
    fn shorter(&self) -> Vec<String> {
        let mut ways = Vec::new();
        if let Some(poses) = self.poses.as_ref().filter(|poses| !poses.done) {
            if let Some(seconds) = poses.sequential_seconds {
                ways.push(format!(
                    "--matching sequential, if each photo shows much of the next one (cameras {})",
                    about(seconds)
                ));
            } else if poses.seconds > 60.0 {
                ways.push("a smaller --feature-size, or fewer photos".into());
            }
        }
        if self.training.is_some() && self.chooses {
            ways.push("a smaller --max-size and fewer --iterations".into());
        }
        ways
    }
}
