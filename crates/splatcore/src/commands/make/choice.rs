//! Which size a processor can train in some minutes.

use super::asked::Asked;
use crate::output::{about, thousands};
use crate::sizing::probe::{self, Machine, StepTime};
use crate::sizing::{GAUSSIANS, MEAN_GAUSSIANS, MEAN_PIXELS, PER_PIXEL, SIZES, fit, pixels_at};
use anyhow::Result;
use serde::{Deserialize, Serialize};
use splatcore_data::dataset::Dataset;
use splatcore_train::config::Preset;
use splatcore_train::{Config, ResolvedConfig};

/// Seconds in which all shall end.
pub const TOTAL: f64 = 600.0;
/// Seconds that training gets if the cameras took most of that.
pub const MINIMUM: f64 = 90.0;
/// Share of the time that is planned with: measured figures are off, and other programs run too.
const PLANNED: f64 = 0.75;
/// Fewer steps than this at a size are not worth its detail: a smaller size is taken.
const ENOUGH_STEPS: f64 = 3000.0;
/// More steps than this gain little.
const MAX_STEPS: f64 = 7000.0;
const MIN_STEPS: f64 = 300.0;
/// What takes at most this share of the time is worth a word.
const HALF: f64 = 0.6;
/// A training of fewer seconds is not worth the seconds of another measurement.
const SHORT: f64 = 30.0;
/// Seconds between two checkpoints: so much is lost when the program is killed.
const SAVE_EVERY: f64 = 15.0;

/// What was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Choice {
    preset: Option<Preset>,
    max_size: Option<u32>,
    iterations: Option<u32>,
    max_gaussians: Option<usize>,
    checkpoint_every: u32,
    /// Size and length were left to this command.
    #[serde(default = "yes")]
    open: bool,
    /// Expected seconds of training, where they were measured.
    pub seconds: Option<f64>,
    /// Expected seconds of a step.
    step: Option<f64>,
    /// What would make it shorter, and to how many seconds.
    #[serde(default)]
    pub shorter: Vec<(String, f64)>,
}

/// Of files that do not say.
fn yes() -> bool {
    true
}

impl Choice {
    /// The settings.
    pub fn settings(&self) -> Config {
        Config {
            preset: self.preset,
            max_size: self.max_size,
            iterations: self.iterations,
            max_gaussians: self.max_gaussians,
            checkpoint_every: Some(self.checkpoint_every),
            ..Config::UNSET
        }
    }

    /// Nothing is open, and the training is too short for a better forecast.
    pub fn is_settled(&self) -> bool {
        !self.open && self.seconds.is_some_and(|seconds| seconds < SHORT)
    }

    /// In one line, for people, with what was typed.
    pub fn line(&self, typed: &Config) -> String {
        let what = self.described(typed);
        let takes = match (self.seconds, self.step) {
            (Some(seconds), Some(step)) => format!(
                "training takes about {} (measured: {:.0} ms a step)",
                about(seconds),
                1e3 * step
            ),
            _ => "how long it takes was not measured".into(),
        };
        match self.open {
            true => format!(
                "chosen for this processor: {what}; {takes}; --max-size, --iterations, \
                 --max-gaussians or --preset choose otherwise"
            ),
            false => format!("as typed: {what}; {takes}"),
        }
    }

    /// Size and length: `photos of at most 640 pixels, 3,000 steps, at most 90,000 Gaussians`.
    pub fn described(&self, typed: &Config) -> String {
        let all = typed.over(&self.settings()).complete();
        let size = match all.data.max_size {
            Some(size) => format!("photos of at most {size} pixels"),
            None => "photos of full size".into(),
        };
        let most = match all.scene.max_gaussians {
            Some(most) => format!(", at most {} Gaussians", thousands(most as u64)),
            None => String::new(),
        };
        format!("{size}, {} steps{most}", thousands(all.iterations.into()))
    }
}

/// Whether size and length of a training are left to this command.
pub fn is_open(typed: &Config) -> bool {
    let given = [
        typed.max_size.is_some(),
        typed.iterations.is_some(),
        typed.max_gaussians.is_some(),
    ];
    typed.preset.is_none() && given != [true; 3]
}

/// The settings for a card: the balanced preset, if no other was typed.
pub fn for_card(typed: &Config) -> Config {
    Config {
        preset: typed.preset.or(Some(Preset::Balanced)),
        ..Config::UNSET
    }
}

