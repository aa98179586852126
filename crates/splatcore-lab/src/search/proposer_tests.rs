use super::*;
use crate::gates::{Gate, Ratio, Rejection};

const TEXT: &str = "#define BATCH 64  // tune: 32 64 128 256\n\
    #define ROWS 4  // tune: 1 2 4 8; when ROWS * 32 <= BATCH * 2\n\
    float f(float x) {\n\
    \x20   return expf(x);\n\
    }\n";

fn history() -> History {
    History {
        baseline: Texts::from([
            ("a.cu".into(), TEXT.into()),
            ("b.cu".into(), "int i;\n".into()),
        ]),
        ..History::default()
    }
}

fn ratio(ratio: f64) -> Verdict {
    let (low, high) = (ratio * 0.99, ratio * 1.01);
    Verdict::Faster(Ratio { ratio, low, high })
}

/// Fast with large batches and `__expf`; eight rows are wrong.
fn judge(candidate: &Candidate) -> Verdict {
    let text = candidate.changed.get("a.cu").map_or(TEXT, String::as_str);
    if text.contains("ROWS 8") {
        return Verdict::Rejected(Rejection::new(Gate::Result, "too dark"));
    }
    let batch = ["BATCH 256", "BATCH 128", "BATCH 64"]
        .iter()
        .position(|b| text.contains(b));
    let fast = if text.contains("__expf") { 0.8 } else { 1.0 };
    ratio(fast * (1.0 + 0.1 * batch.unwrap_or(3) as f64))
}

fn search(seed: u64, name: &str) -> SearchProposer {
    SearchProposer::new(name.parse().unwrap(), seed)
}

fn go_on(history: &mut History, proposer: &mut dyn Proposer) -> Result<Candidate, ProposeError> {
    let candidate = proposer.propose(history)?;
    history.proposed += 1;
    let verdict = judge(&candidate);
    history.judged.push(Judged {
        candidate: candidate.clone(),
        verdict,
    });
    Ok(candidate)
}

#[test]
fn every_point_but_the_baseline_is_proposed_once() {
    for name in Strategy::all().map(|strategy| strategy.name()) {
        let mut history = history();
        let mut proposer = search(3, name);
        while go_on(&mut history, &mut proposer).is_ok() {}
        // 4 batches times 4 rows, less (32, 4), (32, 8) and (64, 8), times two kinds of expf.
        assert_eq!(history.judged.len(), 2 * 13 - 1, "{name}");
        let ids: BTreeSet<Id> = history.judged.iter().map(|j| j.candidate.id()).collect();
        assert_eq!(ids.len(), history.judged.len(), "{name}");
        assert!(!ids.contains(&Id::baseline()));
        assert_eq!(proposer.propose(&history), Err(ProposeError::Exhausted));
        for Judged { candidate, .. } in &history.judged {
            assert_eq!(candidate.changed.keys().collect::<Vec<_>>(), ["a.cu"]);
            let transformed = candidate.about.contains("expf -> __expf");
            assert_eq!(candidate.operator == Operator::Transform, transformed);
            assert_eq!(candidate.changed["a.cu"].contains("__expf"), transformed);
        }
    }
}

#[test]
fn a_killed_run_proposes_the_same() {
    for name in Strategy::all().map(|strategy| strategy.name()) {
        let (mut whole, mut proposer) = (history(), search(5, name));
        for _ in 0..15 {
            go_on(&mut whole, &mut proposer).unwrap();
        }
        for stop in [0, 4, 14] {
            let cut = History {
                judged: whole.judged[..stop].to_vec(),
                proposed: stop as u64,
                ..history()
            };
            let next = search(5, name).propose(&cut).unwrap();
            assert_eq!(next, whole.judged[stop].candidate, "{name}");
        }
    }
}

