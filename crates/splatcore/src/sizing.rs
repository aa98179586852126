//! Which size of photos and which number of Gaussians a processor can train in a given time: a few
//! seconds of real steps tell how fast it is.

pub mod probe;
mod sample;

use crate::output::{about, thousands};
use anyhow::Result;
use probe::{Machine, StepTime};
use splatcore_data::dataset::{Dataset, Split};
use splatcore_train::schedule::worth;
use splatcore_train::{Config, ResolvedConfig};

/// Sizes of photos that are tried, the largest first.
pub const SIZES: [u32; 11] = [1600, 1280, 1024, 800, 640, 512, 400, 320, 240, 160, 100];
/// Gaussians for each pixel of a photo, and their bounds.
pub const PER_PIXEL: f64 = 0.5;
pub const GAUSSIANS: [f64; 2] = [20_000.0, 300_000.0];
/// Photos are small at first, and Gaussians few: shares of the final pixels and Gaussians, on
/// average over a run.
pub const MEAN_PIXELS: f64 = 0.72;
pub const MEAN_GAUSSIANS: f64 = 0.7;
/// With a budget: the share of a step's time that goes with the number of Gaussians. With more,
/// runs of equal time have too few steps, with less too few Gaussians
/// (docs/log/training-recipe.md).
const BALANCE: f64 = 0.6;
/// With a budget, fewer steps than this at a size are not worth its detail.
const MIN_STEPS: f64 = 500.0;
/// Share of a budget that is planned with: the scene has to be written and measured, too.
const PLANNED: f64 = 0.8;
/// Rounds in which number and steps agree.
const ROUNDS: usize = 16;

/// Size and number that fit into a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Longer side of the photos at most; none for photos as they are.
    pub max_size: Option<u32>,
    /// Gaussians at most.
    pub gaussians: f64,
    /// Seconds of a step.
    pub step: f64,
}

/// The largest size at which `enough` steps fit into the time, or the smallest there is; `photo` is
/// the size of the photos. What was typed stays.
pub fn fit(typed: &Config, time: &StepTime, photo: [u32; 2], seconds: f64, enough: f64) -> Fit {
    let longest = photo[0].max(photo[1]);
    let sizes = SIZES.into_iter().filter(|size| *size < longest);
    let sizes: Vec<Option<u32>> = match typed.max_size {
        Some(size) => vec![Some(size)],
        None => std::iter::once(None).chain(sizes.map(Some)).collect(),
    };
    let at = |max_size: Option<u32>| {
        let pixels = pixels_at(max_size, photo);
        let gaussians = match typed.max_gaussians {
            Some(gaussians) => gaussians as f64,
            None => (PER_PIXEL * pixels).clamp(GAUSSIANS[0], GAUSSIANS[1]),
        };
        let step = time.of(MEAN_PIXELS * pixels, MEAN_GAUSSIANS * gaussians);
        Fit {
            max_size,
            gaussians,
            step,
        }
    };
    let fits = |fit: &Fit| {
        // Photos of full size may be of any size.
        let known = fit.max_size.is_some() || longest <= SIZES[0] || typed.max_size.is_some();
        known && seconds / fit.step >= enough
    };
    let mut tried = sizes.into_iter().map(at);
    let mut last = tried.next().unwrap_or_else(|| at(None));
    while !fits(&last) {
        match tried.next() {
            Some(smaller) => last = smaller,
            None => break,
        }
    }
    last
}

/// With as many Gaussians as steps pay for at this size, where each costs the other: of a step's
/// time [`BALANCE`] goes with them. No more than the steps on `photos` photos are worth.
fn balanced(found: Fit, time: &StepTime, photo: [u32; 2], photos: usize, seconds: f64) -> Fit {
    let pixels = pixels_at(found.max_size, photo);
    let rest = time.of(MEAN_PIXELS * pixels, 0.0);
    let paid = BALANCE / (1.0 - BALANCE) * rest / (MEAN_GAUSSIANS * time.gaussian).max(1e-12);
    let mut fit = found;
    // More Gaussians leave fewer steps, which are worth fewer.
    for _ in 0..ROUNDS {
        let worth = worth(seconds / fit.step, photos as f64 * pixels);
        fit.gaussians = paid.min(worth).max(GAUSSIANS[0]);
        fit.step = time.of(MEAN_PIXELS * pixels, MEAN_GAUSSIANS * fit.gaussians);
    }
    fit
}

/// Pixels of a photo of at most this size.
pub fn pixels_at(size: Option<u32>, photo: [u32; 2]) -> f64 {
    let longest = f64::from(photo[0].max(photo[1]));
    let scale = size.map_or(1.0, |size| (f64::from(size) / longest).min(1.0));
    scale * scale * f64::from(photo[0]) * f64::from(photo[1])
}

