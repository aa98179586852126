//! Ends of judging before a verdict.

use crate::evaluate::Broken;
use crate::gates::Rejection;

/// Why judging ended early.
pub(super) enum Stop {
    Rejected(Rejection),
    NotRun(String),
    Broken(Broken),
}

impl From<Rejection> for Stop {
    fn from(rejection: Rejection) -> Self {
        Stop::Rejected(rejection)
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Rejected(rejection) => rejection.fmt(f),
            Stop::NotRun(why) => f.write_str(why),
            Stop::Broken(broken) => broken.fmt(f),
        }
    }
}

/// That the baseline itself is stopped.
pub(super) fn own_gates(error: &dyn std::fmt::Display) -> Broken {
    Broken(format!("the baseline does not pass its own gates: {error}"))
}
