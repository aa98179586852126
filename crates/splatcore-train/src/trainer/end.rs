//! Where a run ends that is not told a number of steps: when its budget of time is spent, or when
//! the held-out photos have the quality that was asked for.

use super::Trainer;
use super::ends::Afterwards;
use super::steps::Stretch;
use crate::budget::{Account, Spending};
use crate::clock::Now;
use crate::error::TrainError;
use crate::evaluate;
use crate::intrinsics::LensChange;
use crate::observer::{Event, Observer};
use crate::together::{Decision, End};
use splatcore_core::backend::{BackendError, RenderOptions, Renderer};
use splatcore_core::{Pipeline, View};
use std::sync::Arc;

/// When it is asked how long what follows the last step takes: at the first plan, and when these
/// shares of a run are done.
const ASKED_AT: [f64; 2] = [0.5, 0.9];
/// Most of the time of training that looking at the quality takes.
const CHECKING: f64 = 0.03;
/// One of so many held-out views is looked at, at least [`FEWEST`]; all of them where these say
/// that it may be enough.
const ONE_OF: usize = 4;
const FEWEST: usize = 3;
/// In dB: by so much a few views may mislead before all were measured.
const MISLEADING: f64 = 0.5;
/// A plan is told again once its steps have changed by more than one of so many.
const TOLD_AGAIN: u32 = 10;
/// Once the quality is reached, so many of the steps taken follow, in which the rates fall.
const LAST_STEPS: f64 = 0.05;

impl Trainer {
    /// Of a run with a budget: so many seconds of it had passed when this is called, since the
    /// program that now runs was started. Without this call the budget counts from when the trainer
    /// was made. A resumed run adds what it had spent before.
    pub fn has_spent(&mut self, seconds: f64) {
        let before = self.ends.spending.seconds + seconds;
        let (config, photos) = (self.schedule.config(), self.order.order.len());
        self.ends.account = Account::open(config, Arc::clone(&self.now), before, photos);
    }

    /// Seconds spent so far of the budget, over all resumes; 0 without one.
    pub fn budget_spent(&self) -> f64 {
        self.spending().seconds
    }

    /// Of a run with a budget: what follows the last step is a part of it, and takes what this
    /// finds.
    pub fn keep_time_for(&mut self, afterwards: Afterwards) {
        self.ends.afterwards = Some(afterwards);
    }

    /// The photos that `quality-target` is about.
    pub fn hold_out(&mut self, views: Arc<Vec<View>>) {
        self.ends.held_out = views;
    }

    /// Where the held-out photos had the quality that was asked for: step and PSNR.
    pub fn reached(&self) -> Option<(u32, f64)> {
        self.ends.spending.reached
    }

    /// Reads the time from another clock, before the first step: for tests.
    pub fn set_clock(&mut self, now: Now) {
        self.now = now;
        self.has_spent(0.0);
    }

    /// What a checkpoint keeps of budget and quality.
    pub(super) fn spending(&self) -> Spending {
        let ends = &self.ends;
        let account = ends.account.as_ref();
        Spending {
            seconds: account.map_or(ends.spending.seconds, Account::spent),
            reached: ends.spending.reached,
        }
    }

    /// # Errors
    /// There are no photos on which the quality could be seen.
    pub(super) fn check_target(&self) -> Result<(), TrainError> {
        match self.target() {
            Some(_) if self.counting().next().is_none() => Err(TrainError::NothingHeldOut),
            _ => Ok(()),
        }
    }

    /// The quality that is asked for and not reached.
    fn target(&self) -> Option<f64> {
        let target = self.schedule.config().quality_target;
        target.filter(|_| self.ends.spending.reached.is_none())
    }

    /// Held-out views with a pixel that counts.
    fn counting(&self) -> impl Iterator<Item = &View> {
        let all = self.ends.held_out.iter();
        all.filter(|view| view.photo.counted_pixels() > 0)
    }

    /// Whether a plan is due after the step just taken, for which the device has to be waited for.
    pub(super) fn wants_plan(&self, first_step: u32) -> bool {
        let account = self.ends.account.as_ref();
        // The first step of a call only starts the clock: kernels may have been compiled in it.
        let grows = self.step == self.schedule.config().densify.from.saturating_sub(1);
        account.is_some_and(|account| {
            let first = self.step == first_step + 1;
            first || grows || account.wants_plan(self.step, first_step)
        })
    }

    /// Whether there is time to look at the quality, if it is asked for.
    pub(super) fn wants_judging(&self, stretch: &Stretch) -> bool {
        let checks = &self.ends.checks;
        self.target().is_some()
            && self.step > stretch.first_step + 1
            && checks.all + checks.last <= CHECKING * stretch.clock.seconds()
    }

    /// Looks at time and quality after a step that the device has done, and moves the end of the
    /// run accordingly. What one process finds holds for all.
    pub(super) fn move_end(
        &mut self,
        decision: Decision,
        stretch: &mut Stretch,
        observer: &mut dyn Observer,
    ) -> Result<(), TrainError> {
        let (step, gaussians) = (self.step, self.learner.count());
        let scale = self.schedule.scale(step);
        if let Some(account) = &mut self.ends.account {
            account.measure(step, scale, gaussians);
        }
        let plans = decision.plan && step > stretch.first_step + 1;
        if plans {
            self.plan_end(stretch, observer)?;
        }
        let reached = match decision.judge {
            true => self.look_at_quality(stretch)?,
            false => None,
        };
        let own = End {
            iterations: self.iterations(),
            reached,
        };
        let end = match &mut self.together {
            Some(together) if plans || decision.judge => together.end(step, own)?,
            _ => own,
        };
        if plans && !self.leads() {
            self.schedule = self.schedule.planned(step, end.iterations);
        }
        if let Some(psnr) = end.reached {
            self.come_to_the_end(psnr, observer);
        }
        Ok(())
    }

