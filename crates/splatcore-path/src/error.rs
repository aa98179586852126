//! The one error of this crate.

use std::path::{Path, PathBuf};

/// What is wrong with a path, and what to do: prints as one line.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    /// A file holds no path that can be used.
    #[error("{}{}: {problem}; {remedy}", path.display(), place(field))]
    File {
        /// The file.
        path: PathBuf,
        /// The field in it, as `keyframes[3].fov`; empty for the file as a whole.
        field: String,
        /// What was expected and what was found.
        problem: String,
        /// What can be done about it.
        remedy: String,
    },
    /// A path cannot be made from what was given.
    #[error("{problem}; {remedy}")]
    Made {
        /// What is wrong.
        problem: String,
        /// What can be done about it.
        remedy: String,
    },
}

/// How a field follows the name of its file.
fn place(field: &str) -> String {
    match field.is_empty() {
        true => String::new(),
        false => format!(", {field}"),
    }
}

impl PathError {
    /// An error about a field of a file.
    pub(crate) fn file(
        path: &Path,
        field: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::File {
            path: path.into(),
            field: field.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// An error about what a path is made from.
    pub(crate) fn made(problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Made {
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}
