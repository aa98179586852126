//! The one error of this crate.

use crate::words::visible;
use splatcore_core::Choice;
use std::fmt;
use std::io::ErrorKind::{QuotaExceeded, StorageFull};
use std::path::{Path, PathBuf};

/// Where in a file something is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// The file as a whole.
    #[default]
    File,
    /// A line of a text file, from 1.
    Line(usize),
    /// A byte offset of a binary file.
    Byte(u64),
    /// A named part: a JSON path, an element, an image.
    Part(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Line(line) => write!(f, ", line {line}"),
            Place::Byte(byte) => write!(f, ", byte {byte}"),
            Place::Part(part) => write!(f, ", {part}"),
        }
    }
}

/// What is wrong with a file, and what to do: prints as one line.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{}", visible(format!("{}{place}: {problem}; {remedy}", path.display())))]
pub struct DataError {
    /// The file or folder.
    pub path: PathBuf,
    /// Where in it.
    pub place: Place,
    /// What was expected and what was found.
    pub problem: String,
    /// What can be done about it.
    pub remedy: String,
    /// The choice that the remedy speaks of, if there is one.
    pub depends_on: Option<Choice>,
    /// Whether it could not be written because the disk, or a quota of it, is full.
    pub no_space: bool,
}

impl DataError {
    /// An error about a whole file.
    pub fn new(path: &Path, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            place: Place::File,
            problem: problem.into(),
            remedy: remedy.into(),
            depends_on: None,
            no_space: false,
        }
    }

    /// The same error, whose remedy speaks of a choice.
    pub fn depending_on(self, choice: Choice) -> Self {
        Self {
            depends_on: Some(choice),
            ..self
        }
    }

    /// The same error at a place in the file.
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    /// A failed read: says what the system said.
    pub fn read(path: &Path, error: &std::io::Error) -> Self {
        Self::new(
            path,
            format!("cannot be read ({error})"),
            "check that it exists and that you may read it",
        )
    }

    /// A failed write.
    pub fn write(path: &Path, error: &std::io::Error) -> Self {
        let no_space = matches!(error.kind(), StorageFull | QuotaExceeded);
        let remedy = match no_space {
            true => "free some space on this disk, or write to another one",
            false => {
                "check that the folder exists, that you may write there and that the disk has \
                      space"
            }
        };
        let written = format!("cannot be written ({error})");
        Self {
            no_space,
            ..Self::new(path, written, remedy)
        }
    }
}

impl From<DataError> for std::io::Error {
    /// For what is read while something is written: `file::write_atomically` gives it back.
    fn from(error: DataError) -> Self {
        Self::other(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_control_characters_are_printed_on_one_line() {
        let error = DataError::new(Path::new("a\nb"), "wrong", "repair it");
        let error = error.at(Place::Part("image '\x1b[2J'".into()));
        let line = error.to_string();
        assert_eq!(line, "a\u{fffd}b, image '\u{fffd}[2J': wrong; repair it");
    }
}
