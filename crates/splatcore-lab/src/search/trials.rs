//! What a search knows: points that were tried, and what came of them.

use super::space::Config;
use std::collections::HashSet;

/// What came of a point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Outcome {
    /// Its time, in any unit; smaller is better.
    Time(f64),
    /// It has none: it did not compile, did not run, computed something else, or was not timed.
    Failed,
}

impl Outcome {
    /// The time; infinite if it has none.
    pub fn time(self) -> f64 {
        match self {
            Self::Time(time) if !time.is_nan() => time,
            Self::Time(_) | Self::Failed => f64::INFINITY,
        }
    }
}

/// A point that was tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The point.
    pub config: Config,
    /// What came of it.
    pub outcome: Outcome,
}

impl Trial {
    /// The time; infinite if it has none.
    pub fn time(&self) -> f64 {
        self.outcome.time()
    }
}

/// The trials of a search, oldest first, with an index of their points.
pub(super) struct Trials<'a> {
    pub list: &'a [Trial],
    seen: HashSet<&'a [u16]>,
}

impl<'a> Trials<'a> {
    pub fn new(list: &'a [Trial]) -> Self {
        Self {
            list,
            seen: list.iter().map(|trial| trial.config.as_slice()).collect(),
        }
    }

    /// Whether a point was not tried.
    pub fn is_new(&self, config: &[u16]) -> bool {
        !self.seen.contains(config)
    }

    /// The trials that have a time, the fastest first; equal ones in their order.
    pub fn ranked(&self) -> Vec<&'a Trial> {
        let timed = self.list.iter().filter(|trial| trial.time().is_finite());
        let mut ranked: Vec<&Trial> = timed.collect();
        ranked.sort_by(|a, b| a.time().total_cmp(&b.time()));
        ranked
    }
}
