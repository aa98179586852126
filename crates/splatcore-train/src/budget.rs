//! How a run with a budget ends on time: what it has spent, and how many steps still fit.

mod pace;

use crate::clock::Now;
use crate::config::ResolvedConfig;
use crate::schedule::Schedule;
use pace::Pace;
use serde::{Deserialize, Serialize};

/// The first plan is made after so many steps, or when a share of the time has passed and a few
/// steps were measured.
const FIRST_STEPS: u32 = 100;
const FIRST_SHARE: f64 = 0.03;
const FEW_STEPS: u32 = 4;
/// Share of the time between two plans, and of the steps that were left by the one before: a plan
/// made of slow first steps (kernels are compiled, a disk wakes) is corrected soon.
const EVERY_SHARE: f64 = 0.02;
const EVERY_PART: f64 = 0.125;
/// If time has run out, the rest of the schedules passes within this share of the steps taken.
const MIN_REST: f64 = 0.02;
/// Points of the rest of a run at which the time of a step is predicted.
const POINTS: u32 = 32;
/// Seconds of a round of pruning before one was seen, in steps for each photo.
const PRUNING_A_PHOTO: f64 = 0.4;

/// What a run has spent of its budget, and where its end is: of a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spending {
    /// Seconds spent, over all resumes, what is not training among them.
    pub seconds: f64,
    /// Where the quality that was asked for was reached: step and PSNR.
    pub reached: Option<(u32, f64)>,
}

/// What was planned, for people.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Planned {
    /// Steps of the run.
    pub iterations: u32,
    /// Seconds of a step at first.
    pub seconds_a_step: f64,
    /// Gaussians at most, if that is limited.
    pub max_gaussians: Option<usize>,
    /// Seconds that were spent before the first step.
    pub before: f64,
    /// Seconds that are kept for what follows the last step.
    pub after: f64,
    /// Seconds that are left for training, this far.
    pub left: f64,
}

/// Keeps account of the time of a run.
pub(crate) struct Account {
    now: Now,
    limit: f64,
    /// What is spent when the clock shows `since`.
    before: f64,
    since: f64,
    /// Seconds of what follows the last step.
    pub after: f64,
    pace: Pace,
    /// Where the present measurement begins: step, seconds spent, and whether views have been
    /// pruned by in it.
    mark: Option<(u32, f64)>,
    pruned: bool,
    /// Seconds of all rounds of pruning, and how many; seconds of all measuring, and how often.
    pruning: (f64, u32),
    measuring: (f64, u32),
    /// Step and Gaussians where measurements ended.
    counts: Vec<(u32, usize)>,
    /// The latest plan: seconds spent when it was made, and the step at which another is due.
    planned_at: Option<(f64, u32)>,
    photos: usize,
}

impl Account {
    /// For a run with this budget, which has spent `before` seconds of it by now.
    pub fn open(config: &ResolvedConfig, now: Now, before: f64, photos: usize) -> Option<Self> {
        let limit = config.budget.as_ref()?.time.seconds();
        Some(Self {
            since: now(),
            now,
            limit,
            before,
            after: 0.0,
            pace: Pace::default(),
            mark: None,
            pruned: false,
            pruning: (0.0, 0),
            measuring: (0.0, 0),
            counts: Vec::new(),
            planned_at: None,
            photos,
        })
    }

    /// Steps begin, after a pause perhaps.
    pub fn begin(&mut self) {
        self.mark = None;
    }

    /// More was spent than was known, less if it is negative.
    pub fn add(&mut self, seconds: f64) {
        self.before += seconds;
    }

    /// Seconds spent by now.
    pub fn spent(&self) -> f64 {
        self.before + (self.now)() - self.since
    }

    /// Seconds that are left for training.
    pub fn left(&self) -> f64 {
        self.limit - self.spent() - self.after
    }

    /// So many seconds were spent in the present measurement on other things than steps.
    pub fn skip(&mut self, seconds: f64) {
        if let Some((_, spent)) = &mut self.mark {
            *spent += seconds;
        }
    }

    /// The photos of some views were rendered to prune by.
    pub fn note_pruning(&mut self) {
        self.pruned = true;
    }

    /// Quality was measured, which took so many seconds by this clock.
    pub fn note_measuring(&mut self, seconds: f64) {
        self.measuring.0 += seconds;
        self.measuring.1 += 1;
        self.skip(seconds);
    }

