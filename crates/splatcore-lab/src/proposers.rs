//! Proposers by name, and several that take turns: the one list of who may make candidates.

use crate::candidate::{Bill, Candidate};
use crate::propose::{History, ProposeError, Proposer};
use crate::search::proposer::Around;
use crate::search::{CrossoverProposer, SearchProposer, Strategy};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A proposer's name.
#[derive(Clone, Debug, PartialEq)]
pub enum Named {
    /// `tpe`, `tpe@best`, `tpe@98a4`: a search over tunables and marked places, of the baseline's
    /// text or of a candidate's.
    Search(Strategy, Around),
    /// `crossover`: the changes of two candidates that do not overlap.
    Crossover,
    /// `model`: a language model.
    Model,
}

const CROSSOVER: &str = "crossover";
const MODEL: &str = "model";

/// No proposer is called so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no proposer is called '{0}'; give one of {names}, {CROSSOVER}, {MODEL}, or \
     STRATEGY@best or STRATEGY@ID for a search around a candidate",
    names = Strategy::names()
)]
pub struct UnknownProposer(String);

impl FromStr for Named {
    type Err = UnknownProposer;

    fn from_str(text: &str) -> Result<Self, UnknownProposer> {
        let unknown = || UnknownProposer(text.to_owned());
        let (name, around) = match text.split_once('@') {
            None if text == CROSSOVER => return Ok(Self::Crossover),
            None if text == MODEL => return Ok(Self::Model),
            None => (text, Around::Baseline),
            Some((name, "best")) => (name, Around::Best),
            Some((name, id)) => {
                let is_id = !id.is_empty() && id.bytes().all(|digit| digit.is_ascii_hexdigit());
                let id = is_id.then(|| id.to_ascii_lowercase()).ok_or_else(unknown)?;
                (name, Around::Candidate(id))
            }
        };
        let strategy = name.parse().map_err(|_| unknown())?;
        Ok(Self::Search(strategy, around))
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Search(strategy, Around::Baseline) => f.write_str(strategy.name()),
            Self::Search(strategy, Around::Best) => write!(f, "{}@best", strategy.name()),
            Self::Search(strategy, Around::Candidate(id)) => {
                write!(f, "{}@{id}", strategy.name())
            }
            Self::Crossover => f.write_str(CROSSOVER),
            Self::Model => f.write_str(MODEL),
        }
    }
}

/// Proposers that take turns, at least one; as text their names, separated by commas.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Proposers(Vec<Named>);

impl Proposers {
    /// The search by the default strategy.
    pub fn search() -> Self {
        Self(vec![Named::Search(Strategy::default(), Around::Baseline)])
    }

    /// A language model alone.
    pub fn model() -> Self {
        Self(vec![Named::Model])
    }

    /// Whether a language model is among them.
    pub fn ask_a_model(&self) -> bool {
        self.0.contains(&Named::Model)
    }

    /// Makes them. `model` is the proposer that [`Named::Model`] stands for; without it the others
    /// take turns alone.
    pub fn make(&self, model: Option<Box<dyn Proposer>>, seed: u64) -> Turns {
        let mut model = model;
        let make = |named: &Named| -> Option<Box<dyn Proposer>> {
            match named {
                Named::Search(strategy, around) => Some(Box::new(SearchProposer::around(
                    strategy.clone(),
                    seed,
                    around.clone(),
                ))),
                Named::Crossover => Some(Box::new(CrossoverProposer::new(seed))),
                Named::Model => model.take(),
            }
        };
        Turns {
            all: self.0.iter().filter_map(make).collect(),
        }
    }
}

impl FromStr for Proposers {
    type Err = UnknownProposer;

    fn from_str(text: &str) -> Result<Self, UnknownProposer> {
        let mut all: Vec<Named> = Vec::new();
        for name in text.split(',') {
            let named = name.trim().parse()?;
            if !all.contains(&named) {
                all.push(named);
            }
        }
        Ok(Self(all))
    }
}

