use super::*;
use crate::candidate::{Candidate, Operator, Texts};
use crate::gates::{Ratio, Verdict};

fn proposed(blobs: &Blobs, text: &str) -> (Candidate, Event) {
    let candidate = Candidate {
        parents: vec![],
        operator: Operator::Manual,
        origin: None,
        changed: Texts::from([("blend.cu".into(), text.into())]),
        about: text.into(),
    };
    let digest = blobs.keep(text.as_bytes()).unwrap();
    let event = Event::Proposed(Proposed {
        id: candidate.id(),
        parents: vec![],
        operator: Operator::Manual,
        origin: None,
        about: text.into(),
        changed: [("blend.cu".to_owned(), digest)].into(),
    });
    (candidate, event)
}

fn faster(id: crate::Id) -> Event {
    let verdict = Verdict::Faster(Ratio {
        ratio: 0.9,
        low: 0.89,
        high: 0.91,
    });
    Event::Judged {
        id,
        verdict,
        not_run: vec![],
        device_seconds: 1.0,
    }
}

#[test]
fn a_journal_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let (path, blobs) = (
        folder.path().join("journal.jsonl"),
        Blobs::new(folder.path().join("blobs")),
    );
    let mut journal = Journal::open(&path).unwrap();
    let (one, event) = proposed(&blobs, "one");
    journal.append(event).unwrap();
    journal.append(faster(one.id())).unwrap();
    let (two, event) = proposed(&blobs, "two");
    journal.append(event).unwrap();
    drop(journal);

    let journal = Journal::open(&path).unwrap();
    let state = State::replay(Texts::new(), journal.entries(), &blobs).unwrap();
    assert_eq!(state.history.proposed, 2);
    assert_eq!(state.history.judged.len(), 1);
    assert_eq!(state.history.best().unwrap().candidate, one);
    assert_eq!(state.pending, Some(two));
}

#[test]
fn wherever_it_is_cut_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let blobs = Blobs::new(folder.path().join("blobs"));
    let mut journal = Journal::open(&path).unwrap();
    for text in ["one", "two", "three"] {
        let (candidate, event) = proposed(&blobs, text);
        journal.append(event).unwrap();
        journal.append(faster(candidate.id())).unwrap();
    }
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    for end in (0..=whole.len()).rev().step_by(7) {
        std::fs::write(&path, &whole[..end]).unwrap();
        let mut journal = Journal::open(&path).unwrap();
        let lines = whole[..end].iter().filter(|&&b| b == b'\n').count();
        assert_eq!(journal.entries().len(), lines);
        State::replay(Texts::new(), journal.entries(), &blobs).unwrap();
        journal
            .append(Event::Stopped {
                reason: "cut".into(),
            })
            .unwrap();
        drop(journal);
        assert_eq!(Journal::open(&path).unwrap().entries().len(), lines + 1);
    }
}

#[test]
fn a_changed_line_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    let mut journal = Journal::open(&path).unwrap();
    for reason in ["one", "two"] {
        journal
            .append(Event::Stopped {
                reason: reason.into(),
            })
            .unwrap();
    }
    let busy = Journal::open(&path).unwrap_err();
    assert!(matches!(busy, JournalError::InUse { .. }), "{busy}");
    drop(journal);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("one", "won", 1)).unwrap();
    let error = Journal::open(&path).unwrap_err();
    assert!(
        matches!(error, JournalError::Broken { line: 2, .. }),
        "{error}"
    );
}

#[test]
fn a_changed_blob_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let blobs = Blobs::new(folder.path().to_owned());
    let digest = blobs.keep(b"text").unwrap();
    assert_eq!(blobs.text(&digest).unwrap(), "text");
    let file = folder.path().join(&digest.0[..2]).join(&digest.0);
    std::fs::write(file, "other").unwrap();
    assert!(
        blobs
            .get(&digest)
            .unwrap_err()
            .to_string()
            .contains("was changed")
    );
    assert!(blobs.get(&Digest("../../x".into())).is_err());
}
