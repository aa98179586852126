//! How far the work is.

/// How far the work is.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// Number of the phase, from 1.
    pub phase: usize,
    /// How many phases there are.
    pub phases: usize,
    /// What the phase does, for example `matching`.
    pub name: &'static str,
    /// Units of the phase that are done.
    pub done: u64,
    /// Units of the phase; 0 if they cannot be counted.
    pub total: u64,
    /// What happens now; may be empty.
    pub detail: String,
    /// Estimated seconds until the phase ends, if anything is known of it.
    pub seconds_left: Option<f64>,
    /// Estimated seconds until all phases end.
    pub seconds_left_in_all: Option<f64>,
}
