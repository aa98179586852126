//! The loop over the steps.

use super::{CURVE_POINTS, Outcome, SAMPLE_EVERY, SAVE_EVERY, SMOOTHING, TELL_EVERY, Trainer};
use crate::breakdown::is_profiled;
use crate::clock::Clock;
use crate::config::Checkpoints;
use crate::error::TrainError;
use crate::observer::{CurvePoint, Event, Observer, Progress, Signal};
use crate::together::Decision;
use splatcore_core::backend::{
    BackendError, Exchanged, HostMemory, Refine, RefineReport, RenderOptions,
};
use std::sync::Arc;

/// Of photos that are not held, about so many are read ahead, if there is room for them.
const READ_AHEAD: u32 = 64;

/// What one call of [`Trainer::run_ahead`] remembers from step to step.
pub(super) struct Stretch {
    pub(super) first_step: u32,
    pub(super) clock: Clock,
    /// Seconds trained at the last save, and when progress was last told.
    saved_at: f64,
    told_at: f64,
    /// Step at which the loss was last seen to be finite.
    finite_at: Option<u32>,
    /// Who looked asked for a stop, which other processes hear of at the next step.
    stop_next: bool,
}

impl Trainer {
    /// As [`Trainer::run_ahead`], and waits until the last checkpoint is on disk.
    ///
    /// # Errors
    /// As [`Trainer::run_ahead`] and [`Trainer::wait_saved`].
    pub fn run(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let outcome = self.run_ahead(observer);
        let saved = self.wait_saved(observer);
        let outcome = outcome?;
        saved.map(|()| outcome)
    }

    /// Takes the remaining steps. For each: the step, then what the schedule refines after it (see
    /// [`Schedule::refinements`](crate::schedule::Schedule::refinements)); every [`SAMPLE_EVERY`]
    /// steps the loss is sampled. Saves every `checkpoint-every` steps (or every [`SAVE_EVERY`]),
    /// when stopped, and at the end; files are written while training goes on, and the last one may
    /// still be being written when this returns: [`Trainer::wait_saved`]. May be called again after
    /// an interrupt.
    ///
    /// # Errors
    /// [`TrainError::NotFinite`] within [`SAMPLE_EVERY`] steps of the loss becoming infinite or not
    /// a number (nothing is saved then: the last checkpoint is from before), [`TrainError::Empty`]
    /// when every Gaussian was pruned, [`TrainError::Diverged`] when none is finite at a
    /// checkpoint, [`TrainError::Saved`] (memory ran out, or a photo cannot be read; the state is
    /// saved, if it still can be had), and
    /// what the backend or the disk report.
    pub fn run_ahead(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let outcome = self.run_unsaved(observer)?;
        self.save_end(observer)?;
        Ok(outcome)
    }

    /// As [`Trainer::run_ahead`], but leaves it to the caller to save the end: with
    /// [`Trainer::save_end`], before which the scene may be fetched.
    ///
    /// # Errors
    /// As [`Trainer::run_ahead`].
    pub fn run_unsaved(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        let outcome = self.take_steps(observer);
        outcome.map_err(|error| self.saved_if_short(error, observer))
    }

    /// Takes the state after the last step and starts to write it. All processes that train
    /// together make this call.
    ///
    /// # Errors
    /// As [`Trainer::run_ahead`].
    pub fn save_end(&mut self, observer: &mut dyn Observer) -> Result<(), TrainError> {
        let begun = (self.now)();
        // A run resumed from its last checkpoint has nothing left to do, but perhaps another place
        // to save to.
        let saved = self.save(observer);
        self.spent.wall += (self.now)() - begun;
        saved.map_err(|error| self.saved_if_short(error, observer))
    }

    /// Saves the state if an error says that memory is short, or that a photo cannot be read.
    fn saved_if_short(&mut self, error: TrainError, observer: &mut dyn Observer) -> TrainError {
        match error {
            // A process alone cannot fetch the state from the others.
            TrainError::Backend(
                error @ (BackendError::OutOfMemory { .. } | BackendError::Photo(_)),
            ) if self.together.is_none() => self.save_what_there_is(error, observer),
            error => error,
        }
    }

