//! An experiment in pieces: runs with limits of their own end in the journal of one run.

use super::tests::{Numbers, Quiet, answer, beginning, experiment, undisturbed, work};
use super::*;
use crate::evaluate::Recorded;
use std::cell::Cell;

fn piece(folder: &mut Folder, limits: Budget) -> String {
    let left = Cell::new(u32::MAX);
    let mut evaluator = Recorded::new(answer, 0.001);
    let beginning = Beginning {
        limits,
        ..beginning(Texts::new())
    };
    run(
        folder,
        beginning,
        &mut Numbers,
        &mut evaluator,
        None,
        &mut Quiet { left: &left },
    )
    .unwrap()
}

fn spent(folder: &Folder) -> (u64, f64) {
    let entries = folder.journal.entries();
    let state = State::replay(Texts::new(), entries, &folder.blobs).unwrap();
    (state.history.proposed, state.device_seconds)
}

/// Each candidate that is judged takes a second of the device (`Recorded`).
#[test]
fn pieces_of_device_seconds_make_a_whole() {
    let root = tempfile::tempdir().unwrap();
    let whole = undisturbed(&root.path().join("whole"));
    let path = root.path().join("pieces");
    drop(Folder::create(&path, &experiment(120)).unwrap());
    let limits = Budget {
        device_seconds: 20.0,
        ..Budget::UNLIMITED
    };
    for number in 1.. {
        let mut folder = Folder::open(&path).unwrap();
        let (_, before) = spent(&folder);
        let ended = piece(&mut folder, limits);
        let (proposed, after) = spent(&folder);
        if proposed == 120 {
            assert!(number > 2, "{number} pieces");
            assert_eq!(ended, "the budget of 120 candidates is spent");
            break;
        }
        assert_eq!(after - before, 20.0, "piece {number}");
        assert_eq!(
            ended,
            "20 device seconds of this run are spent; `lab resume` goes on"
        );
    }
    let folder = Folder::open(&path).unwrap();
    assert_eq!(work(folder.journal.entries()), whole);
}

#[test]
fn a_piece_ends_by_tries_and_by_the_clock() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(120)).unwrap();
    let tries = Budget {
        candidates: 7,
        ..Budget::UNLIMITED
    };
    for tried in [7, 14] {
        let ended = piece(&mut folder, tries);
        assert_eq!(
            ended,
            "7 candidates of this run are tried; `lab resume` goes on"
        );
        assert_eq!(spent(&folder).0, tried);
    }
    let clock = Budget {
        wall_seconds: 0.0,
        ..Budget::UNLIMITED
    };
    let ended = piece(&mut folder, clock);
    assert_eq!(
        ended,
        "0 seconds of this run have passed; `lab resume` goes on"
    );
    assert_eq!(spent(&folder).0, 14);
}
