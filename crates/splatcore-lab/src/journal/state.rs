//! What a journal says, put together.

use super::{Blobs, Entry, Event, NotRun, Proposed, Timed};
use crate::candidate::{Candidate, Id, Texts};
use crate::gates::Verdict;
use crate::gates::result::Wanted;
use crate::propose::{History, Judged};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;

/// An experiment as its journal leaves it.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// What proposers may know.
    pub history: History,
    /// The candidate that was proposed last and is not judged yet: its work was in flight.
    pub pending: Option<Candidate>,
    /// Candidates by the digest of their machine code, the first of each.
    pub by_code: HashMap<String, Id>,
    /// What the kernels of a candidate that differ from the baseline's take of the card, as text.
    pub resources: HashMap<Id, BTreeMap<String, String>>,
    /// Times over the baseline's at a first look.
    pub looked: HashMap<Id, f64>,
    /// Gates that were not run, by judged candidate.
    pub not_run: HashMap<Id, Vec<NotRun>>,
    /// Counterexamples of a second model, each once, the first `MAX_COUNTEREXAMPLES`: tests of
    /// every candidate that follows.
    pub counterexamples: Vec<Wanted>,
    /// Questions whose answers are in the journal, by digest.
    pub answered: HashSet<String>,
    /// Device seconds spent.
    pub device_seconds: f64,
    /// The last times of the baseline against itself before this run, and when they were written,
    /// in seconds since 1970. A journal has those of one kind of device only.
    pub noise: Option<(u64, Timed)>,
}

/// Counterexamples that become tests: each makes every later candidate a little dearer.
pub const MAX_COUNTEREXAMPLES: usize = 32;

impl State {
    /// Replays entries.
    ///
    /// # Errors
    /// If a text that an entry names is not among the blobs.
    pub fn replay(baseline: Texts, entries: &[Entry], blobs: &Blobs) -> io::Result<Self> {
        let mut state = Self {
            history: History {
                baseline,
                ..History::default()
            },
            ..Self::default()
        };
        for entry in entries {
            state.apply(&entry.event, blobs)?;
            if let Event::Noise(noise) = &entry.event {
                state.noise = Some((entry.at, noise.clone()));
            }
        }
        Ok(state)
    }

    /// Takes in one more event.
    ///
    /// # Errors
    /// As [`State::replay`].
    pub fn apply(&mut self, event: &Event, blobs: &Blobs) -> io::Result<()> {
        match event {
            Event::Proposed(proposed) => {
                self.history.proposed += 1;
                self.pending = Some(candidate(proposed, blobs)?);
            }
            Event::Answered(answer) => {
                self.answered.insert(answer.request.clone());
            }
            Event::NoProposal { .. } | Event::Repeated { .. } => self.history.proposed += 1,
            Event::CrossChecked(checked) => {
                let known = &mut self.counterexamples;
                let example = checked.counterexample.as_ref();
                let new = example.filter(|&example| !known.contains(example));
                if known.len() < MAX_COUNTEREXAMPLES {
                    known.extend(new.cloned());
                }
            }
            Event::Compiled(code) => {
                let first = self.by_code.entry(code.code.clone());
                first.or_insert_with(|| code.id.clone());
                self.resources
                    .insert(code.id.clone(), code.resources.clone());
            }
            Event::Judged {
                id,
                verdict,
                not_run,
                device_seconds,
            } => {
                self.device_seconds += device_seconds;
                self.not_run.insert(id.clone(), not_run.clone());
                self.judge(id, verdict.clone());
            }
            Event::Looked {
                id,
                ratio,
                device_seconds,
            } => {
                self.device_seconds += device_seconds;
                self.looked.insert(id.clone(), *ratio);
            }
            Event::Opened(_)
            | Event::SameCode { .. }
            | Event::Checked(_)
            | Event::Timed(_)
            | Event::Noise(_)
            | Event::Stopped { .. }
            | Event::Accepted { .. } => {}
        }
        Ok(())
    }

    fn judge(&mut self, id: &Id, verdict: Verdict) {
        let known = self.history.judged.iter_mut();
        if let Some(judged) = known.into_iter().find(|j| j.candidate.id() == *id) {
            judged.verdict = verdict;
        } else if let Some(candidate) = self.pending.take_if(|pending| pending.id() == *id) {
            self.history.judged.push(Judged { candidate, verdict });
        }
    }
}

fn candidate(proposed: &Proposed, blobs: &Blobs) -> io::Result<Candidate> {
    let texts = proposed.changed.iter();
    let changed = texts
        .map(|(name, digest)| Ok((name.clone(), blobs.text(digest)?)))
        .collect::<io::Result<Texts>>()?;
    Ok(Candidate {
        parents: proposed.parents.clone(),
        operator: proposed.operator,
        origin: proposed.origin.clone(),
        changed,
        about: proposed.about.clone(),
    })
}
