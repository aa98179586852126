//! How long a step takes on this machine with these photos: a few seconds of real steps.

use super::sample;
use crate::backends::{self, Card};
use anyhow::Result;
use splatcore_core::{Backend, Gaussians, View, camera};
use splatcore_data::dataset::{Dataset, Split};
use splatcore_train::config::Strategy;
use splatcore_train::{Config, Observer, Signal, Trainer, init};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Photos that are stepped on.
const PHOTOS: usize = 6;
/// Sizes of photos that are timed, in pixels on the longer side.
const SIZES: [u32; 2] = [160, 320];
/// Gaussians at most that the first two measurements have; the third has more by this factor.
const GAUSSIANS: usize = 10_000;
const MORE: usize = 4;
/// Steps before the clock starts, steps at least, and how long one measurement takes.
const WARM_UP: u32 = 3;
const FEWEST: u32 = 6;
const LONG: Duration = Duration::from_millis(1200);
/// The same for what is only foreseen.
const SHORT: Duration = Duration::from_millis(400);

/// What computes.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// Settings that say so.
    pub config: &'a Config,
    /// Which card.
    pub device: Option<usize>,
}
/// Opacity of the Gaussians as a logit: those of a trained scene hide what is behind them.
const OPACITY: f32 = 1.0;

/// Positions of points, and their colours.
type Points<'a> = (&'a [[f32; 3]], &'a [[u8; 3]]);

/// Seconds of a step: a sum of three parts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepTime {
    /// For each step.
    pub fixed: f64,
    /// For each pixel of a photo.
    pub pixel: f64,
    /// For each Gaussian.
    pub gaussian: f64,
}

impl StepTime {
    /// Seconds of a step.
    pub fn of(&self, pixels: f64, gaussians: f64) -> f64 {
        self.fixed + self.pixel * pixels + self.gaussian * gaussians
    }

    /// The parts of three measurements: pixels, Gaussians, seconds. The second has more pixels than
    /// the first, the third more Gaussians.
    fn solve([first, larger, more]: [(f64, f64, f64); 3]) -> Self {
        let rate = |a: f64, b: f64, t: f64| if b > a { (t / (b - a)).max(0.0) } else { 0.0 };
        let pixel = rate(first.0, larger.0, larger.2 - first.2);
        let gaussian = rate(first.1, more.1, more.2 - first.2);
        let fixed = first.2 - pixel * first.0 - gaussian * first.1;
        Self {
            fixed: fixed.max(1e-4),
            pixel,
            gaussian,
        }
    }
}

/// Times steps on photos of a dataset, each of three measurements for so many seconds at most.
pub fn measure(machine: Machine<'_>, dataset: &Dataset, seconds: f64) -> Result<StepTime> {
    let all = dataset.select(Split::Train, 8);
    let shown = all.len().min(PHOTOS);
    let indices: Vec<usize> = (0..shown).map(|i| all[i * all.len() / shown]).collect();
    let load = |config: &Config| -> Result<Vec<View>> {
        let options = config.complete().load_options();
        Ok(dataset.load_fitting(&indices, &options, &|_, _| {})?.0)
    };
    let points = &dataset.points;
    let points = (&*points.positions, &*points.colours);
    let long = Duration::try_from_secs_f64(seconds)
        .unwrap_or(LONG)
        .min(LONG);
    time(machine, photo_size(dataset), &load, points, long)
}

/// Times steps where no cameras are known yet, on a ball of points and photos of noise of that
/// size: what these take is near what a dataset takes, but not the same.
pub fn foresee(machine: Machine<'_>, photo: [u32; 2]) -> Result<StepTime> {
    let (positions, colours) = sample::ball(GAUSSIANS);
    let load = |config: &Config| Ok(sample::views(photo, config.max_size, PHOTOS));
    time(machine, photo, &load, (&positions, &colours), SHORT)
}

/// Width and height of a dataset's photos.
pub fn photo_size(dataset: &Dataset) -> [u32; 2] {
    dataset.entries.first().map_or([1, 1], |entry| {
        let camera = &entry.camera;
        [camera.width, camera.height]
    })
}

