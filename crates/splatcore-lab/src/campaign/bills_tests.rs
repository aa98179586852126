//! What answers of models cost is in the journal, each once.

use super::tests::{Quiet, beginning, experiment};
use super::*;
use crate::candidate::Bill;
use crate::evaluate::{Answered, Recorded};
use crate::llm::budget::{Budget, Limits};
use crate::llm::endpoint::Price;
use crate::llm::planner::Guidance;
use crate::llm::proposer::LlmProposer;
use crate::llm::question::Setting;
use crate::llm::record::Record;
use crate::llm::recorder::Recorder;
use crate::llm::testing::{Answering, reply};
use crate::llm::{By, Model, ModelError, Reply, Request, Role};
use crate::summary::Summary;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

/// Adds a number; its first answer is no edit.
fn coder(request: &Request) -> Result<Reply, ModelError> {
    let number = request.number + 1;
    let text = match request.messages.len() {
        2 => "no idea".to_owned(),
        _ => format!("a.cu\n<<<<<<< SEARCH\nkeep\n=======\nkeep\n{number}\n>>>>>>> REPLACE\n"),
    };
    let by = By {
        model: Some("coder-2026-11-30".into()),
        version: Some("fp_7".into()),
    };
    Ok(Reply { by, ..reply(&text) })
}

fn proposer(
    root: &Path,
    named: Option<&str>,
    model: impl Model + 'static,
) -> LlmProposer<impl Model> {
    let record = Record::open(root.join("models.jsonl")).unwrap();
    let budget = Budget::new(Limits::default(), record.exchanges());
    let price = Price {
        input: 1.0,
        output: 2.0,
    };
    let prices = BTreeMap::from([(Role::Coder, price)]);
    let model = Recorder::new(record, budget, prices, model).named(named.map(str::to_owned));
    LlmProposer::new(model, Setting::new("count"), Guidance::None, 1)
}

fn go(folder: &mut Folder, proposer: &mut dyn Proposer) {
    let mut evaluator = Recorded::new(|_: &Candidate| Answered::Time(0.9), 0.001);
    let left = Cell::new(u32::MAX);
    let baseline = Texts::from([("a.cu".into(), "keep\n".into())]);
    let mut watch = Quiet { left: &left };
    run(
        folder,
        beginning(baseline),
        proposer,
        &mut evaluator,
        None,
        &mut watch,
    )
    .unwrap();
}

fn bills(folder: &Folder) -> Vec<Bill> {
    let events = folder.journal.entries().iter();
    let bills = events.filter_map(|entry| match &entry.event {
        Event::Answered(bill) => Some(bill.clone()),
        _ => None,
    });
    bills.collect()
}

#[test]
fn every_answer_is_in_the_journal_once() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("e");
    let mut folder = Folder::create(&path, &experiment(2)).unwrap();
    go(
        &mut folder,
        &mut proposer(root.path(), None, Answering(coder)),
    );
    let found = bills(&folder);
    // Two tries, each with a repair.
    assert_eq!(found.len(), 4);
    let numbers: Vec<u64> = found.iter().map(|bill| bill.number).collect();
    assert_eq!(numbers, [0, 0, 1, 1]);
    for bill in &found {
        assert_eq!(bill.model.as_deref(), Some("coder-2026-11-30"));
        assert_eq!(bill.version.as_deref(), Some("fp_7"));
        assert_eq!(
            (bill.tokens_in, bill.tokens_out, bill.cost),
            (10, 5, Some(2e-5))
        );
        assert_eq!((bill.role.as_str(), bill.estimated), ("coder", false));
    }
    // The device seconds of a try are those of its candidate.
    let summary = Summary::of(folder.journal.entries());
    for (try_number, row) in (0..).zip(&summary.candidates) {
        let origin = row.origin.as_ref().unwrap();
        assert_eq!(
            (origin.number, origin.model.as_str()),
            (try_number, "coder-2026-11-30")
        );
        assert_eq!(row.device_seconds, 1.0);
    }
    let [asked] = summary.models.as_slice() else {
        panic!("{:?}", summary.models);
    };
    assert_eq!(asked.named(), "coder-2026-11-30 (fp_7)");
    assert!(
        asked
            .described()
            .starts_with("4 answers, 40 tokens in, 20 out, 0.0001 paid"),
        "{}",
        asked.described()
    );
    // A kill between record and journal: the answers come from the record, and are written then.
    let file = path.join("journal.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    let kept: Vec<&str> = text.lines().take(1).collect();
    std::fs::write(&file, format!("{}\n", kept[0])).unwrap();
    drop(folder);
    let silent = |_: &Request| panic!("asked again");
    for _ in 0..2 {
        let mut folder = Folder::open(&path).unwrap();
        go(
            &mut folder,
            &mut proposer(root.path(), None, Answering(silent)),
        );
        assert_eq!(bills(&folder), found);
    }
}

#[test]
fn who_does_not_say_is_named() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(1)).unwrap();
    let quiet = |request: &Request| {
        let by = By::default();
        coder(request).map(|reply| Reply { by, ..reply })
    };
    let mut proposer = proposer(root.path(), Some("a person"), Answering(quiet));
    go(&mut folder, &mut proposer);
    assert_eq!(bills(&folder)[0].model.as_deref(), Some("a person"));
    assert_eq!(bills(&folder)[0].version, None);
}

/// Journals and records of runs before answers were in journals.
#[test]
fn kept_runs_load() {
    let raw = Path::new("../../docs/results/raw/lab");
    for name in [
        "literal-model.jsonl",
        "live-literal-1.jsonl",
        "guidance-none-1.jsonl",
    ] {
        let entries = crate::journal::entries(&raw.join(name)).unwrap();
        let summary = Summary::of(&entries);
        assert!(
            summary.models.is_empty() && !summary.candidates.is_empty(),
            "{name}"
        );
    }
    let exchanges = crate::llm::record::read(&raw.join("literal-model-transcript.jsonl")).unwrap();
    assert!(
        exchanges
            .iter()
            .all(|exchange| exchange.bill().model.is_none())
    );
}

/// A journal that was written before answers were in it.
#[test]
fn old_journals_load() {
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let origin = r#"{"number": 3, "model": "coder", "guided": "planner"}"#;
    let event = format!(
        r#"{{"what": "proposed", "id": "00", "parents": [], "operator": "llm",
        "origin": {origin}, "about": "x", "changed": {{}}}}"#
    );
    let line = format!(r#"{{"n": 0, "at": 0, "previous": "{nothing}", "event": {event}}}"#);
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("e");
    drop(Folder::create(&path, &experiment(1)).unwrap());
    std::fs::write(path.join("journal.jsonl"), line.replace('\n', " ") + "\n").unwrap();
    let folder = Folder::open(&path).unwrap();
    let summary = Summary::of(folder.journal.entries());
    let origin = summary.candidates[0].origin.as_ref().unwrap();
    assert_eq!((origin.number, origin.model.as_str()), (3, "coder"));
    assert!(summary.models.is_empty());
}
