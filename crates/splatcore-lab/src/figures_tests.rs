use super::*;
use crate::candidate::{Followed, Operator, Origin};
use crate::gates::{Gate, Ratio, Rejection};
use crate::journal::Opened;

fn ratio(ratio: f64) -> Ratio {
    Ratio {
        ratio,
        low: ratio - 0.01,
        high: ratio + 0.01,
    }
}

fn row(name: &str, guided: Option<(Guided, usize)>, verdict: Verdict) -> Row {
    Row {
        id: Id::of(&[("a".to_owned(), name.to_owned())].into()),
        parents: vec![],
        operator: Operator::Llm,
        origin: guided.map(|(guided, advice)| Origin {
            number: 0,
            model: "coder".into(),
            guided,
            advice: Some(Followed {
                number: advice,
                what: format!("advice {advice}"),
                predicted_percent: 10.0,
            }),
        }),
        checked: None,
        about: name.into(),
        device_seconds: 0.0,
        verdict: Some(verdict),
        not_run: vec![],
        scenes: vec![("room".into(), 0.5), ("garden".into(), 0.8)],
        looked: None,
    }
}

fn wrong(gate: Gate) -> Verdict {
    Verdict::Rejected(Rejection::new(gate, ""))
}

fn source(name: &str, device: &str, candidates: Vec<Row>) -> Source {
    Source {
        name: name.into(),
        pipeline: "aabb+literal".into(),
        summary: Summary {
            opened: Some(Opened {
                version: String::new(),
                kernels: String::new(),
                device: device.into(),
                sandbox: String::new(),
                settings: None,
            }),
            candidates,
            ..Summary::default()
        },
        accepted: vec![],
    }
}

const PROFILE: Option<(Guided, usize)> = Some((Guided::PlannerAndProfile, 1));

#[test]
fn curves_are_means_over_the_runs_of_a_mode() {
    let faster = |time| Verdict::Faster(ratio(time));
    let first = vec![
        row("a", PROFILE, faster(0.5)),
        row("b", PROFILE, wrong(Gate::Result)),
    ];
    let second = vec![row("a", PROFILE, faster(0.8))];
    let plain = vec![row("c", Some((Guided::Nothing, 1)), wrong(Gate::Compile))];
    let searched = vec![row("d", None, faster(0.9))];
    let sources = [
        source("1", "card", first),
        source("2", "card", second),
        source("3", "card", plain),
        source("4", "card", searched),
    ];
    let best = best_so_far(&sources);
    // Without a time there is no curve of the run without a planner.
    let modes: Vec<_> = best.iter().map(|curve| (curve.mode, curve.runs)).collect();
    assert_eq!(modes, [(None, 1), (Some(Guided::PlannerAndProfile), 2)]);
    // The geometric mean of 2 and 1.25; the second run stays where it was.
    let wanted = (2.0f64 * 1.25).sqrt();
    assert!(best[1].mean.iter().all(|v| (v - wanted).abs() < 1e-12));
    assert_eq!(best[1].mean.len(), 2);
    let errors = error_rate(&sources);
    assert_eq!(errors.len(), 3);
    assert_eq!(errors[1].mean, [0.0, 0.25]);
    assert_eq!(errors[2].mean, [1.0]);
}

#[test]
fn scenes_are_those_of_the_evidence_where_there_is_any() {
    let mut one = source(
        "one",
        "card",
        vec![row("a", PROFILE, Verdict::Faster(ratio(0.6)))],
    );
    let bars = scenes(std::slice::from_ref(&one));
    assert_eq!(bars[0].scenes[0], ("room".into(), true, 2.0));
    assert!((bars[0].mean().unwrap() - 2.5f64.sqrt()).abs() < 1e-12);
    let evidence = Evidence {
        not_run: vec![],
        search: ratio(0.6),
        scenes: vec![("room".into(), 0.6)],
        held_out: Some(ratio(0.75)),
        held_out_scenes: vec![("attic".into(), 0.75)],
        noise: ratio(1.0),
    };
    one.accepted = vec![(one.summary.candidates[0].id.clone(), evidence)];
    let bars = scenes(std::slice::from_ref(&one));
    assert_eq!(bars[0].scenes.len(), 2);
    // The mean is that of what the search never saw.
    assert!((bars[0].mean().unwrap() - 1.0 / 0.75).abs() < 1e-12);
    assert_eq!(seele(std::slice::from_ref(&one)), []);
    one.pipeline = "aabb+seele".into();
    assert_eq!(seele(&[one]), bars);
    let untimed = source("two", "emulator", vec![row("a", PROFILE, Verdict::Untimed)]);
    assert_eq!(scenes(&[untimed]), []);
}

#[test]
fn cards_are_compared_by_one_candidate() {
    let timed = || row("a", PROFILE, Verdict::Faster(ratio(0.6)));
    let one = source("one", "card one", vec![timed()]);
    assert_eq!(cards(std::slice::from_ref(&one)), []);
    let other = row("b", PROFILE, Verdict::Faster(ratio(0.7)));
    let two = source("two", "card two", vec![other, timed()]);
    let bars = cards(&[one.clone(), one, two]);
    let names: Vec<&str> = bars.iter().map(|bars| bars.name.as_str()).collect();
    assert_eq!(names, ["card one", "card two"]);
}

#[test]
fn a_checker_misses_what_a_gate_on_results_stops() {
    let said = |objected: bool, verdict: Verdict| Row {
        checked: Some(("checker".into(), objected)),
        ..row("a", PROFILE, verdict)
    };
    let rows = vec![
        said(true, wrong(Gate::CrossCheck)),
        said(false, wrong(Gate::Races)),
        said(false, wrong(Gate::Compile)),
        said(false, Verdict::Untimed),
        row("b", PROFILE, wrong(Gate::Result)),
    ];
    let table = checkers(&[source("one", "card", rows)]);
    let key = ("checker".to_owned(), "coder".to_owned());
    let wanted = Opinions {
        objected: 1,
        missed: 1,
        passed: 1,
    };
    assert_eq!(table, BTreeMap::from([(key, wanted)]));
}

#[test]
fn advice_is_set_against_its_outcome() {
    let second = Some((Guided::Planner, 2));
    let rows = vec![
        row("a", second, Verdict::Faster(ratio(0.9))),
        row("b", second, Verdict::Slower(ratio(1.2))),
        row("c", PROFILE, wrong(Gate::Result)),
        row("d", None, Verdict::Faster(ratio(0.5))),
    ];
    let table = advice(&source("one", "card", rows).summary);
    let counts: Vec<_> = table.iter().map(|a| (a.number, a.counts, a.best)).collect();
    assert_eq!(counts, [(1, [1, 0, 1], None), (2, [2, 1, 0], Some(0.9))]);
}