/// The settings for a processor: measured on this machine with these photos, where they are open.
/// `budget` are the seconds that training may take.
pub fn for_processor(asked: &Asked, budget: f64, dataset: &Dataset) -> Result<Choice> {
    let passed = asked.begun.elapsed().as_secs_f64();
    // What earlier calls spent on the cameras is in the plan, what this one spent is on the clock.
    let left = budget.min(TOTAL - passed).max(MINIMUM);
    let left = asked.typed.budget.map_or(left, |budget| budget.seconds());
    let time = probe::measure(machine(asked), dataset, f64::INFINITY)?;
    let photo = probe::photo_size(dataset);
    Ok(settled(&asked.typed, &time, photo, PLANNED * left))
}

fn machine(asked: &Asked) -> Machine<'_> {
    Machine {
        config: &asked.typed,
        device: asked.device,
    }
}

/// What [`for_processor`] will be about, before the cameras of photos of a size are known.
pub fn foreseen(asked: &Asked, budget: f64, photo: [u32; 2]) -> Result<Choice> {
    let time = probe::foresee(machine(asked), photo)?;
    Ok(settled(&asked.typed, &time, photo, PLANNED * budget))
}

/// What is chosen where something is open, else what was typed, with its time.
fn settled(typed: &Config, time: &StepTime, photo: [u32; 2], seconds: f64) -> Choice {
    let mut choice = match is_open(typed) {
        true => choose(typed, time, photo, seconds),
        false => as_typed(typed, time, photo),
    };
    choice.shorter = shorter(typed, &choice, time, photo);
    choice
}

/// Seconds of a step at these settings.
fn seconds_of_step(all: &ResolvedConfig, time: &StepTime, photo: [u32; 2]) -> f64 {
    let pixels = pixels_at(all.data.max_size, photo);
    let gaussians = match all.scene.max_gaussians {
        Some(most) => most as f64,
        None => (PER_PIXEL * pixels).max(GAUSSIANS[1]),
    };
    time.of(MEAN_PIXELS * pixels, MEAN_GAUSSIANS * gaussians)
}

fn as_typed(typed: &Config, time: &StepTime, photo: [u32; 2]) -> Choice {
    let preset = typed.preset.or(Some(Preset::Fast));
    let config = Config {
        preset,
        ..typed.clone()
    };
    let all = config.complete();
    let step = seconds_of_step(&all, time, photo);
    Choice {
        preset,
        max_size: None,
        iterations: None,
        max_gaussians: None,
        checkpoint_every: (all.iterations / 50).clamp(5, 500),
        open: false,
        seconds: Some(bounded(typed, f64::from(all.iterations) * step)),
        step: Some(step),
        shorter: Vec::new(),
    }
}

/// Ways to train in about half the time: smaller photos, or fewer steps.
fn shorter(
    typed: &Config,
    choice: &Choice,
    time: &StepTime,
    photo: [u32; 2],
) -> Vec<(String, f64)> {
    let all = typed.over(&choice.settings()).complete();
    let seconds =
        |all: &ResolvedConfig| f64::from(all.iterations) * seconds_of_step(all, time, photo);
    let (present, longest) = (seconds(&all), photo[0].max(photo[1]));
    let shown = all.data.max_size.unwrap_or(longest).min(longest);
    let mut ways = Vec::new();
    for size in SIZES.into_iter().filter(|size| *size < shown) {
        let mut less = all.clone();
        less.data.max_size = Some(size);
        if seconds(&less) <= HALF * present {
            ways.push((format!("--max-size {size}"), seconds(&less)));
            break;
        }
    }
    let steps = all.iterations / 2;
    if f64::from(steps) >= MIN_STEPS {
        ways.push((format!("--iterations {steps}"), 0.5 * present));
    }
    ways
}

