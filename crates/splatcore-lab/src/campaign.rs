//! A run: proposes, judges and writes down, until a budget is spent, nothing is left to try, or
//! somebody interrupts.

use crate::candidate::{Bill, Candidate, Id, Texts};
use crate::evaluate::{Already, Broken, Evaluator, Outcome};
use crate::experiment::{Budget, ExperimentError, Folder};
use crate::gates::{Gate, Rejection, Verdict};
use crate::journal::{CrossChecked, Event, JournalError, Opened, Proposed, State, seconds_now};
use crate::propose::{History, ProposeError, Proposer};
use std::time::Instant;

/// Tries without a candidate in a row after which a proposer counts as broken.
const FRUITLESS: u32 = 20;

/// Seconds for which times of the baseline against itself hold: an experiment that people answer
/// is resumed once a question, and the machine is the same.
const NOISE_LASTS: u64 = 3600;

/// Why a run failed: one line with the remedy. Everything up to there is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// Folder or journal.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// The journal cannot be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A blob cannot be read or written.
    #[error("{0}")]
    Blob(#[from] std::io::Error),
    /// The evaluator cannot go on.
    #[error("{0}")]
    Broken(#[from] Broken),
    /// The proposer cannot go on.
    #[error("{0}")]
    Stop(String),
    /// The run was told to stop while it waited for an answer.
    #[error("{0}")]
    Interrupted(String),
}

/// What the person at the terminal sees and may do.
pub trait Watch {
    /// A candidate is proposed and about to be judged.
    fn proposed(&mut self, state: &State, candidate: &Candidate);
    /// A proposer was asked and had no candidate.
    fn fruitless(&mut self, _reason: &str) {}
    /// A candidate was judged.
    fn judged(&mut self, state: &State, candidate: &Candidate, outcome: &Outcome);
    /// Whether to end after the candidate in work.
    fn interrupted(&self) -> bool;
}

/// A second opinion on candidates, before they are evaluated.
pub trait CrossCheck {
    /// What it says of a candidate; `None` if it was not asked. An objection rejects the candidate.
    ///
    /// # Errors
    /// Why the run cannot go on.
    fn check(
        &mut self,
        history: &History,
        candidate: &Candidate,
    ) -> Result<Option<CrossChecked>, CampaignError>;

    /// What its answers since the last call cost.
    fn take_bills(&mut self) -> Vec<Bill> {
        Vec::new()
    }
}

/// What a run begins with.
pub struct Beginning {
    /// Its first event.
    pub opened: Opened,
    /// The texts that may be changed.
    pub baseline: Texts,
    /// When this run ends, if the experiment's budget is not spent before.
    pub limits: Budget,
}

/// Runs an experiment, or goes on with it. Returns why it ended.
///
/// # Errors
/// See [`CampaignError`].
pub fn run<'a>(
    folder: &'a mut Folder,
    beginning: Beginning,
    proposer: &mut dyn Proposer,
    evaluator: &mut dyn Evaluator,
    cross_check: Option<&'a mut dyn CrossCheck>,
    watch: &mut dyn Watch,
) -> Result<String, CampaignError> {
    let Beginning {
        opened,
        baseline,
        limits,
    } = beginning;
    let mut session = Session::open(folder, opened, baseline)?.within(limits);
    session.cross_check = cross_check;
    let ended = session
        .begin(evaluator, watch)
        .and_then(|()| session.go(proposer, evaluator, watch));
    let reason = match &ended {
        Ok(reason) => reason.clone(),
        Err(error) => error.to_string(),
    };
    session.close(reason)?;
    ended
}

/// An experiment that is being worked on, candidate by candidate.
pub struct Session<'a> {
    folder: &'a mut Folder,
    state: State,
    cross_check: Option<&'a mut dyn CrossCheck>,
    limits: Budget,
    start: Instant,
    /// Tries and device seconds of earlier sessions.
    before: (u64, f64),
}

impl<'a> Session<'a> {
    /// Opens a session; `baseline` are the texts that may be changed.
    ///
    /// # Errors
    /// If the journal cannot be replayed or written.
    pub fn open(
        folder: &'a mut Folder,
        opened: Opened,
        baseline: Texts,
    ) -> Result<Self, CampaignError> {
        let state = State::replay(baseline, folder.journal.entries(), &folder.blobs)?;
        let mut session = Self {
            folder,
            before: (state.history.proposed, state.device_seconds),
            state,
            cross_check: None,
            limits: Budget::UNLIMITED,
            start: Instant::now(),
        };
        session.write(Event::Opened(opened))?;
        Ok(session)
    }

