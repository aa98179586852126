//! What led a model to a candidate.

use serde::{Deserialize, Serialize};

/// What a model was told before it wrote: the paper's three ways to search (figures 9 and 10 of Hu
/// & Zhou 2025), or a way of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Guided {
    /// A planner's advice, pruned by a profile.
    PlannerAndProfile,
    /// A planner's advice.
    Planner,
    /// Nothing.
    Nothing,
    /// What it asked for: a coding agent that used the lab's tools ([`crate::mcp`]).
    Agent,
}

/// A planner's advice, as far as reports need it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Followed {
    /// Its number in the plan, from 1.
    pub number: usize,
    /// What to change.
    pub what: String,
    /// Percent of the frame's time that it should save, as the planner says.
    pub predicted_percent: f64,
}

/// What led a model to a candidate. The candidates that it started from are
/// [`super::Candidate::parents`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// The try's number ([`crate::propose::History::proposed`]).
    pub number: u64,
    /// The model that wrote it, as its endpoint calls it; its role where nobody says.
    pub model: String,
    /// What guided the model.
    pub guided: Guided,
    /// The advice that it was to follow, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<Followed>,
}

impl Origin {
    /// `try 17, advice 3: ` and what was changed.
    pub fn about(&self, what: &str) -> String {
        let advice = self.advice.as_ref().map_or(String::new(), |advice| {
            format!(", advice {}", advice.number)
        });
        format!("try {}{advice}: {what}", self.number)
    }

    /// The number of the advice.
    pub fn advice_number(&self) -> Option<usize> {
        self.advice.as_ref().map(|advice| advice.number)
    }
}
