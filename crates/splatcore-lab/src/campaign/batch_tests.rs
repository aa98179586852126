//! Candidates that were prepared without a card, and timed later.

use super::batch::waiting;
use super::tests::{Numbers, Quiet, beginning, experiment, opened};
use super::*;
use crate::journal::NotRun;
use std::cell::Cell;
use std::sync::mpsc;

/// Passes every second candidate without a time, as an emulator does; with a card times it.
struct Judge {
    card: bool,
    seen: Vec<Already>,
}

fn number(candidate: &Candidate) -> u64 {
    candidate.changed["a.cu"].trim().parse().unwrap()
}

impl Evaluator for Judge {
    fn describe(&self) -> String {
        "a judge".into()
    }
    fn sandbox(&self) -> String {
        "none".into()
    }
    fn evaluate(
        &mut self,
        candidate: &Candidate,
        already: Already,
        _: &dyn Fn(&str) -> Option<Outcome>,
        _: &mut dyn FnMut(Event),
    ) -> Result<Outcome, Broken> {
        if self.card {
            assert_ne!(already.no_races, number(candidate).is_multiple_of(4));
            self.seen.push(already);
        }
        let number = number(candidate);
        let ratio = 0.5 + number as f64 / 512.0;
        let verdict = match (number % 2, self.card) {
            (1, _) => Verdict::Rejected(Rejection::new(Gate::Result, "odd")),
            (_, false) => Verdict::Untimed,
            (_, true) => Verdict::from(crate::gates::Ratio {
                ratio,
                low: ratio - 0.001,
                high: ratio + 0.001,
            }),
        };
        let races = NotRun {
            gate: Gate::Races,
            why: "no compiler".into(),
        };
        let not_run = match number.is_multiple_of(4) {
            true => vec![races],
            false => vec![],
        };
        Ok(Outcome { verdict, not_run })
    }
    fn take_device_seconds(&mut self) -> f64 {
        if self.card { 1.0 } else { 0.0 }
    }
}

fn judge(card: bool) -> Judge {
    Judge { card, seen: vec![] }
}

fn prepared(folder: &mut Folder) {
    let left = Cell::new(u32::MAX);
    let mut watch = Quiet { left: &left };
    let limits = Budget {
        candidates: 40,
        ..Budget::UNLIMITED
    };
    let beginning = Beginning {
        limits,
        ..beginning(Texts::new())
    };
    let mut evaluator = judge(false);
    run(
        folder,
        beginning,
        &mut Numbers,
        &mut evaluator,
        None,
        &mut watch,
    )
    .unwrap();
}

/// Times what waits with some evaluators, at most so many device seconds.
fn timed(folder: &mut Folder, threads: usize, device_seconds: f64) -> (String, Vec<Judge>) {
    let left = Cell::new(u32::MAX);
    let mut watch = Quiet { left: &left };
    let mut session = Session::open(folder, opened(), Texts::new()).unwrap();
    session.limits.device_seconds = device_seconds;
    let batch = Batch::default();
    let (sender, found) = mpsc::channel();
    let (ended, judges) = std::thread::scope(|scope| {
        let work = || {
            let sender = sender.clone();
            let batch = &batch;
            scope.spawn(move || {
                let mut judge = judge(true);
                batch.work(&mut judge, &sender);
                judge
            })
        };
        let threads: Vec<_> = (0..threads).map(|_| work()).collect();
        drop(sender);
        let ended = session
            .time(usize::MAX, &batch, &found, &mut watch)
            .unwrap();
        let judges = threads.into_iter().map(|thread| thread.join().unwrap());
        (ended, judges.collect())
    });
    session.close(ended.clone()).unwrap();
    (ended, judges)
}

fn state(folder: &Folder) -> State {
    State::replay(Texts::new(), folder.journal.entries(), &folder.blobs).unwrap()
}

#[test]
fn what_waits_is_timed_once_by_all_evaluators() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(1000)).unwrap();
    prepared(&mut folder);
    let before = state(&folder);
    let waits = waiting(&before);
    assert!(waits.len() > 5 && before.history.best().is_none());
    let (ended, judges) = timed(&mut folder, 3, f64::INFINITY);
    assert_eq!(
        ended,
        format!("{} candidates were judged with times; 0 wait", waits.len())
    );
    let after = state(&folder);
    assert_eq!(waiting(&after).len(), 0);
    assert_eq!(after.history.proposed, before.history.proposed);
    assert_eq!(after.history.judged.len(), before.history.judged.len());
    let fastest = waits.iter().map(number).min().unwrap();
    assert_eq!(number(&after.history.best().unwrap().candidate), fastest);
    let seen = judges.iter().map(|judge| judge.seen.len()).sum::<usize>();
    assert_eq!(seen, waits.len());
    // Nothing is left.
    let (ended, _) = timed(&mut folder, 2, f64::INFINITY);
    assert_eq!(ended, "0 candidates were judged with times; 0 wait");
}

#[test]
fn a_batch_ends_with_its_budget_and_goes_on() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(1000)).unwrap();
    prepared(&mut folder);
    let waits = waiting(&state(&folder)).len();
    let (ended, judges) = timed(&mut folder, 1, 3.0);
    assert_eq!(
        ended,
        "3 device seconds of this run are spent; `lab resume` goes on"
    );
    assert_eq!(waiting(&state(&folder)).len(), waits - 3);
    assert_eq!(judges[0].seen[0].fastest, None);
    // What was timed before is known to the next batch.
    let (_, judges) = timed(&mut folder, 1, f64::INFINITY);
    assert!(judges[0].seen[0].fastest.is_some());
    assert_eq!(waiting(&state(&folder)).len(), 0);
}

#[test]
fn an_evaluator_that_breaks_ends_the_batch() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(1000)).unwrap();
    prepared(&mut folder);
    let left = Cell::new(u32::MAX);
    let mut watch = Quiet { left: &left };
    let mut session = Session::open(&mut folder, opened(), Texts::new()).unwrap();
    let (batch, (sender, found)) = (Batch::default(), mpsc::channel());
    sender.send(Err(Broken("the card is gone".into()))).unwrap();
    let error = session
        .time(usize::MAX, &batch, &found, &mut watch)
        .unwrap_err();
    assert_eq!(error.to_string(), "the card is gone");
    let mut late = judge(true);
    batch.work(&mut late, &sender);
    assert_eq!(late.seen.len(), 0);
}