    /// The device has done all steps up to this one, with so many Gaussians.
    pub fn measure(&mut self, step: u32, scale: u32, gaussians: usize) {
        let spent = self.spent();
        if let Some((from, since)) = self.mark.filter(|(from, _)| step > *from) {
            let steps = f64::from(step - from);
            let seconds = (spent - since).max(1e-9);
            if self.pruned {
                let usual = match self.pace.is_known() {
                    true => steps * self.pace.of(scale, gaussians as f64),
                    false => 0.0,
                };
                self.pruning.0 += (seconds - usual).max(0.0);
                self.pruning.1 += 1;
            } else {
                self.pace.add(scale, gaussians as f64, seconds / steps);
            }
            self.counts.push((step, gaussians));
        }
        self.mark = Some((step, spent));
        self.pruned = false;
    }

    /// Whether it is time to ask the device, between two samples, so that a plan can be made.
    pub fn wants_plan(&self, step: u32, begun: u32) -> bool {
        let share = |seconds: f64| seconds / self.limit;
        match self.planned_at {
            Some((at, due)) => step >= due || share(self.spent() - at) >= EVERY_SHARE,
            None => {
                let few = step >= begun + FEW_STEPS;
                let passed = self.mark.map_or(0.0, |(_, at)| self.spent() - at);
                step >= begun + FIRST_STEPS
                    || (few && share(passed) >= FIRST_SHARE)
                    || self.left() <= 0.0
            }
        }
    }

    /// The schedule with the end where the time ends, as far as that can be told after step `step`;
    /// `cap` is a step at which the run ends in any case.
    pub fn plan(
        &mut self,
        schedule: &Schedule,
        step: u32,
        gaussians: usize,
        cap: Option<u32>,
    ) -> Schedule {
        let budget = schedule.config().budget.as_ref();
        let most = budget.and_then(|budget| budget.max_iterations());
        let most = most.unwrap_or(u32::MAX).min(cap.unwrap_or(u32::MAX));
        let rest = (f64::from(step) * MIN_REST).ceil().max(1.0);
        let ending_at = |iterations: u32| schedule.planned(step, iterations);
        let mut planned = ending_at(schedule.config().iterations.max(step + 1));
        // What comes when depends on where the end is.
        for _ in 0..4 {
            let each = self.seconds_a_step(&planned, step, gaussians);
            let fitting = self.left() / each.max(1e-9);
            let end = match (fitting < rest, schedule.course()) {
                // The time is over, or nearly: no plan moves the end away again.
                (true, Some(course)) => f64::from(course.iterations).min(f64::from(step) + rest),
                _ => f64::from(step) + fitting.max(rest),
            };
            let end = end.min(f64::from(most)) as u32;
            planned = ending_at(end.max(step.saturating_add(1)));
        }
        let left = f64::from(planned.config().iterations.saturating_sub(step));
        let due = step.saturating_add((EVERY_PART * left).ceil() as u32);
        self.planned_at = Some((self.spent(), due));
        planned
    }

    /// Mean seconds of the steps that are left, with all that comes between them.
    fn seconds_a_step(&self, schedule: &Schedule, step: u32, gaussians: usize) -> f64 {
        let config = schedule.config();
        let left = f64::from(config.iterations.saturating_sub(step)).max(1.0);
        let trend = self.trend(config.densify.from);
        let mut sum = 0.0;
        for point in 0..POINTS {
            let part = (f64::from(point) + 0.5) / f64::from(POINTS);
            let at = step + (part * left).round() as u32;
            let count = schedule.gaussians_at(at, (step, gaussians), trend);
            sum += self.pace.of(schedule.scale(at), count);
        }
        let mut each = sum / f64::from(POINTS);
        let rounds = schedule.prunings_left(step);
        if rounds > 0 {
            let one = match self.pruning {
                (_, 0) => PRUNING_A_PHOTO * self.photos as f64 * each,
                (seconds, times) => seconds / f64::from(times),
            };
            each += f64::from(rounds) * one / left;
        }
        if let (Some(every), (seconds, times @ 1..)) = (config.saving.eval_every, self.measuring) {
            each += seconds / f64::from(times) / f64::from(every);
        }
        each
    }

    /// By how many Gaussians the set grew in a step lately, since growth began.
    fn trend(&self, from: u32) -> Option<f64> {
        let (step, gaussians) = *self.counts.last()?;
        let since = from.max(step - step / 4);
        let (before, fewer) = *self.counts.iter().find(|(at, _)| *at >= since)?;
        let (more, fewer) = (gaussians as f64, fewer as f64);
        (step > before).then(|| (more - fewer) / f64::from(step - before))
    }

    /// What a plan is made of, for people.
    pub fn told(&self, schedule: &Schedule, step: u32, gaussians: usize) -> Planned {
        let config = schedule.config();
        Planned {
            iterations: config.iterations,
            seconds_a_step: self.pace.of(schedule.scale(step), gaussians as f64),
            max_gaussians: config.scene.max_gaussians,
            before: self.before,
            after: self.after,
            left: self.left(),
        }
    }
}
