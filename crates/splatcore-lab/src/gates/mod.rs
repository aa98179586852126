//! What a candidate must pass before it counts. The cheapest gates come first; the first one that
//! a candidate does not pass rejects it.

pub mod machine_code;
pub mod result;
pub mod sanitizer;
pub mod source;

use serde::{Deserialize, Serialize};
use std::fmt;

/// A gate. Candidates meet them in this order, but races are looked for last: checked emulation
/// takes longest, and a slower candidate needs none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gate {
    /// Only files of the task are changed, and something is changed.
    Files,
    /// No directive, attribute or literal that a kernel has no use for: includes, pragmas other
    /// than `unroll`, host code.
    Directives,
    /// No new inline assembly, no clocks, timers, traps.
    Assembly,
    /// No new condition on the compiler, the emulator or a build variant, no new state that
    /// outlives a launch.
    Conditions,
    /// Names and parameters of kernels, and structs that Rust shares, are as they were.
    Interface,
    /// It compiles, for the card at hand, within the limit of time.
    Compile,
    /// The machine code has the same kernels, no writable global memory, no spills beyond the
    /// baseline's, and registers and shared memory within the card's limits.
    MachineCode,
    /// Every write lies in a buffer that is alive, and results depend on nothing that memory held
    /// before: they are right where it held NaN (or [`Gate::Result`] fails), and where it held
    /// numbers.
    Memory,
    /// The emulator finds no race and no barrier that some threads miss.
    Races,
    /// Images and gradients are those of the reference, on random, degenerate and hostile scenes;
    /// at the timed size see [`Gate::AfterTiming`].
    Result,
    /// No worse than the baseline against the reference.
    Precision,
    /// Two runs give equal bits where the baseline does.
    Repeat,
    /// What must not change the image does not: Gaussians that cannot be seen, their order; and
    /// what must change it in proportion does: background, colours.
    Metamorphic,
    /// The device's and the parent's clocks agree.
    Clock,
    /// The worker that was timed renders a frame of each timed scene, at its size, as right as the
    /// baseline's.
    AfterTiming,
    /// Not faster than the image alone can be written to memory.
    Bound,
    /// It ends in time and within its memory.
    Deadline,
    /// A second model's counterexample.
    CrossCheck,
}

impl Gate {
    /// Whether it runs a candidate and looks at what it computes: one that it stops computes
    /// something else than the baseline.
    pub fn looks_at_results(self) -> bool {
        matches!(
            self,
            Self::Memory
                | Self::Races
                | Self::Result
                | Self::Precision
                | Self::Repeat
                | Self::Metamorphic
                | Self::AfterTiming
                | Self::Deadline
        )
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The name that serde writes is the one that people read.
        let name = serde_json::to_value(self).unwrap_or_default();
        f.write_str(name.as_str().unwrap_or_default())
    }
}

/// Why a candidate does not count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{gate}: {reason}")]
pub struct Rejection {
    /// The gate that it did not pass.
    pub gate: Gate,
    /// What is wrong and where, for people and models alike.
    pub reason: String,
}

impl Rejection {
    /// A rejection by `gate`.
    pub fn new(gate: Gate, reason: impl Into<String>) -> Self {
        Self {
            gate,
            reason: reason.into(),
        }
    }
}

/// The time of a candidate over that of the baseline, with its interval: below 1 is faster. How
/// sure an interval is, the experiment's [`crate::timing::Plan`] says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The middle.
    pub ratio: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

impl Ratio {
    /// As fast as the baseline, for sure.
    pub const EVEN: Self = Self {
        ratio: 1.0,
        low: 1.0,
        high: 1.0,
    };

    /// The same with both ends of the interval moved outwards by the logarithm of a ratio.
    #[must_use]
    pub fn widened(self, margin: f64) -> Self {
        Self {
            low: self.low * (-margin).exp(),
            high: self.high * margin.exp(),
            ..self
        }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ratio, low, high } = self;
        write!(
            f,
            "{ratio:.4} of the baseline's time ({low:.4} to {high:.4})"
        )
    }
}

/// What came of a candidate. In words: `faster, 0.9412 of the baseline's time (0.9387 to 0.9440)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// A gate stopped it.
    Rejected(Rejection),
    /// It passed what could be run, and the whole interval lies below 1.
    Faster(Ratio),
    /// The whole interval lies above 1.
    Slower(Ratio),
    /// The interval holds 1.
    Unclear(Ratio),
    /// It passed, and nothing was timed.
    Untimed,
}

impl Verdict {
    /// The time over the baseline's, if it was measured.
    pub fn ratio(&self) -> Option<Ratio> {
        match self {
            Self::Faster(ratio) | Self::Slower(ratio) | Self::Unclear(ratio) => Some(*ratio),
            Self::Rejected(_) | Self::Untimed => None,
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rejected(rejection) => write!(f, "rejected by {rejection}"),
            Self::Faster(ratio) => write!(f, "faster, {ratio}"),
            Self::Slower(ratio) => write!(f, "slower, {ratio}"),
            Self::Unclear(ratio) => write!(f, "unclear, {ratio}"),
            Self::Untimed => f.write_str(
                "passed, not timed: by these scenes and gates, not enough to accept without a card",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_read_as_they_are_written() {
        assert_eq!(Gate::MachineCode.to_string(), "machine-code");
        let rejection = Rejection::new(Gate::Result, "too dark");
        assert_eq!(rejection.to_string(), "result: too dark");
        let json = serde_json::to_string(&Verdict::Rejected(rejection)).unwrap();
        assert_eq!(
            json,
            r#"{"verdict":"rejected","gate":"result","reason":"too dark"}"#
        );
    }
}
