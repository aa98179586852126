//! [`Dataset`]: posed photos.

use super::format::Format;
use super::found::{Entry, Points};
use super::split::Split;
use std::path::PathBuf;

/// Posed photos.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Folder that holds the model and the photos.
    pub root: PathBuf,
    /// Kind of files.
    pub format: Format,
    /// The photos that exist, sorted by name (bytewise).
    pub entries: Vec<Entry>,
    /// Names of listed photos whose file does not exist.
    pub missing: Vec<String>,
    /// Points to start from.
    pub points: Points,
    /// Other datasets in the same folder, which were not read, a line each.
    pub others: Vec<String>,
    /// What was left out or repaired, one line each.
    pub warnings: Vec<String>,
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
