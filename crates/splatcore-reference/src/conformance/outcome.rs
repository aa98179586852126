//! What a check says.

use splatcore_core::backend::BackendError;

/// What a check says: nothing, or what is wrong.
pub type Outcome = Result<(), String>;

/// `Ok` if the condition holds, else the message.
pub(super) fn ensure(condition: bool, message: impl FnOnce() -> String) -> Outcome {
    if condition { Ok(()) } else { Err(message()) }
}

/// A backend's error as a failed check.
pub(super) fn said(error: BackendError) -> String {
    format!("the backend said: {error}")
}

/// One message of all failures, or `Ok`.
pub(super) fn gather(outcomes: impl IntoIterator<Item = Outcome>) -> Outcome {
    let failures: Vec<String> = outcomes.into_iter().filter_map(Result::err).collect();
    ensure(failures.is_empty(), || failures.join("\n"))
}
