//! From a candidate to its verdict.

mod blame;
mod gradients;
mod local;
mod look;
mod recorded;
mod reference;
mod sanitize;
mod scene;
mod settings;
mod suite;
mod toolbox;
mod turns;
mod used;

pub use blame::blame;
pub use local::Local;
pub use look::{Look, Looked};
pub use recorded::{Answered, Recorded};
pub use sanitize::REPORT;
pub use scene::{Expected, Scene};
pub use settings::Settings;
pub use toolbox::{FrameKind, Role, Toolbox};
pub use turns::Turns;

use crate::candidate::Candidate;
use crate::gates::Verdict;
use crate::gates::result::Wanted;
use crate::journal::{Event, NotRun, Timed};

/// What came of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The verdict.
    pub verdict: Verdict,
    /// Gates that could not be run here.
    pub not_run: Vec<NotRun>,
}

/// Why a run cannot go on: one line with the remedy. A candidate's own faults are verdicts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub String);

/// What was found of a candidate before, so that it need not be looked for again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Already {
    /// The emulator found no race.
    pub no_races: bool,
    /// The time over the baseline's of the fastest candidate so far. A slower one cannot win:
    /// compute-sanitizer, which takes longest, does not look at it.
    pub fastest: Option<f64>,
}

/// Judges candidates.
pub trait Evaluator {
    /// What judges, in words: device, driver, compiler.
    fn describe(&self) -> String;
    /// What confines a candidate.
    fn sandbox(&self) -> String;
    /// Times the baseline against itself; `None` where nothing is timed.
    ///
    /// # Errors
    /// If the run cannot go on.
    fn noise(&mut self) -> Result<Option<Timed>, Broken> {
        Ok(None)
    }
    /// Takes what [`Evaluator::noise`] found in an earlier run; false if it is not what it would
    /// find now.
    fn knows_noise(&mut self, _: &Timed) -> bool {
        false
    }
    /// Looks at one more scene from now on.
    ///
    /// # Errors
    /// If the run cannot go on.
    fn add_test(&mut self, _: &Wanted) -> Result<(), Broken> {
        Ok(())
    }
    /// Judges a candidate. One that compiled to the same machine code as another
    /// gets the other's verdict, which `known` gives for the digest of the code.
    /// `already` says what may be left out.
    ///
    /// # Errors
    /// If the run cannot go on.
    fn evaluate(
        &mut self,
        candidate: &Candidate,
        already: Already,
        known: &dyn Fn(&str) -> Option<Outcome>,
        log: &mut dyn FnMut(Event),
    ) -> Result<Outcome, Broken>;
    /// Seconds of the device used since the last call.
    fn take_device_seconds(&mut self) -> f64;
}