/// Times steps on the views that `load` gives for settings, which begin with Gaussians of points.
fn time(
    machine: Machine<'_>,
    photo: [u32; 2],
    load: &dyn Fn(&Config) -> Result<Vec<View>>,
    points: Points<'_>,
    long: Duration,
) -> Result<StepTime> {
    let card = Card {
        device: machine.device,
        ..Card::default()
    };
    let backend = backends::for_training(&machine.config.complete(), &card)?.quietly();
    let longest = photo[0].max(photo[1]);
    let sizes = SIZES.map(|size| size.min(longest));
    // Photos smaller than that: half of them and all.
    let sizes = match sizes[0] < sizes[1] {
        true => sizes,
        false => [(longest / 2).max(16), longest],
    };
    let measured = |size: u32, more: usize| -> Result<(f64, f64, f64)> {
        let config = config(size);
        let views = load(&config)?;
        let start = gaussians(points, &config, &views, more);
        let pixels = views.first().map_or(1.0, |view| {
            f64::from(view.photo.width) * f64::from(view.photo.height)
        });
        let count = start.len() as f64;
        Ok((pixels, count, step(&config, &*backend, views, start, long)?))
    };
    let three = [
        measured(sizes[0], 1)?,
        measured(sizes[1], 1)?,
        measured(sizes[0], MORE)?,
    ];
    Ok(StepTime::solve(three))
}

fn config(size: u32) -> Config {
    Config {
        max_size: Some(size),
        strategy: Some(Strategy::Adc),
        max_gaussians: Some(GAUSSIANS),
        // No refinement and no checkpoint comes into the time.
        iterations: Some(1_000_000),
        checkpoint_every: Some(0),
        ..Config::UNSET
    }
}

/// The Gaussians of points, `more` times as many on the same surfaces.
fn gaussians(points: Points<'_>, config: &Config, views: &[View], more: usize) -> Gaussians {
    let extent = camera::extent(views.iter().map(|view| &view.camera));
    let config = config.complete();
    let mut start = init::from_points(points.0, points.1, &config, extent).gaussians;
    start.opacity_logits.fill(OPACITY);
    let smaller = 0.5 * (more as f32).ln();
    for scales in &mut start.log_scales {
        *scales = scales.map(|s| s - smaller);
    }
    let one = start.clone();
    for copy in 1..more {
        // Beside the first, by about its size.
        let shift = copy as f32 * 0.7;
        let moved = one.means.iter().zip(&one.log_scales);
        start.means.extend(
            moved.map(|(mean, scales)| std::array::from_fn(|i| mean[i] + shift * scales[i].exp())),
        );
        start.log_scales.extend_from_slice(&one.log_scales);
        start.rotations.extend_from_slice(&one.rotations);
        start.opacity_logits.extend_from_slice(&one.opacity_logits);
        start.sh.extend_from_slice(&one.sh);
    }
    start
}

/// Seconds of a step.
fn step(
    config: &Config,
    backend: &dyn Backend,
    views: Vec<View>,
    start: Gaussians,
    long: Duration,
) -> Result<f64> {
    let config = Config {
        max_gaussians: Some(start.len()),
        ..config.clone()
    };
    let mut trainer = Trainer::new(&config.resolve()?, backend, Arc::new(views), start)?;
    trainer.run_ahead(&mut Stretch::of(WARM_UP, Duration::ZERO))?;
    let (begun, before) = (Instant::now(), trainer.step());
    trainer.run_ahead(&mut Stretch::of(FEWEST, long))?;
    let steps = trainer.step() - before;
    Ok(begun.elapsed().as_secs_f64() / f64::from(steps.max(1)))
}

/// Stops after some steps and some time.
struct Stretch {
    steps: u32,
    until: Instant,
}

impl Stretch {
    fn of(steps: u32, time: Duration) -> Self {
        let until = Instant::now() + time;
        Self { steps, until }
    }
}

impl Observer for Stretch {
    fn signal(&mut self) -> Signal {
        self.steps = self.steps.saturating_sub(1);
        match self.steps == 0 && Instant::now() >= self.until {
            true => Signal::Stop,
            false => Signal::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_measurements_give_three_parts() {
        let time = StepTime {
            fixed: 2e-3,
            pixel: 1e-7,
            gaussian: 3e-7,
        };
        let at = |pixels, gaussians| (pixels, gaussians, time.of(pixels, gaussians));
        let found = StepTime::solve([at(1e4, 1e4), at(8e4, 1e4), at(1e4, 4e4)]);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6 * b;
        assert!(
            near(found.fixed, time.fixed)
                && near(found.pixel, time.pixel)
                && near(found.gaussian, time.gaussian),
            "{found:?}"
        );
        // A clock that jumped gives no negative time.
        let odd = StepTime::solve([(1e4, 1e4, 1.0), (8e4, 1e4, 0.5), (1e4, 4e4, 0.2)]);
        assert!(odd.of(0.0, 0.0) > 0.0 && odd.of(1e6, 1e6) > 0.0, "{odd:?}");
    }
}