    /// Whether this process decides when the run ends.
    fn leads(&self) -> bool {
        let together = self.together.as_ref();
        together.is_none_or(|together| together.leads())
    }

    /// Plans the end, if this process leads; another one helps it to find how long what follows
    /// takes.
    fn plan_end(
        &mut self,
        stretch: &mut Stretch,
        observer: &mut dyn Observer,
    ) -> Result<(), TrainError> {
        let first = self.schedule.course().is_none();
        let done = self.schedule.share_done(self.step);
        if first || ASKED_AT.get(self.ends.asked).is_some_and(|&at| done >= at) {
            if !first || done >= ASKED_AT[0] {
                self.ends.asked += 1;
            }
            self.ask_what_follows(stretch)?;
        }
        let (step, gaussians) = (self.step, self.learner.count());
        let cap = self.ends.spending.reached.map(|_| self.iterations());
        let leads = self.leads();
        let Some(account) = self.ends.account.as_mut().filter(|_| leads) else {
            return Ok(());
        };
        self.schedule = account.plan(&self.schedule, step, gaussians, cap);
        let planned = account.told(&self.schedule, step, gaussians);
        let moved = |told: u32| told.abs_diff(planned.iterations) > told / TOLD_AGAIN;
        if self.ends.told.is_none_or(moved) {
            self.ends.told = Some(planned.iterations);
            observer.note(&Event::Planned(planned));
        }
        Ok(())
    }

    /// Finds how long what follows the last step will take.
    fn ask_what_follows(&mut self, stretch: &mut Stretch) -> Result<(), TrainError> {
        // All give their part of the scene to who renders it.
        self.learner.finish()?;
        let leads = self.leads();
        let Some(mut afterwards) = self.ends.afterwards.take().filter(|_| leads) else {
            return Ok(());
        };
        let pause = (self.now)();
        let (step, count) = (self.step, self.learner.count());
        let in_the_end = self.schedule.gaussians_in_the_end(step, count);
        let options = self.measured()?;
        let seconds = afterwards(&mut *self.learner, &options, in_the_end);
        let pause = (self.now)() - pause;
        stretch.clock.exclude(pause);
        self.spent.evaluation += pause;
        if let Some(account) = &mut self.ends.account {
            account.after = seconds;
            account.skip(pause);
        }
        self.ends.afterwards = Some(afterwards);
        Ok(())
    }

    /// How pictures are made that are compared with held-out photos.
    pub(super) fn measured(&mut self) -> Result<RenderOptions, TrainError> {
        Ok(RenderOptions {
            pipeline: Pipeline::MEASURED,
            ..self.shown()?
        })
    }

    /// Looks at some of the held-out photos, then at all. Returns their PSNR if it is what is asked
    /// for; always nothing where another process leads.
    fn look_at_quality(&mut self, stretch: &mut Stretch) -> Result<Option<f64>, TrainError> {
        self.learner.finish()?;
        self.poll()?;
        let Some(target) = self.target().filter(|_| self.leads()) else {
            return Ok(None);
        };
        let pause = (self.now)();
        let found = self.quality(target)?;
        let pause = (self.now)() - pause;
        stretch.clock.exclude(pause);
        self.spent.evaluation += pause;
        let checks = &mut self.ends.checks;
        (checks.all, checks.last) = (checks.all + pause, pause);
        if let Some(account) = &mut self.ends.account {
            account.skip(pause);
        }
        Ok(found.filter(|&psnr| psnr >= target))
    }

    /// Mean PSNR of all held-out views, if some of them say that it may reach the target.
    fn quality(&mut self, target: f64) -> Result<Option<f64>, TrainError> {
        let held_out = Arc::clone(&self.ends.held_out);
        let counts = |view: &&View| view.photo.counted_pixels() > 0;
        let all: Vec<&View> = held_out.iter().filter(counts).collect();
        let every = (all.len() / FEWEST).clamp(1, ONE_OF);
        let options = self.measured()?;
        let few: Vec<&View> = all.iter().copied().step_by(every).collect();
        let lenses = self.lenses();
        let of_few = psnr(&mut *self.learner, &few, &lenses, &options)?;
        let expected = of_few + self.ends.checks.offset.unwrap_or(MISLEADING);
        if every == 1 {
            return Ok(Some(of_few));
        }
        if expected < target {
            return Ok(None);
        }
        let of_all = psnr(&mut *self.learner, &all, &lenses, &options)?;
        self.ends.checks.offset = Some(of_all - of_few);
        Ok(Some(of_all))
    }

    fn come_to_the_end(&mut self, psnr: f64, observer: &mut dyn Observer) {
        let step = self.step;
        let rest = (LAST_STEPS * f64::from(step)).ceil() as u32;
        let end = self.iterations().min(step.saturating_add(rest));
        self.schedule = self.schedule.ending(step, end);
        self.ends.spending.reached = Some((step, psnr));
        let end = self.iterations();
        observer.note(&Event::Reached { step, psnr, end });
    }
}

/// Mean PSNR of views in dB, through what is now known of their lenses.
fn psnr(
    renderer: &mut dyn Renderer,
    views: &[&View],
    lenses: &[LensChange],
    options: &RenderOptions,
) -> Result<f64, BackendError> {
    let mut sum = 0.0;
    for view in views {
        let camera = LensChange::of(lenses, &view.camera);
        let image = renderer.render(&camera, options)?.image;
        sum += evaluate::psnr(view, &image)?;
    }
    Ok(sum / views.len().max(1) as f64)
}
