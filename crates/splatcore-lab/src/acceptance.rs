//! Whether a candidate may become a commit.

use crate::gates::{Ratio, Verdict};
use crate::journal::NotRun;
use crate::summary::Row;
use serde::{Deserialize, Serialize};

/// The least gain: below, a change is not worth the reading.
const MIN_GAIN: f64 = 0.005;
/// What a scene may lose.
const WORST_SCENE: f64 = 1.01;

/// What a candidate is accepted on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The verdict on the search's scenes, timed anew with another seed.
    pub search: Ratio,
    /// The median ratio of each.
    pub scenes: Vec<(String, f64)>,
    /// The verdict on scenes that the search never saw.
    pub held_out: Option<Ratio>,
    /// The median ratio of each.
    pub held_out_scenes: Vec<(String, f64)>,
    /// The baseline against itself.
    pub noise: Ratio,
    /// Gates that could not be run anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_run: Vec<NotRun>,
}

/// Why a candidate is not accepted, or `Ok`.
///
/// # Errors
/// One line that says what is missing.
pub fn accept(row: &Row, evidence: &Evidence) -> Result<(), String> {
    if let Some(Verdict::Rejected(rejection)) = &row.verdict {
        return Err(format!("a gate stopped it, {rejection}"));
    }
    if let Some(gate) = evidence.not_run.first() {
        return Err(format!("{} was not run: {}", gate.gate, gate.why));
    }
    let noise = (evidence.noise.high - evidence.noise.low) / 2.0;
    let least = MIN_GAIN.max(3.0 * noise);
    let gain = 1.0 - evidence.search.high;
    if gain < least {
        return Err(format!(
            "its gain is {:.2} % or more, and {:.2} % is the least that counts (half a per cent, \
             or three times the noise)",
            100.0 * gain,
            100.0 * least
        ));
    }
    let Some(held_out) = evidence.held_out else {
        return Err("no held-out scene was timed; begin the experiment with --held-out".into());
    };
    let (found, wanted) = (1.0 - held_out.ratio, (1.0 - evidence.search.ratio) / 2.0);
    if found < wanted {
        return Err(format!(
            "on held-out scenes it gains {:.2} %, less than half of the {:.2} % on the search's",
            100.0 * found,
            200.0 * wanted
        ));
    }
    let all = evidence.scenes.iter().chain(&evidence.held_out_scenes);
    match all.into_iter().find(|(_, ratio)| *ratio > WORST_SCENE) {
        Some((scene, ratio)) => Err(format!("on {scene} it takes {ratio:.4} of the time")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::candidate::{Id, Operator};
    use crate::gates::{Gate, Rejection};

    fn ratio(ratio: f64, half: f64) -> Ratio {
        Ratio {
            ratio,
            low: ratio - half,
            high: ratio + half,
        }
    }

    fn good() -> (Row, Evidence) {
        let row = Row {
            id: Id::baseline(),
            parents: vec![],
            operator: Operator::Tunable,
            origin: None,
            checked: None,
            about: String::new(),
            device_seconds: 1.0,
            verdict: Some(Verdict::Faster(ratio(0.9, 0.01))),
            not_run: vec![],
            scenes: vec![],
            looked: None,
        };
        let evidence = Evidence {
            search: ratio(0.95, 0.002),
            scenes: vec![("a".into(), 0.95)],
            held_out: Some(ratio(0.96, 0.002)),
            held_out_scenes: vec![("b".into(), 0.96)],
            noise: ratio(1.0, 0.001),
            not_run: vec![],
        };
        (row, evidence)
    }

    #[test]
    fn each_condition_counts() {
        let refused = |change: &dyn Fn(&mut Row, &mut Evidence)| {
            let (mut row, mut evidence) = good();
            change(&mut row, &mut evidence);
            accept(&row, &evidence).err().unwrap_or_default()
        };
        assert_eq!(refused(&|_, _| {}), "");
        let wrong = Verdict::Rejected(Rejection::new(Gate::Races, "x"));
        assert!(refused(&|r, _| r.verdict = Some(wrong.clone())).contains("races: x"));
        let not_run = NotRun {
            gate: Gate::Races,
            why: "no compiler".into(),
        };
        assert!(refused(&|_, e| e.not_run = vec![not_run.clone()]).contains("no compiler"));
        assert!(refused(&|_, e| e.search = ratio(0.998, 0.001)).contains("0.10 %"));
        assert!(refused(&|_, e| e.noise = ratio(1.0, 0.02)).contains("6.00 %"));
        assert!(refused(&|_, e| e.held_out = None).contains("--held-out"));
        assert!(refused(&|_, e| e.held_out = Some(ratio(0.99, 0.001))).contains("less than half"));
        let slow = vec![("b".to_owned(), 1.02)];
        assert!(refused(&|_, e| e.held_out_scenes = slow.clone()).contains("on b"));
    }
}