/// The largest size at which enough steps fit into the time; `photo` is the size of the photos.
fn choose(typed: &Config, time: &StepTime, photo: [u32; 2], seconds: f64) -> Choice {
    let found = fit(typed, time, photo, seconds, ENOUGH_STEPS);
    let steps = (seconds / found.step).clamp(MIN_STEPS, MAX_STEPS);
    // A budget of time plans the steps itself.
    let follows = typed.iterations.is_none() && typed.budget.is_none();
    let steps = typed.iterations.unwrap_or(steps as u32 / 100 * 100);
    Choice {
        preset: Some(Preset::Fast),
        max_size: typed.max_size.is_none().then_some(found.max_size).flatten(),
        iterations: follows.then_some(steps),
        max_gaussians: typed
            .max_gaussians
            .is_none()
            .then_some(found.gaussians as usize),
        checkpoint_every: ((SAVE_EVERY / found.step) as u32).clamp(5, 1000),
        open: true,
        seconds: Some(bounded(typed, f64::from(steps) * found.step)),
        step: Some(found.step),
        shorter: Vec::new(),
    }
}

/// Seconds of training that takes so many by its steps, and no more than its budget.
fn bounded(typed: &Config, seconds: f64) -> f64 {
    typed
        .budget
        .map_or(seconds, |budget| budget.seconds().min(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds a step for a megapixel and for a hundred thousand Gaussians.
    fn time(per_megapixel: f64, per_gaussians: f64) -> StepTime {
        StepTime {
            fixed: 1e-3,
            pixel: per_megapixel * 1e-9,
            gaussian: per_gaussians * 1e-8,
        }
    }

    #[test]
    fn what_is_chosen_fits_into_the_time() {
        for (slow, seconds) in [(1.0, 400.0), (3.0, 400.0), (10.0, 400.0), (1.0, 120.0)] {
            let time = time(150.0 * slow, 20.0 * slow);
            let choice = choose(&Config::UNSET, &time, [4000, 3000], seconds);
            let planned = choice.seconds.unwrap();
            assert!(planned <= seconds, "{slow}: {choice:?}");
            assert!(
                planned > 0.4 * seconds,
                "little use is made of it: {choice:?}"
            );
            assert!(choice.max_size.is_some(), "never all of 12 megapixels");
            choice.settings().resolve().unwrap();
        }
    }

    #[test]
    fn a_faster_machine_gets_larger_photos() {
        let size = |slow: f64| {
            let time = time(150.0 * slow, 20.0 * slow);
            let choice = choose(&Config::UNSET, &time, [1416, 1044], 400.0);
            choice.max_size.unwrap_or(1416)
        };
        assert!(size(0.1) > size(1.0) && size(1.0) > size(10.0));
    }

    #[test]
    fn what_was_typed_stays() {
        let typed = Config {
            max_size: Some(320),
            iterations: Some(1234),
            ..Config::UNSET
        };
        assert!(is_open(&typed));
        let choice = choose(&typed, &time(150.0, 20.0), [1416, 1044], 400.0);
        assert_eq!((choice.max_size, choice.iterations), (None, None));
        let all = typed.over(&choice.settings()).complete();
        assert_eq!((all.data.max_size, all.iterations), (Some(320), 1234));
        let preset = Config {
            preset: Some(Preset::Quality),
            ..Config::UNSET
        };
        assert!(!is_open(&preset));
    }

    #[test]
    fn what_is_typed_has_a_forecast_and_ways_to_halve_it() {
        let typed = Config {
            preset: Some(Preset::Quality),
            max_gaussians: Some(1_000_000),
            ..Config::UNSET
        };
        let time = time(150.0, 20.0);
        let choice = settled(&typed, &time, [1416, 1044], 400.0);
        // 30,000 steps of 1.48 megapixels and a million Gaussians, both on average over the run.
        let expected = 30_000.0 * (1e-3 + 0.72 * 1.478 * 0.15 + 0.7 * 10.0 * 0.02);
        let seconds = choice.seconds.unwrap();
        let ratio = seconds / expected;
        assert!((ratio - 1.0).abs() < 0.01, "{seconds} {expected}");
        let all: Vec<&str> = choice.shorter.iter().map(|(way, _)| &**way).collect();
        assert!(all[0].starts_with("--max-size "), "{all:?}");
        assert_eq!(all[1], "--iterations 15000");
        let mut less = choice.shorter.iter().map(|(_, less)| *less);
        assert!(less.all(|less| less <= 0.6 * seconds));
    }

    #[test]
    fn small_photos_are_taken_as_they_are() {
        let choice = choose(&Config::UNSET, &time(150.0, 20.0), [64, 48], 400.0);
        assert_eq!((choice.max_size, choice.iterations), (None, Some(7000)));
    }
}
