//! Who makes candidates: one interface for searches, models and people.

use crate::candidate::{Bill, Candidate, Id, Texts};
use crate::gates::Verdict;

/// What a proposer may know: the task's files and what came of every candidate so far, oldest
/// first. Held-out scenes, thresholds and gate code are no part of it.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The task's files as the baseline has them.
    pub baseline: Texts,
    /// Candidates in the order of their proposal, each with its verdict.
    pub judged: Vec<Judged>,
    /// Tries so far: candidates in `judged`, repeats that cost nothing, and tries that gave none
    /// ([`ProposeError::Failed`]).
    pub proposed: u64,
}

/// A candidate and what came of it.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The candidate.
    pub candidate: Candidate,
    /// What came of it.
    pub verdict: Verdict,
}

impl History {
    /// What is known of a candidate.
    pub fn find(&self, id: &Id) -> Option<&Judged> {
        self.judged.iter().find(|j| j.candidate.id() == *id)
    }

    /// The candidate whose identity begins with `digits`.
    ///
    /// # Errors
    /// One line, if there is none or more than one.
    pub fn named(&self, digits: &str) -> Result<&Judged, String> {
        let begins =
            |j: &&Judged| !digits.is_empty() && j.candidate.id().as_str().starts_with(digits);
        let mut found = self.judged.iter().filter(begins);
        match (found.next(), found.next()) {
            (Some(judged), None) => Ok(judged),
            (None, _) => Err(format!(
                "no candidate that was judged begins with '{digits}'"
            )),
            (Some(_), Some(_)) => Err(format!(
                "several candidates begin with '{digits}'; give more digits"
            )),
        }
    }

    /// The fastest candidate that passed every gate.
    pub fn best(&self) -> Option<&Judged> {
        let passed = self.judged.iter().filter(|j| j.verdict.ratio().is_some());
        passed.min_by(|a, b| {
            let of = |j: &Judged| j.verdict.ratio().map_or(f64::INFINITY, |r| r.ratio);
            of(a).total_cmp(&of(b))
        })
    }

    /// The task's files as a candidate has them.
    pub fn texts_of(&self, candidate: &Candidate) -> Texts {
        let mut texts = self.baseline.clone();
        texts.extend(candidate.changed.clone());
        texts
    }
}

/// Why there is no proposal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProposeError {
    /// Nothing is left to try.
    #[error("nothing is left to try")]
    Exhausted,
    /// Costs a try, not the run: a reply that is no edit, say.
    #[error("{0}")]
    Failed(String),
    /// The run cannot go on: an endpoint is down, a budget is spent. One line with the remedy.
    #[error("{0}")]
    Stop(String),
    /// The run was told to stop while the proposer waited.
    #[error("{0}")]
    Interrupted(String),
}

/// Makes candidates.
///
/// A proposer that is asked again with the same history proposes the same: a run that was killed
/// goes on as if it had not been. Randomness comes from the experiment's seed and
/// [`History::proposed`]; replies of models come from the record.
pub trait Proposer {
    /// The next candidate.
    ///
    /// # Errors
    /// See [`ProposeError`].
    fn propose(&mut self, history: &History) -> Result<Candidate, ProposeError>;

    /// What the answers of models that it asked since the last call cost.
    fn take_bills(&mut self) -> Vec<Bill> {
        Vec::new()
    }
}
