//! The last gates, which take longest, and what is left out of them.

use super::Local;
use super::stop::Stop;
use crate::candidate::Texts;
use crate::evaluate::Already;
use crate::gates::sanitizer::Tool;
use crate::gates::{Gate, Verdict};
use crate::journal::NotRun;

impl Local<'_> {
    /// Races, and the tools of compute-sanitizer.
    pub(super) fn last_gates(
        &mut self,
        changed: &Texts,
        verdict: &Verdict,
        passed: &mut Vec<String>,
        not_run: &mut Vec<NotRun>,
    ) -> Result<(), Stop> {
        if self.already.no_races {
            passed.push(format!("{}: on the emulator, before", Gate::Races));
        } else {
            match self.races(changed, passed) {
                Err(Stop::NotRun(why)) => not_run.push(NotRun {
                    gate: Gate::Races,
                    why,
                }),
                other => other?,
            }
        }
        if !is_outdone(self.already, verdict) {
            return self.sanitize(changed, passed, not_run);
        }
        not_run.extend(Tool::ALL.map(|tool| NotRun {
            gate: tool.gate(),
            why: format!("{}: a faster candidate was found before", tool.name()),
        }));
        Ok(())
    }
}

/// Whether a candidate is slower than the fastest one before it.
fn is_outdone(already: Already, verdict: &Verdict) -> bool {
    let Some((fastest, ratio)) = already.fastest.zip(verdict.ratio()) else {
        return false;
    };
    ratio.ratio > fastest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gates::Ratio;

    #[test]
    fn only_what_is_slower_than_the_fastest_is_outdone() {
        let takes = |ratio: f64| {
            let (low, high) = (ratio - 0.01, ratio + 0.01);
            Verdict::Faster(Ratio { ratio, low, high })
        };
        let fastest = |fastest| Already {
            fastest,
            ..Already::default()
        };
        assert!(is_outdone(fastest(Some(0.5)), &takes(0.6)));
        assert!(!is_outdone(fastest(Some(0.5)), &takes(0.4)));
        assert!(!is_outdone(fastest(None), &takes(0.6)));
        assert!(!is_outdone(fastest(Some(0.5)), &Verdict::Untimed));
    }
}