    fn take_steps(&mut self, observer: &mut dyn Observer) -> Result<Outcome, TrainError> {
        self.check_target()?;
        self.ends.begin();
        let mut stretch = Stretch {
            first_step: self.step,
            clock: Clock::start(Arc::clone(&self.now), self.seconds, self.step),
            saved_at: self.seconds,
            told_at: self.seconds,
            finite_at: None,
            stop_next: false,
        };
        let begun = (self.now)();
        let mut outcome = Outcome::Finished;
        // A resumed run may have used up its time before.
        if self.time_is_up() && self.step < self.iterations() {
            outcome = Outcome::TimeLimit { step: self.step };
        }
        while self.step < self.iterations() && outcome == Outcome::Finished {
            outcome = self.take_step(&mut stretch, observer)?;
        }
        if self.step > stretch.first_step {
            self.spent.profile.add(self.learner.take_profile()?);
            self.spent.steps += self.step - stretch.first_step;
            self.spent.wall += (self.now)() - begun;
        }
        Ok(outcome)
    }

    /// One step, and whatever follows it. [`Outcome::Finished`] if nothing ends the run early.
    fn take_step(
        &mut self,
        stretch: &mut Stretch,
        observer: &mut dyn Observer,
    ) -> Result<Outcome, TrainError> {
        let views = self.launch(stretch.first_step)?;
        self.prepare_poses(&views);
        let step = self.step;
        self.poll()?;
        self.refine(step)?;
        self.refine_cameras(observer)?;
        self.find_motion()?;
        self.seconds = stretch.clock.seconds();

        let mut signal = observer.signal();
        let last = step == self.iterations();
        let sampled = step == 1 || last || step.is_multiple_of(SAMPLE_EVERY);
        if sampled {
            self.sample(&views, stretch)?;
            self.note_offloading(observer)?;
        }
        if sampled || self.seconds - stretch.told_at >= TELL_EVERY.as_secs_f64() {
            stretch.told_at = self.seconds;
            if self.tell(stretch, observer) == Signal::Stop {
                signal = Signal::Stop;
            }
        }
        let mut decision = self.decide(Decision {
            stop: signal == Signal::Stop || std::mem::take(&mut stretch.stop_next),
            time_is_up: self.time_is_up(),
            look: observer.wants_look(),
            save: self.checkpoint_is_due(stretch.saved_at),
            plan: self.wants_plan(stretch.first_step),
            judge: self.wants_judging(stretch),
        })?;
        // Behind the sample, so that who looks knows the loss of this step.
        if decision.look && self.look(stretch, observer)? == Signal::Stop {
            match self.together {
                None => decision.stop = true,
                // What all have decided for this step holds.
                Some(_) => stretch.stop_next = true,
            }
        }
        let stop = match decision.stop {
            true => Some(Outcome::Interrupted { step }),
            false => decision.time_is_up.then_some(Outcome::TimeLimit { step }),
        };
        let stop = stop.filter(|_| !last);
        let (due, plans) = (decision.save, decision.plan);
        if !sampled && (stop.is_some() || due || plans) {
            self.checked_loss(&views, stretch.finite_at)?;
            // The device may have been behind until the loss was there.
            self.seconds = stretch.clock.seconds();
        }
        if !last && (sampled || plans) {
            self.move_end(decision, stretch, observer)?;
        }
        let measured = self.schedule.config().saving.eval_every;
        if measured.is_some_and(|every| step.is_multiple_of(every)) {
            self.measure(stretch, observer)?;
        }
        if let Some(stop) = stop {
            return Ok(stop);
        }
        // After the last step the one at the end is enough.
        if due && !last {
            stretch.saved_at = self.seconds;
            self.save(observer)?;
        }
        Ok(Outcome::Finished)
    }

    /// Steps of the whole run, as far as that is known.
    pub(super) fn iterations(&self) -> u32 {
        self.schedule.config().iterations
    }

