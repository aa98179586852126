//! Which photos are trained on and which are held out.

use super::Dataset;
use std::fmt;
use std::str::FromStr;

/// A choice of a dataset's photos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Those to learn from.
    Train,
    /// Those held out.
    Test,
    /// All of them.
    All,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Split::Train => "train",
            Split::Test => "test",
            Split::All => "all",
        })
    }
}

impl FromStr for Split {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "train" => Ok(Split::Train),
            "test" => Ok(Split::Test),
            "all" => Ok(Split::All),
            _ => Err(format!("unknown split '{s}'; known: train, test, all")),
        }
    }
}

impl Dataset {
    /// Indices of the entries of a split, ascending. If the files declare splits, those are used;
    /// else every `test_every`-th entry by name, starting with the first, is held out (0: none is).
    pub fn select(&self, split: Split, test_every: usize) -> Vec<usize> {
        let declared = self.entries.iter().any(|e| e.declared_split.is_some());
        let belongs = |i: usize| {
            let own = if declared {
                self.entries[i].declared_split
            } else if test_every > 0 && i.is_multiple_of(test_every) {
                Some(Split::Test)
            } else {
                Some(Split::Train)
            };
            split == Split::All || own == Some(split)
        };
        (0..self.entries.len()).filter(|&i| belongs(i)).collect()
    }
}
