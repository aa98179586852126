//! The one error of this crate.

use std::path::{Path, PathBuf};

/// What is wrong with a video, and what to do: prints as one line.
#[derive(Debug, thiserror::Error)]
pub enum VideoError {
    /// A file or folder cannot be written.
    #[error("{}: {problem}; {remedy}", path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong.
        problem: String,
        /// What can be done about it.
        remedy: String,
    },
    /// A codec does not go into a container.
    #[error("{what} is not written; choose another codec, or .mp4 or .mkv")]
    Unfit {
        /// What was asked for.
        what: String,
    },
    /// AV1 without ffmpeg, which this build leaves out.
    #[error("this build has no encoder of its own")]
    NoAv1,
    /// There is no ffmpeg, and what was asked for needs it.
    #[error("{what} needs ffmpeg, which is not on the PATH; install it")]
    NoFfmpeg {
        /// What was asked for.
        what: String,
    },
}

impl VideoError {
    pub(crate) fn new(path: &Path, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::File {
            path: path.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub(crate) fn write(path: &Path, error: &dyn std::fmt::Display) -> Self {
        Self::new(
            path,
            format!("cannot be written ({error})"),
            "check that the folder exists, that you may write there and that the disk has space",
        )
    }
}
