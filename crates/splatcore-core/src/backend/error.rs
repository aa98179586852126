//! What can go wrong in a backend.

use crate::Choice;
use crate::image::PhotoError;

/// What can go wrong in a backend.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A buffer does not fit.
    #[error("{backend} ran out of memory: {buffer} needs {bytes} bytes{}", are_free(*free))]
    OutOfMemory {
        /// Name of the backend.
        backend: &'static str,
        /// What the buffer holds.
        buffer: String,
        /// Its size.
        bytes: u64,
        /// Bytes that were free, where that is known.
        free: Option<u64>,
        /// What its size depends on.
        depends_on: &'static [Choice],
    },
    /// A pipeline or option that this backend does not have.
    #[error("the {backend} backend has no {what}")]
    Unsupported {
        /// Name of the backend.
        backend: &'static str,
        /// What was asked for.
        what: String,
        /// Choices with others of which it could be had.
        depends_on: &'static [Choice],
    },
    /// More than can be counted or held, whatever the memory.
    #[error("{what}")]
    TooLarge {
        /// What is too large, and what is the most.
        what: String,
        /// What its size depends on.
        depends_on: &'static [Choice],
    },
    /// Inputs that contradict each other (an image of another size than its camera, for example).
    #[error("{0}")]
    Input(String),
    /// The pixels of a photo that are not held cannot be read, or are others than before.
    #[error(transparent)]
    Photo(#[from] PhotoError),
    /// The device failed.
    #[error("{backend}: {message}")]
    Device {
        /// Name of the backend.
        backend: &'static str,
        /// What it said.
        message: String,
    },
}

fn are_free(bytes: Option<u64>) -> String {
    bytes.map_or(String::new(), |bytes| format!(", {bytes} bytes are free"))
}