    /// Hands the next step to the learner. Returns its views.
    fn launch(&mut self, first_step: u32) -> Result<Vec<usize>, TrainError> {
        let step = self.step + 1;
        let batch = self.schedule.config().batch.views;
        let views = self.order.next_views(batch).ok_or(TrainError::NoViews)?;
        let mut plan = self.schedule.plan(step, views);
        plan.render.sky = self.given_sky.clone();
        plan.upcoming = self.upcoming();
        // Not the first step of its options, for which kernels may have to be compiled.
        let warm = self.step > first_step
            && RenderOptions {
                background: plan.render.background,
                sky: plan.render.sky.clone(),
                ..self.schedule.render(self.step)
            } == plan.render;
        let taken = match warm && is_profiled(step, self.schedule.config().iterations) {
            true => self.learner.profiled_step(&plan),
            false => self.learner.step(&plan),
        };
        if let Err(BackendError::Photo(_)) = taken {
            for &view in plan.views.iter().rev() {
                self.order.put_back(view);
            }
        }
        taken?;
        self.step = step;
        Ok(plan.views)
    }

    /// The views of the next steps, if photos are read ahead.
    fn upcoming(&self) -> Vec<usize> {
        if !self.photos.read_ahead {
            return Vec::new();
        }
        let batch = self.schedule.config().batch.views;
        let steps = READ_AHEAD.div_ceil(batch).max(2);
        let views = self.order.clone().next_views(steps.saturating_mul(batch));
        views.unwrap_or_default()
    }

    /// Fetches the loss; some samples are points of the curve.
    fn sample(&mut self, views: &[usize], stretch: &mut Stretch) -> Result<(), TrainError> {
        let loss = self.checked_loss(views, stretch.finite_at)?;
        let (step, iterations) = (self.step, self.schedule.config().iterations);
        stretch.finite_at = Some(step);
        self.samples += 1;
        let weight = SMOOTHING.max(1.0 / self.samples as f64);
        let smoothed = self
            .smoothed_loss
            .map_or(loss, |old| old + weight * (loss - old));
        self.smoothed_loss = Some(smoothed);
        self.seconds = stretch.clock.seconds();
        let curve_every = iterations
            .div_ceil(CURVE_POINTS)
            .next_multiple_of(SAMPLE_EVERY);
        if step == 1 || step == iterations || step.is_multiple_of(curve_every) {
            self.curve.push(CurvePoint {
                step,
                loss: smoothed,
                gaussians: self.learner.count() as u64,
                seconds: self.seconds,
            });
        }
        Ok(())
    }

    /// What this process has given to the others, if several train together.
    pub fn exchanged(&self) -> Exchanged {
        self.learner.exchanged()
    }

    /// What lies in the host's memory because the device's is short.
    ///
    /// # Errors
    /// What the backend reports.
    pub fn host_memory(&mut self) -> Result<HostMemory, TrainError> {
        Ok(self.learner.host_memory()?)
    }

    /// Tells if more lies in the host's memory than was known.
    fn note_offloading(&mut self, observer: &mut dyn Observer) -> Result<(), TrainError> {
        let bytes = self.learner.host_memory()?.bytes;
        if bytes > self.offloaded {
            observer.note(&Event::Offloaded { bytes });
        }
        self.offloaded = bytes;
        Ok(())
    }

    fn tell(&mut self, stretch: &mut Stretch, observer: &mut dyn Observer) -> Signal {
        let (step, iterations) = (self.step, self.iterations());
        let steps_per_second = stretch.clock.rate(step);
        let at_this_speed = (iterations - step) as f64 / steps_per_second.max(1e-9);
        observer.progress(&Progress {
            step,
            iterations,
            loss: self.smoothed_loss.unwrap_or(f64::NAN),
            gaussians: self.learner.count(),
            steps_per_second,
            seconds_left: self.ends.seconds_left().unwrap_or(at_this_speed),
            seconds: self.seconds,
            last_refine: self.last_refine,
        })
    }