splatcore_core::kept_as_text!(Proposers, UnknownProposer);

impl fmt::Display for Proposers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(Named::to_string).collect();
        f.write_str(&names.join(","))
    }
}

/// Proposers that take turns.
///
/// Whose turn it is follows from [`History::proposed`]. One with nothing left to try is passed
/// over, and asked again at its next turn: others may have found what it can build on.
pub struct Turns {
    all: Vec<Box<dyn Proposer>>,
}

impl Proposer for Turns {
    fn propose(&mut self, history: &History) -> Result<Candidate, ProposeError> {
        let count = self.all.len();
        for turn in 0..count as u64 {
            let at = (history.proposed.wrapping_add(turn) % count as u64) as usize;
            match self.all[at].propose(history) {
                Err(ProposeError::Exhausted) => {}
                other => return other,
            }
        }
        Err(ProposeError::Exhausted)
    }

    fn take_bills(&mut self) -> Vec<Bill> {
        let all = self.all.iter_mut();
        all.flat_map(|proposer| proposer.take_bills()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::{Operator, Texts};
    use crate::gates::{Ratio, Verdict};
    use crate::propose::Judged;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in ["portfolio", "tpe@best,crossover", "local@98a4,model,random"] {
            let read: Proposers = text.parse().unwrap();
            assert_eq!(read.to_string(), text);
            assert_eq!(read.ask_a_model(), text.contains("model"));
        }
        let twice: Proposers = "tpe, tpe,crossover".parse().unwrap();
        assert_eq!(twice.to_string(), "tpe,crossover");
        for text in [
            "",
            "best",
            "tpe@",
            "tpe@xyz",
            "crossover@best",
            "tpe,,local",
        ] {
            let error = text.parse::<Proposers>().unwrap_err().to_string();
            assert!(error.contains("give one of random, exhaustive"), "{error}");
        }
    }

    const TEXT: &str = "#define A 1  // tune: 1 2\n#define B 1  // tune: 1 2\n";

    /// Runs until nothing is left; every candidate is faster than those before it.
    fn run(proposers: &str, history: &mut History) -> Vec<Operator> {
        let proposers: Proposers = proposers.parse().unwrap();
        let mut made = Vec::new();
        let mut turns = proposers.make(None, 1);
        while let Ok(candidate) = turns.propose(history) {
            let ratio = 1.0 - 0.01 * (history.judged.len() + 1) as f64;
            let verdict = Verdict::Faster(Ratio {
                ratio,
                low: ratio,
                high: ratio,
            });
            made.push(candidate.operator);
            history.judged.push(Judged { candidate, verdict });
            history.proposed += 1;
        }
        made
    }

    fn history() -> History {
        History {
            baseline: Texts::from([("a.cu".into(), TEXT.into())]),
            ..History::default()
        }
    }

    #[test]
    fn who_has_nothing_to_try_is_passed_over_and_asked_again() {
        // A text of four points: one is the baseline's. A union of two changes can only come about
        // once both are judged, so the crossover's first turn falls to the search.
        let mut found = history();
        let made = run("crossover,exhaustive", &mut found);
        let wanted = [Operator::Tunable, Operator::Tunable, Operator::Crossover];
        assert_eq!(made, wanted);
        assert_eq!(run("crossover", &mut history()), []);
        let ids: std::collections::BTreeSet<_> =
            found.judged.iter().map(|j| j.candidate.id()).collect();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn a_search_around_the_best_goes_where_the_best_goes() {
        let mut found = history();
        run("exhaustive@best", &mut found);
        assert_eq!(found.judged[0].candidate.parents, []);
        for pair in found.judged.windows(2) {
            assert_eq!(pair[1].candidate.parents, [pair[0].candidate.id()]);
        }
        assert_eq!(found.judged.len(), 3);
    }
}
