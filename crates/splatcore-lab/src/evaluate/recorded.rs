//! Verdicts from a record: for tests of searches, without card and kernels.

use super::{Already, Broken, Evaluator, Outcome};
use crate::candidate::Candidate;
use crate::gates::{Gate, Ratio, Rejection, Verdict};
use crate::journal::Event;

/// What a record says of a candidate.
#[derive(Clone, Debug, PartialEq)]
pub enum Answered {
    /// Its time over the baseline's.
    Time(f64),
    /// The gate that stops it.
    Stopped(Gate),
}

/// Answers from a function.
pub struct Recorded<F> {
    answer: F,
    /// Half the width of every interval, relative.
    half_width: f64,
    device_seconds: f64,
}

impl<F: FnMut(&Candidate) -> Answered> Recorded<F> {
    /// Answers what `answer` says, with intervals of this relative half width.
    pub fn new(answer: F, half_width: f64) -> Self {
        Self {
            answer,
            half_width,
            device_seconds: 0.0,
        }
    }
}

impl<F: FnMut(&Candidate) -> Answered> Evaluator for Recorded<F> {
    fn describe(&self) -> String {
        "a record".into()
    }

    fn sandbox(&self) -> String {
        "nothing runs".into()
    }

    fn evaluate(
        &mut self,
        candidate: &Candidate,
        _already: Already,
        _known: &dyn Fn(&str) -> Option<Outcome>,
        _log: &mut dyn FnMut(Event),
    ) -> Result<Outcome, Broken> {
        self.device_seconds += 1.0;
        let verdict = match (self.answer)(candidate) {
            Answered::Time(ratio) => Verdict::from(Ratio {
                ratio,
                low: ratio * (1.0 - self.half_width),
                high: ratio * (1.0 + self.half_width),
            }),
            Answered::Stopped(gate) => Verdict::Rejected(Rejection::new(gate, "recorded")),
        };
        Ok(Outcome {
            verdict,
            not_run: vec![],
        })
    }

    fn take_device_seconds(&mut self) -> f64 {
        std::mem::take(&mut self.device_seconds)
    }
}
