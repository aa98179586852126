//! What can happen in an experiment.

use super::blobs::Digest;
use crate::candidate::{Bill, Id, Operator, Origin};
use crate::gates::result::Wanted;
use crate::gates::{Gate, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Event {
    /// A run began, or went on.
    Opened(Opened),
    /// A model answered.
    Answered(Bill),
    /// A candidate was proposed.
    Proposed(Proposed),
    /// A proposer was asked and had no candidate: a reply that is no edit, say.
    NoProposal {
        /// Why.
        reason: String,
    },
    /// The candidate's text was proposed before: its verdict stands.
    Repeated {
        /// The candidate.
        id: Id,
    },
    /// A second model compared a candidate with the baseline, before it was evaluated.
    CrossChecked(CrossChecked),
    /// A candidate was compiled.
    Compiled(Code),
    /// A candidate compiled to the machine code of another, whose verdict it shares.
    SameCode {
        /// The candidate.
        id: Id,
        /// The one that was judged.
        as_of: Id,
    },
    /// A candidate ran, and its results were looked at.
    Checked(Checked),
    /// A candidate was timed beside the baseline.
    Timed(Timed),
    /// What came of a candidate; the last event of each.
    Judged {
        /// The candidate.
        id: Id,
        /// What came of it.
        verdict: Verdict,
        /// Gates that could not be run here, and why: they block acceptance.
        not_run: Vec<NotRun>,
        /// Seconds of the device that it took.
        device_seconds: f64,
    },
    /// A candidate was timed shortly beside the baseline, to know when to judge it.
    Looked {
        /// The candidate.
        id: Id,
        /// Its time over the baseline's, without an interval.
        ratio: f64,
        /// Seconds of the device that it took.
        device_seconds: f64,
    },
    /// The baseline was timed against itself: the interval is what noise makes.
    Noise(Timed),
    /// The run ended.
    Stopped {
        /// Why: a budget, Ctrl-C, nothing left to try.
        reason: String,
    },
    /// A candidate became a patch.
    Accepted {
        /// The candidate.
        id: Id,
    },
}

/// A run began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opened {
    /// splatcore's version and commit.
    pub version: String,
    /// Digest of the baseline's kernel files.
    pub kernels: String,
    /// The device, its driver and compiler, in words.
    pub device: String,
    /// What confines the workers.
    pub sandbox: String,
    /// Digest of what verdicts depend on ([`crate::experiment::Experiment::identity`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<String>,
}

/// A candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposed {
    /// Its identity.
    pub id: Id,
    /// What it was made from.
    pub parents: Vec<Id>,
    /// How it came about.
    pub operator: Operator,
    /// What led a model to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// One line on what was changed.
    pub about: String,
    /// The texts that differ from the baseline, as blobs.
    pub changed: BTreeMap<String, Digest>,
}

/// What a second model said of a candidate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossChecked {
    /// The candidate.
    pub id: Id,
    /// The model that was asked.
    pub by: String,
    /// Why the candidate is rejected; `None` if the model found no difference, which proves
    /// nothing.
    pub objection: Option<String>,
    /// Inputs for which the candidate computes something else, it says: a test from now on.
    pub counterexample: Option<Wanted>,
}

/// What a candidate compiled to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Code {
    /// The candidate.
    pub id: Id,
    /// Digest of the machine code of all programs; equal for equal code.
    pub code: String,
    /// Resources of the kernels that differ from the baseline's, as text.
    pub resources: BTreeMap<String, String>,
}

/// Gates that a candidate passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The candidate.
    pub id: Id,
    /// Gates and what they looked at: `result: 24 images`.
    pub passed: Vec<String>,
}

/// A gate that could not be run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// Which.
    pub gate: Gate,
    /// Why: no compiler, no card.
    pub why: String,
}

/// Times of a candidate beside the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timed {
    /// The candidate.
    pub id: Id,
    /// One series a scene.
    pub series: Vec<Series>,
}

/// Paired times of one scene.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The scene's name.
    pub scene: String,
    /// Seconds of the baseline, a turn each: event to event on the device.
    pub baseline: Vec<f64>,
    /// Seconds of the candidate, over the same cameras.
    pub candidate: Vec<f64>,
    /// The same two by the clock of the process that judges.
    pub clock: [Vec<f64>; 2],
}

impl Series {
    /// No times yet.
    pub fn of(scene: &str) -> Self {
        Self {
            scene: scene.to_owned(),
            baseline: vec![],
            candidate: vec![],
            clock: [vec![], vec![]],
        }
    }

    /// Adds the times of later rounds of the same scene.
    pub fn append(&mut self, later: Self) {
        self.baseline.extend(later.baseline);
        self.candidate.extend(later.candidate);
        for (all, more) in self.clock.iter_mut().zip(later.clock) {
            all.extend(more);
        }
    }
}