    /// Lets the observer look; its time is not training.
    fn look(
        &mut self,
        stretch: &mut Stretch,
        observer: &mut dyn Observer,
    ) -> Result<Signal, TrainError> {
        // What the device has still to do is training.
        self.learner.finish()?;
        let pause = (self.now)();
        let options = self.shown()?;
        let signal = observer.look(self.step, &mut *self.learner, &options);
        let pause = (self.now)() - pause;
        stretch.clock.exclude(pause);
        self.spent.evaluation += pause;
        // Who looks, or pauses the run, has the time for it.
        self.ends.give(pause);
        Ok(signal)
    }

    /// Has the observer measure; its time is not training.
    fn measure(
        &mut self,
        stretch: &mut Stretch,
        observer: &mut dyn Observer,
    ) -> Result<(), TrainError> {
        // What the device has still to do is training.
        self.learner.finish()?;
        self.poll()?;
        let pause = (self.now)();
        let options = self.measured()?;
        if self.refines_cameras() {
            observer.note(&Event::Cameras {
                trained: &self.cameras(),
                lenses: &self.lenses(),
            });
        }
        observer.measure(self.step, &mut *self.learner, &options);
        let pause = (self.now)() - pause;
        stretch.clock.exclude(pause);
        self.spent.evaluation += pause;
        self.ends.note_measuring(pause);
        Ok(())
    }

    /// What all processes do after this step.
    fn decide(&mut self, own: Decision) -> Result<Decision, TrainError> {
        match &mut self.together {
            Some(together) => together.decide(self.step, own),
            None => Ok(own),
        }
    }

    fn time_is_up(&self) -> bool {
        self.time_limit.is_some_and(|limit| self.seconds >= limit)
    }

    fn checkpoint_is_due(&self, saved_at: f64) -> bool {
        match self.schedule.config().saving.checkpoints {
            Checkpoints::EverySteps(steps) => self.step.is_multiple_of(steps),
            Checkpoints::AtEnd => false,
            Checkpoints::ByTime => self.seconds - saved_at >= SAVE_EVERY.as_secs_f64(),
        }
    }

    fn refine(&mut self, step: u32) -> Result<(), TrainError> {
        for refine in self.schedule.refinements(step) {
            let told = !matches!(
                refine,
                Refine::ResetOpacity { .. }
                    | Refine::FadeOpacity { .. }
                    | Refine::ComputeColumn(_)
                    | Refine::LimitScales { .. }
            );
            if matches!(refine, Refine::PruneFloaters { .. }) {
                self.ends.note_pruning();
            }
            match self.learner.queue_refine(&refine)? {
                None => self.queued.push_back((step, told)),
                Some(report) => {
                    self.poll()?;
                    self.note_report(step, told, report)?;
                }
            }
        }
        Ok(())
    }

    /// Takes the reports of queued refinements that are known by now.
    pub(super) fn poll(&mut self) -> Result<(), TrainError> {
        for report in self.learner.take_reports() {
            if let Some((step, told)) = self.queued.pop_front() {
                self.note_report(step, told, report)?;
            }
        }
        Ok(())
    }

    fn note_report(
        &mut self,
        step: u32,
        told: bool,
        report: RefineReport,
    ) -> Result<(), TrainError> {
        if report.count == 0 {
            return Err(TrainError::Empty { step });
        }
        if told {
            self.last_refine = Some((step, report));
        }
        Ok(())
    }

    /// The loss of the step just taken, on these views.
    fn checked_loss(&mut self, views: &[usize], finite_at: Option<u32>) -> Result<f64, TrainError> {
        let loss = self.learner.last_loss()?;
        self.poll()?;
        if loss.is_finite() {
            return Ok(loss);
        }
        let known = views.iter().filter_map(|&view| self.views.get(view));
        let names: Vec<&str> = known.map(|view| view.name.as_str()).collect();
        Err(TrainError::NotFinite {
            step: self.step,
            view: names.join("', '"),
            loss,
            since: match finite_at {
                Some(step) => format!("it was finite at step {step}"),
                None => "the first one looked at".to_owned(),
            },
        })
    }
}