/// The settings of a run with a budget on a processor, of which `left` seconds are left: with size
/// and number that fit, by a measurement, where these are not given. Says so in one line.
pub fn for_budget(
    config: &ResolvedConfig,
    device: Option<usize>,
    dataset: &Dataset,
    left: f64,
) -> Result<ResolvedConfig> {
    let given = config.to_settings();
    if given.max_size.is_some() && given.max_gaussians.is_some() {
        return Ok(config.clone());
    }
    let machine = Machine {
        config: &given,
        device,
    };
    let time = probe::measure(machine, dataset, 0.01 * left)?;
    let photo = probe::photo_size(dataset);
    let seconds = PLANNED * left;
    // A limit need not be reached: more than the photos hold says nothing of the time.
    let open = Config {
        max_gaussians: None,
        ..given.clone()
    };
    let photos = dataset.select(Split::Train, config.data.test_every as usize);
    let found = fit(&open, &time, photo, seconds, MIN_STEPS);
    let mut found = balanced(found, &time, photo, photos.len(), seconds);
    if let Some(most) = given.max_gaussians {
        found.gaussians = found.gaussians.min(most as f64);
    }
    let (chosen, steps) = chosen(config, &found, seconds);
    let size = match found.max_size {
        Some(size) => format!("photos of at most {size} pixels"),
        None => "photos of full size".into(),
    };
    eprintln!(
        "chosen for {} on this processor: {size}, at most {} Gaussians; about {} steps fit \
         (measured: {:.0} ms a step); --max-size and --max-gaussians choose otherwise",
        about(left),
        thousands(chosen.max_gaussians.unwrap_or_default() as u64),
        thousands(steps.into()),
        1e3 * found.step
    );
    Ok(chosen.resolve()?)
}

/// The settings with what was found, and the steps that fit.
fn chosen(config: &ResolvedConfig, found: &Fit, seconds: f64) -> (Config, u32) {
    let steps = (seconds / found.step).max(1.0) as u32;
    let budget = config.budget.as_ref();
    let most = budget.and_then(|budget| budget.max_iterations());
    let steps = most.map_or(steps, |most| steps.min(most));
    let given = config.to_settings();
    let with = Config {
        max_size: found.max_size,
        max_gaussians: Some(found.gaussians as usize),
        // Before the first step nothing else tells how short the run is.
        init_scale: Some(config.planned(steps).scene.init_scale),
        ..Config::UNSET
    };
    (given.over(&with), steps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_train::config::{Preset, WallTime};

    #[test]
    fn gaussians_are_paid_for_by_the_time_that_they_take() {
        let time = |gaussian: f64| StepTime {
            fixed: 1e-3,
            pixel: 150e-9,
            gaussian,
        };
        let found = |gaussian: f64, seconds: f64| {
            let time = time(gaussian);
            let typed = Config {
                max_size: Some(400),
                ..Config::UNSET
            };
            let size = fit(&typed, &time, [1600, 1200], seconds, MIN_STEPS);
            balanced(size, &time, [1600, 1200], 200, seconds)
        };
        let (cheap, dear) = (found(1e-7, 600.0), found(3e-7, 600.0));
        for (fit, gaussian) in [(cheap, 1e-7), (dear, 3e-7)] {
            let share = MEAN_GAUSSIANS * gaussian * fit.gaussians / fit.step;
            assert!((share - BALANCE).abs() < 0.01, "{share}");
        }
        assert!(cheap.gaussians > 2.9 * dear.gaussians);
        // A short run is worth fewer than it could pay for, and number and steps agree.
        let short = found(1e-7, 5.0);
        let worth = worth(5.0 / short.step, 200.0 * 400.0 * 300.0);
        assert!(short.gaussians < 0.9 * cheap.gaussians, "{short:?}");
        assert!((short.gaussians / worth - 1.0).abs() < 0.01, "{short:?}");
    }

    #[test]
    fn few_steps_take_smaller_photos_and_what_is_given_stays() {
        let time = StepTime {
            fixed: 1e-3,
            pixel: 150e-9,
            gaussian: 20e-8,
        };
        let size = |seconds: f64| {
            let found = fit(&Config::UNSET, &time, [1416, 1044], seconds, MIN_STEPS);
            assert!(seconds / found.step >= MIN_STEPS || found.max_size == Some(100));
            found.max_size.unwrap_or(1416)
        };
        let sizes = [1.0, 10.0, 30.0, 60.0, 300.0, 3000.0].map(size);
        assert!(
            sizes.is_sorted() && sizes[0] == 100 && sizes[5] == 1416,
            "{sizes:?}"
        );

        let config = Config {
            preset: Some(Preset::Small),
            budget: WallTime::from_seconds(30.0),
            max_size: Some(700),
            ..Config::UNSET
        };
        let config = config.resolve().unwrap();
        let given = config.to_settings();
        // The preset's number stays, too.
        let found = fit(&given, &time, [1416, 1044], 24.0, MIN_STEPS);
        assert_eq!((found.max_size, found.gaussians), (Some(700), 100_000.0));
        let (chosen, steps) = chosen(&config, &found, 24.0);
        let chosen = chosen.resolve().unwrap();
        assert_eq!(chosen.data.max_size, Some(700));
        // As few steps as fit need a start without gaps.
        assert!(steps < 1000 && chosen.scene.init_scale > 0.5, "{steps}");
        assert!(chosen.budget.is_some() && chosen.to_settings().iterations.is_none());
    }
}