#[test]
fn candidates_of_others_are_learned_from_and_not_repeated() {
    let mut history = history();
    let person = |from: &str, to: &str, about: &str| Candidate {
        parents: Vec::new(),
        operator: Operator::Manual,
        origin: None,
        changed: Texts::from([("a.cu".into(), TEXT.replace(from, to))]),
        about: about.into(),
    };
    // In the space, though nothing in `about` says so; and outside it.
    let all = [
        person("BATCH 64", "BATCH 128", "larger batches"),
        person("expf(x)", "__expf(x)", "a faster exponential"),
        person("return", "if (x < 0.0f) x = 0.0f;\n    return", "clamp"),
    ];
    for candidate in all.clone() {
        let verdict = judge(&candidate);
        history.judged.push(Judged { candidate, verdict });
    }
    let mut proposer = search(1, "exhaustive");
    while go_on(&mut history, &mut proposer).is_ok() {}
    assert_eq!(history.judged.len(), 3 + 25 - 2);
    for candidate in &all {
        let same = history
            .judged
            .iter()
            .filter(|j| j.candidate.id() == candidate.id());
        assert_eq!(same.count(), 1, "{}", candidate.about);
    }
}

#[test]
fn a_candidate_may_declare_tunables_of_its_own() {
    let mut history = history();
    let text = "#define DEPTH 2  // tune: 1 2 3\n".to_owned() + TEXT;
    let candidate = Candidate {
        parents: Vec::new(),
        operator: Operator::Llm,
        origin: None,
        changed: Texts::from([("a.cu".into(), text)]),
        about: "prefetch".into(),
    };
    let id = candidate.id();
    let mut proposer = SearchProposer::around(
        Strategy::Exhaustive,
        1,
        Around::Candidate(id.short().to_owned()),
    );
    let missing = proposer.propose(&history);
    assert!(matches!(missing, Err(ProposeError::Stop(_))), "{missing:?}");
    history.judged.push(Judged {
        verdict: ratio(0.9),
        candidate,
    });
    let next = proposer.propose(&history).unwrap();
    assert_eq!(next.parents, [id]);
    assert!(next.about.contains("DEPTH 2 -> 1"), "{}", next.about);
    // Against the baseline, so the model's change is part of it.
    assert!(next.changed["a.cu"].contains("#define DEPTH 1"));
}

#[test]
fn what_cannot_be_searched_stops_the_run() {
    let mut broken = history();
    broken
        .baseline
        .insert("c.cu".into(), "#define A 3  // tune: 1 2\n".into());
    let error = search(0, "tpe").propose(&broken).unwrap_err();
    assert_eq!(
        error.to_string(),
        "c.cu:1: A: its value 3 is not listed: add 3"
    );
    let plain = History {
        baseline: Texts::from([("a.cu".into(), "int i;\n".into())]),
        ..History::default()
    };
    assert_eq!(
        search(0, "tpe").propose(&plain),
        Err(ProposeError::Exhausted)
    );
}

#[test]
fn crossover_unites_changes_that_do_not_overlap() {
    let mut history = history();
    let mut crossover = CrossoverProposer::new(1);
    assert_eq!(crossover.propose(&history), Err(ProposeError::Exhausted));
    let edits = [
        ("BATCH 64", "BATCH 256"),
        ("BATCH 64", "BATCH 128"),
        ("expf(x)", "__expf(x)"),
        ("ROWS 4", "ROWS 8"),
    ];
    for (from, to) in edits {
        let candidate = Candidate {
            parents: Vec::new(),
            operator: Operator::Llm,
            origin: None,
            changed: Texts::from([("a.cu".into(), TEXT.replace(from, to))]),
            about: to.into(),
        };
        let verdict = judge(&candidate);
        history.judged.push(Judged { candidate, verdict });
    }
    // Rejected parents and overlapping changes take no part: two pairs are left.
    let mut about = Vec::new();
    while let Ok(candidate) = go_on(&mut history, &mut crossover) {
        assert_eq!(candidate.operator, Operator::Crossover);
        assert_eq!(candidate.parents.len(), 2);
        about.push(candidate.about);
    }
    about.sort_unstable();
    assert_eq!(about, ["__expf(x); BATCH 128", "__expf(x); BATCH 256"]);
}
