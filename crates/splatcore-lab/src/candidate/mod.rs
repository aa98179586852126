//! A candidate: kernel files with other text.

mod bill;
mod code;
mod edits;
mod id;
pub mod merge;
mod origin;
pub mod splice;
pub mod transforms;
pub mod tunables;

pub use bill::Bill;
pub use edits::{Edit, EditError, apply, parse};
pub use id::{Id, Texts, hex};
pub use origin::{Followed, Guided, Origin};

use serde::{Deserialize, Serialize};

/// How a candidate came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operator {
    /// Another value of a declared tunable.
    Tunable,
    /// A deterministic transformation of a marked place.
    Transform,
    /// The changes of two parents that do not overlap.
    Crossover,
    /// A language model's edits.
    Llm,
    /// A person's edits.
    Manual,
}

/// Kernel files with other text than the baseline's.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Candidates that it was made from; empty if it was made from the baseline.
    pub parents: Vec<Id>,
    /// How it came about.
    pub operator: Operator,
    /// What led a model to it; `None` for candidates of others.
    pub origin: Option<Origin>,
    /// Whole texts of the files that differ from the baseline.
    pub changed: Texts,
    /// One line on what was changed, for reports: `BATCH 64 -> 128`.
    pub about: String,
}

impl Candidate {
    /// The identity: equal texts have equal identities, however they came about.
    pub fn id(&self) -> Id {
        Id::of(&self.changed)
    }

    /// What was changed, behind the try and the advice where a model did it.
    pub fn described(&self) -> String {
        described(self.origin.as_ref(), &self.about)
    }
}

/// As [`Candidate::described`], without control characters: a model's words must not command the
/// terminal that they are printed on.
pub fn described(origin: Option<&Origin>, about: &str) -> String {
    let words = origin.map_or_else(|| about.to_owned(), |origin| origin.about(about));
    words.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_words_command_no_terminal() {
        let words = described(None, "faster\x1b]0;owned\x07");
        assert_eq!(words, "faster\u{fffd}]0;owned\u{fffd}");
    }
}
