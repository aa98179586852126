//! Why a worker did not answer.

/// What a worker fails with. None of it ends a run: the next candidate has a worker of its own.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorkerError {
    /// The backend's words: a kernel that does not compile, a deadlock, a race.
    #[error("{0}")]
    Said(String),
    /// No answer in time; the worker was killed.
    #[error("no answer to '{ask}' within {seconds} s")]
    Deadline {
        /// What it was doing.
        ask: String,
        /// The limit.
        seconds: u64,
    },
    /// The process ended.
    #[error("the worker ended while it did '{ask}'{words}")]
    Ended {
        /// What it was doing.
        ask: String,
        /// Its last words, if any.
        words: String,
    },
    /// Nothing confines it, and it wants to be: not the candidate's fault.
    #[error(
        "changed kernels would run on this processor, and it cannot confine them ({0}); set \
         SPLATCORE_LAB_UNCONFINED=1 if you trust them"
    )]
    Unconfined(String),
    /// It could not be started, or its files not be used: not the candidate's fault.
    #[error("{0}")]
    System(String),
}
