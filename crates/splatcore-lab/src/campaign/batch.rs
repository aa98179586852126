//! Candidates that passed where nothing could be timed, timed in one go on a card: evaluators in
//! several threads look at results side by side and take turns for the times.

use super::{CampaignError, Session, Watch};
use crate::candidate::{Candidate, Id};
use crate::evaluate::{Already, Broken, Evaluator, Look, Outcome};
use crate::gates::{Gate, Verdict};
use crate::journal::{Event, State, Timed};
use std::collections::{HashMap, VecDeque};
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Condvar, Mutex, MutexGuard};

/// What an evaluator found of a candidate.
#[derive(Debug)]
pub struct Trial {
    candidate: Candidate,
    events: Vec<Event>,
    outcome: Outcome,
    device_seconds: f64,
}

/// What an evaluator found, or why it cannot go on.
pub type Found = Result<Trial, Broken>;

/// Candidates that wait for a card.
#[derive(Debug, Default)]
pub struct Batch {
    shared: Mutex<Shared>,
    changed: Condvar,
}

/// What evaluators share.
#[derive(Debug, Default)]
struct Shared {
    /// Whether candidates are handed out.
    is_open: bool,
    /// Whether no more will be.
    is_over: bool,
    /// The baseline against itself.
    noise: Option<Timed>,
    waiting: VecDeque<(Candidate, bool)>,
    /// Seconds of the device that are left.
    device_seconds: f64,
    /// What came of machine code.
    known: HashMap<String, (Id, Outcome)>,
    fastest: Option<f64>,
}

impl Batch {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared
            .lock()
            .unwrap_or_else(|broken| broken.into_inner())
    }

    /// Hands out no more candidates.
    pub fn end(&self) {
        let mut shared = self.shared();
        shared.is_over = true;
        shared.waiting.clear();
        self.changed.notify_all();
    }

    fn open(&self, shared: Shared) {
        *self.shared() = shared;
        self.changed.notify_all();
    }

    /// The next candidate, and what is known of it; waits until there are some.
    fn next(&self) -> Option<(Candidate, Already)> {
        let mut shared = self.shared();
        while !shared.is_open && !shared.is_over {
            let waited = self.changed.wait(shared);
            shared = waited.unwrap_or_else(|broken| broken.into_inner());
        }
        let fastest = shared.fastest;
        let (candidate, no_races) = shared.waiting.pop_front()?;
        Some((candidate, Already { no_races, fastest }))
    }

    /// Takes seconds of the device from what is left; nothing is handed out after the last.
    fn spend(&self, device_seconds: f64) {
        let mut shared = self.shared();
        shared.device_seconds -= device_seconds;
        if shared.device_seconds <= 0.0 {
            shared.waiting.clear();
        }
    }

    fn known(&self, id: &Id, code: &str) -> Option<Outcome> {
        let shared = self.shared();
        let (other, outcome) = shared.known.get(code)?;
        (other != id).then(|| outcome.clone())
    }

    /// Takes part with an evaluator until nothing is left.
    pub fn work(&self, evaluator: &mut dyn Evaluator, found: &Sender<Found>) {
        let mut is_new = true;
        while let Some((candidate, already)) = self.next() {
            if std::mem::take(&mut is_new) {
                let noise = self.shared().noise.clone();
                noise.map(|noise| evaluator.knows_noise(&noise));
            }
            let mut events = Vec::new();
            let id = candidate.id();
            let known = |code: &str| self.known(&id, code);
            let mut log = |event| events.push(event);
            let outcome = evaluator.evaluate(&candidate, already, &known, &mut log);
            let device_seconds = evaluator.take_device_seconds();
            self.spend(device_seconds);
            let trial = outcome.map(|outcome| Trial {
                candidate,
                events,
                outcome,
                device_seconds,
            });
            if found.send(trial).is_err() {
                return;
            }
        }
    }
}

/// The candidates that passed their gates and were not timed: the fastest at a first look first,
/// then the others in the order of their proposal.
pub fn waiting(state: &State) -> Vec<Candidate> {
    let judged = state.history.judged.iter();
    let untimed = judged.filter(|judged| judged.verdict == Verdict::Untimed);
    let mut waiting: Vec<Candidate> = untimed.map(|judged| judged.candidate.clone()).collect();
    let time = |one: &Candidate| state.looked.get(&one.id()).copied();
    waiting.sort_by(|a, b| {
        let [a, b] = [a, b].map(|one| time(one).unwrap_or(f64::INFINITY));
        a.total_cmp(&b)
    });
    waiting
}

