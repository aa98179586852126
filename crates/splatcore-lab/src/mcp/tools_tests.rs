use super::*;
use crate::campaign::tests::{Quiet, experiment, opened};
use crate::evaluate::{Answered, Recorded};
use crate::experiment::Folder;
use crate::summary::Summary;
use std::cell::Cell;

const EDIT: &str = "a.cu\n<<<<<<< SEARCH\nkeep\n=======\n";

/// Calls `propose` with these arguments beside `about` and `edits`, one call after another.
fn proposed(folder: &mut Folder, calls: &[Value]) -> Vec<Result<String, String>> {
    let baseline = Texts::from([("a.cu".into(), "keep\n".into())]);
    let mut evaluator = Recorded::new(|_: &Candidate| Answered::Time(0.9), 0.001);
    let left = Cell::new(u32::MAX);
    let mut watch = Quiet { left: &left };
    let mut session = Session::open(folder, opened(), baseline).unwrap();
    let first = session.state().history.proposed;
    let mut desk = Desk::new(&mut session, &mut evaluator, &mut watch, "profile".into());
    let answers = calls.iter().enumerate().map(|(at, more)| {
        let mut arguments = more.clone();
        arguments["about"] = "a number".into();
        let number = first + at as u64;
        if arguments.get("edits").is_none() {
            arguments["edits"] = format!("{EDIT}keep {number}\n>>>>>>> REPLACE\n").into();
        }
        desk.call("task", &Value::Null).unwrap().unwrap();
        desk.call("propose", &arguments).unwrap()
    });
    answers.collect()
}

#[test]
fn a_client_says_who_it_is_and_what_it_took() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(10)).unwrap();
    let said = json!({"model": "m", "version": "2026-11", "tokens_in": 70, "tokens_out": 30});
    let answers = proposed(&mut folder, &[said.clone(), said, json!({"model": "m"})]);
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    let summary = Summary::of(folder.journal.entries());
    let [told, estimated] = summary.models.as_slice() else {
        panic!("{:?}", summary.models);
    };
    assert_eq!(
        (told.role.as_str(), told.named().as_str()),
        ("coder", "m (2026-11)")
    );
    let counts = (
        told.answers,
        told.tokens_in,
        told.tokens_out,
        told.estimated,
    );
    assert_eq!(counts, (2, 140, 60, false));
    assert!(estimated.estimated && estimated.tokens_in > 100 && estimated.tokens_out > 20);
    let origins = summary
        .candidates
        .iter()
        .map(|row| row.origin.as_ref().unwrap());
    let origins: Vec<_> = origins
        .map(|o| (o.number, o.model.as_str(), o.guided))
        .collect();
    assert_eq!(
        origins,
        [0, 1, 2].map(|number| (number, "m", Guided::Agent))
    );
}

#[test]
fn a_client_may_say_nothing() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("e");
    let mut folder = Folder::create(&path, &experiment(10)).unwrap();
    proposed(&mut folder, &[json!({})])[0].as_ref().unwrap();
    drop(folder);
    // The next session's proposals are another answer, whatever they say.
    let mut folder = Folder::open(&path).unwrap();
    proposed(&mut folder, &[json!({})])[0].as_ref().unwrap();
    let summary = Summary::of(folder.journal.entries());
    assert_eq!(summary.models[0].answers, 2);
    assert_eq!(summary.models[0].model, None);
    assert_eq!(
        summary.candidates[1].origin.as_ref().unwrap().model,
        "agent"
    );
}

#[test]
fn what_cannot_be_read_is_said_and_nothing_is_judged() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(10)).unwrap();
    let calls = [
        json!({"tokens_in": -1}),
        json!({"tokens_out": "many"}),
        json!({"tokens_out": u64::MAX}),
        json!({"model": 3}),
        json!({"version": "a\u{1b}[31m"}),
        json!({"model": "m".repeat(201)}),
    ];
    for (call, answer) in calls.iter().zip(proposed(&mut folder, &calls)) {
        let key = call.as_object().unwrap().keys().next().unwrap();
        let said = answer.unwrap_err();
        assert!(said.starts_with(key.as_str()), "{call}: {said}");
    }
    let summary = Summary::of(folder.journal.entries());
    assert!(summary.candidates.is_empty() && summary.models.is_empty());
}

#[test]
fn edits_that_change_nothing_cost_nothing() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(10)).unwrap();
    let same = json!({"edits": format!("{EDIT}keep\n>>>>>>> REPLACE\n")});
    let said = proposed(&mut folder, &[same])[0].clone().unwrap_err();
    assert_eq!(said, "the edits change nothing");
    let summary = Summary::of(folder.journal.entries());
    assert_eq!((summary.models.len(), summary.repeated), (0, 0));
}