    /// Times the baseline against itself, unless the journal has such times of the last hour, and
    /// judges the candidate that was in work when the session before ended.
    ///
    /// # Errors
    /// See [`CampaignError`].
    pub fn begin(
        &mut self,
        evaluator: &mut dyn Evaluator,
        watch: &mut dyn Watch,
    ) -> Result<(), CampaignError> {
        let known = self.state.noise.as_ref();
        let fresh = known.filter(|(at, _)| seconds_now().saturating_sub(*at) < NOISE_LASTS);
        let knows = fresh.is_some_and(|(_, noise)| evaluator.knows_noise(noise));
        if !knows && let Some(noise) = evaluator.noise()? {
            self.state.noise = Some((seconds_now(), noise.clone()));
            self.write(Event::Noise(noise))?;
        }
        if let Some(candidate) = self.state.pending.clone() {
            self.judge(&candidate, evaluator, watch)?;
        }
        Ok(())
    }

    /// Ends this session within limits of its own too.
    #[must_use]
    pub fn within(self, limits: Budget) -> Self {
        Self { limits, ..self }
    }

    /// Ends the session.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn close(mut self, reason: String) -> Result<(), CampaignError> {
        self.write(Event::Stopped { reason })
    }

    /// Everything so far.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The experiment's folder.
    pub fn folder(&self) -> &Folder {
        self.folder
    }

    fn write(&mut self, event: Event) -> Result<(), CampaignError> {
        self.state.apply(&event, &self.folder.blobs)?;
        self.folder.journal.append(event)?;
        Ok(())
    }

    /// Writes down answers that the journal does not have: those on record come again when a run
    /// goes on.
    fn note(&mut self, bills: Vec<Bill>) -> Result<(), CampaignError> {
        for bill in bills {
            if !self.state.answered.contains(&bill.request) {
                self.write(Event::Answered(bill))?;
            }
        }
        Ok(())
    }

    /// Writes down an answer of a model that asks by itself.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn answered(&mut self, bill: Bill) -> Result<(), CampaignError> {
        self.note(vec![bill])
    }

    fn go(
        &mut self,
        proposer: &mut dyn Proposer,
        evaluator: &mut dyn Evaluator,
        watch: &mut dyn Watch,
    ) -> Result<String, CampaignError> {
        let mut fruitless = 0;
        loop {
            if let Some(reason) = self.ends(watch) {
                return Ok(reason);
            }
            let proposed = proposer.propose(&self.state.history);
            self.note(proposer.take_bills())?;
            match proposed {
                Ok(candidate) => {
                    fruitless = 0;
                    self.submit(candidate, evaluator, watch)?;
                }
                Err(ProposeError::Exhausted) => return Ok("nothing is left to try".into()),
                Err(ProposeError::Stop(reason)) => return Err(CampaignError::Stop(reason)),
                Err(ProposeError::Interrupted(reason)) => {
                    return Err(CampaignError::Interrupted(reason));
                }
                Err(ProposeError::Failed(reason)) => {
                    fruitless += 1;
                    watch.fruitless(&reason);
                    self.write(Event::NoProposal {
                        reason: reason.clone(),
                    })?;
                    if fruitless == FRUITLESS {
                        return Err(CampaignError::Stop(format!(
                            "{FRUITLESS} tries in a row brought no candidate, the last one: \
                             {reason}"
                        )));
                    }
                }
            }
        }
    }

    /// Why the run is over, if a budget is spent or somebody interrupts.
    pub fn ends(&self, watch: &dyn Watch) -> Option<String> {
        let candidates = self.folder.experiment.budget.candidates;
        if !watch.interrupted() && self.state.history.proposed >= candidates {
            return Some(format!("the budget of {candidates} candidates is spent"));
        }
        self.spent(watch)
    }

    /// The same but for the budget of candidates.
    fn spent(&self, watch: &dyn Watch) -> Option<String> {
        let budget = &self.folder.experiment.budget;
        if watch.interrupted() {
            Some("interrupted; `lab resume` goes on".into())
        } else if self.state.device_seconds >= budget.device_seconds {
            Some(format!(
                "{:.0} device seconds are spent",
                budget.device_seconds
            ))
        } else if self.start.elapsed().as_secs_f64() >= budget.wall_seconds {
            Some(format!("{:.0} seconds have passed", budget.wall_seconds))
        } else {
            self.ends_here()
        }
    }

    /// Why this run is over while the experiment is not.
    fn ends_here(&self) -> Option<String> {
        let (tries, seconds) = self.before;
        let Budget {
            candidates,
            device_seconds,
            wall_seconds,
        } = self.limits;
        let spent = if self.state.history.proposed - tries >= candidates {
            format!("{candidates} candidates of this run are tried")
        } else if self.state.device_seconds - seconds >= device_seconds {
            format!("{device_seconds:.0} device seconds of this run are spent")
        } else if self.start.elapsed().as_secs_f64() >= wall_seconds {
            format!("{wall_seconds:.0} seconds of this run have passed")
        } else {
            return None;
        };
        Some(format!("{spent}; `lab resume` goes on"))
    }

    /// Takes in a candidate: judges it, unless its text was judged before.
    ///
    /// # Errors
    /// See [`CampaignError`].
    pub fn submit(
        &mut self,
        candidate: Candidate,
        evaluator: &mut dyn Evaluator,
        watch: &mut dyn Watch,
    ) -> Result<(), CampaignError> {
        let id = candidate.id();
        if id == Id::baseline() || self.state.history.find(&id).is_some() {
            return self.write(Event::Repeated { id });
        }
        let mut changed = std::collections::BTreeMap::new();
        for (name, text) in &candidate.changed {
            changed.insert(name.clone(), self.folder.blobs.keep(text.as_bytes())?);
        }
        self.write(Event::Proposed(Proposed {
            id,
            parents: candidate.parents.clone(),
            operator: candidate.operator,
            origin: candidate.origin.clone(),
            about: candidate.about.clone(),
            changed,
        }))?;
        self.judge(&candidate, evaluator, watch)
    }

    fn judge(
        &mut self,
        candidate: &Candidate,
        evaluator: &mut dyn Evaluator,
        watch: &mut dyn Watch,
    ) -> Result<(), CampaignError> {
        watch.proposed(&self.state, candidate);
        let id = candidate.id();
        if let Some(rejection) = self.objection(candidate, evaluator)? {
            let outcome = Outcome {
                verdict: Verdict::Rejected(rejection),
                not_run: vec![],
            };
            return self.settle(candidate, outcome, 0.0, watch);
        }
        let mut events = Vec::new();
        let outcome = {
            let known = |code: &str| self.known(&id, code);
            evaluator.evaluate(candidate, Already::default(), &known, &mut |event| {
                events.push(event)
            })?
        };
        self.write_all(&id, events)?;
        self.settle(candidate, outcome, evaluator.take_device_seconds(), watch)
    }

    /// Writes down what an evaluator logged of a candidate.
    fn write_all(&mut self, id: &Id, events: Vec<Event>) -> Result<(), CampaignError> {
        for event in events {
            let same = match &event {
                Event::Compiled(code) => self.state.by_code.get(&code.code).cloned(),
                _ => None,
            };
            self.write(event)?;
            if let Some(as_of) = same.filter(|as_of| as_of != id) {
                self.write(Event::SameCode {
                    id: id.clone(),
                    as_of,
                })?;
            }
        }
        Ok(())
    }

    /// What a second model objects; its counterexample becomes a test at once.
    fn objection(
        &mut self,
        candidate: &Candidate,
        evaluator: &mut dyn Evaluator,
    ) -> Result<Option<Rejection>, CampaignError> {
        let Some(check) = &mut self.cross_check else {
            return Ok(None);
        };
        let checked = check.check(&self.state.history, candidate);
        let about = |bill| Bill {
            id: Some(candidate.id()),
            ..bill
        };
        let bills = check.take_bills().into_iter().map(about).collect();
        self.note(bills)?;
        let Some(checked) = checked? else {
            return Ok(None);
        };
        let objection = checked.objection.clone();
        let known = self.state.counterexamples.len();
        self.write(Event::CrossChecked(checked))?;
        for new in &self.state.counterexamples[known..] {
            evaluator.add_test(new)?;
        }
        Ok(objection.map(|reason| Rejection::new(Gate::CrossCheck, reason)))
    }

    fn settle(
        &mut self,
        candidate: &Candidate,
        outcome: Outcome,
        device_seconds: f64,
        watch: &mut dyn Watch,
    ) -> Result<(), CampaignError> {
        self.write(Event::Judged {
            id: candidate.id(),
            verdict: outcome.verdict.clone(),
            not_run: outcome.not_run.clone(),
            device_seconds,
        })?;
        watch.judged(&self.state, candidate, &outcome);
        Ok(())
    }

    /// What came of another candidate with this machine code.
    fn known(&self, id: &Id, code: &str) -> Option<Outcome> {
        let other = self.state.by_code.get(code).filter(|other| *other != id)?;
        Some(Outcome {
            verdict: self.state.history.find(other)?.verdict.clone(),
            not_run: self.state.not_run.get(other).cloned().unwrap_or_default(),
        })
    }
}

mod batch;

pub use batch::{Batch, Found, Trial, waiting};

#[cfg(test)]
mod batch_tests;
#[cfg(test)]
mod bills_tests;
#[cfg(test)]
mod pieces_tests;
#[cfg(test)]
pub(crate) mod tests;