impl Session<'_> {
    /// Looks at the times of all that waits and was not looked at, some at once; `tell` hears each.
    ///
    /// # Errors
    /// See [`CampaignError`].
    pub fn look(
        &mut self,
        look: &mut Look<'_>,
        at_once: NonZeroUsize,
        tell: &mut dyn FnMut(&Candidate, Option<f64>),
        watch: &dyn Watch,
    ) -> Result<(), CampaignError> {
        let mut new = waiting(&self.state);
        new.retain(|one| !self.state.looked.contains_key(&one.id()));
        for some in new.chunks(at_once.get()) {
            if self.spent(watch).is_some() {
                break;
            }
            let looked = look.at(some)?;
            let device_seconds = looked.device_seconds / some.len() as f64;
            for (candidate, ratio) in some.iter().zip(looked.ratios) {
                tell(candidate, ratio);
                if let Some(ratio) = ratio {
                    self.write(Event::Looked {
                        id: candidate.id(),
                        ratio,
                        device_seconds,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Opens a batch of the first `most` candidates that wait, and takes in what evaluators find
    /// until they are judged or a budget is spent. `found` ends when no evaluator is left.
    ///
    /// # Errors
    /// See [`CampaignError`].
    pub fn time(
        &mut self,
        most: usize,
        batch: &Batch,
        found: &Receiver<Found>,
        watch: &mut dyn Watch,
    ) -> Result<String, CampaignError> {
        if let Some(reason) = self.spent(watch) {
            batch.end();
            return Ok(reason);
        }
        batch.open(self.shared(most));
        let (mut count, mut ended) = (0, None);
        for one in found {
            let Trial {
                candidate,
                events,
                outcome,
                device_seconds,
            } = one.inspect_err(|_| batch.end())?;
            watch.proposed(&self.state, &candidate);
            self.write_all(&candidate.id(), events)?;
            self.settle(&candidate, outcome, device_seconds, watch)?;
            count += 1;
            self.tell(batch);
            ended = ended.or_else(|| self.spent(watch));
            if ended.is_some() {
                batch.end();
            }
        }
        let left = waiting(&self.state).len();
        let all = format!("{count} candidates were judged with times; {left} wait");
        Ok(ended.unwrap_or(all))
    }

    fn shared(&self, most: usize) -> Shared {
        let races = |id: &Id| {
            let not_run = self.state.not_run.get(id).map_or(&[][..], Vec::as_slice);
            not_run.iter().any(|not_run| not_run.gate == Gate::Races)
        };
        let waiting = waiting(&self.state).into_iter().take(most);
        let (_, before) = self.before;
        let whole = self.folder.experiment.budget.device_seconds - self.state.device_seconds;
        let here = self.limits.device_seconds - (self.state.device_seconds - before);
        let mut shared = Shared {
            is_open: true,
            device_seconds: whole.min(here),
            noise: self.state.noise.as_ref().map(|(_, noise)| noise.clone()),
            waiting: waiting.map(|c| (c.clone(), !races(&c.id()))).collect(),
            ..Shared::default()
        };
        self.fill(&mut shared);
        shared
    }

    fn tell(&self, batch: &Batch) {
        self.fill(&mut batch.shared());
    }

    /// What is known of machine code, but for what waits, and the fastest so far.
    fn fill(&self, shared: &mut Shared) {
        let history = &self.state.history;
        for (code, id) in &self.state.by_code {
            let judged = history.find(id);
            if let Some(judged) = judged.filter(|judged| judged.verdict != Verdict::Untimed) {
                let not_run = self.state.not_run.get(id).cloned().unwrap_or_default();
                let verdict = judged.verdict.clone();
                let outcome = Outcome { verdict, not_run };
                shared.known.insert(code.clone(), (id.clone(), outcome));
            }
        }
        shared.fastest = history
            .best()
            .and_then(|best| best.verdict.ratio())
            .map(|ratio| ratio.ratio);
    }
}
