use super::*;
use crate::candidate::{Operator, Texts};
use crate::evaluate::{Answered, Recorded};
use crate::experiment::{Budget, Experiment, Record, Scenes, Task, Workload};
use crate::gates::result::Wanted;
use crate::gates::{Gate, Verdict};
use crate::journal::{Entry, Timed};
use crate::propose::History;
use crate::timing::Plan;
use splatcore_core::random::Rng;
use std::cell::Cell;
use std::path::Path;

/// Proposes numbers: near the best so far, or anywhere.
pub(super) struct Numbers;

fn number(text: &str) -> u64 {
    text.trim().parse().unwrap()
}

impl Proposer for Numbers {
    fn propose(&mut self, history: &History) -> Result<Candidate, ProposeError> {
        let mut rng = Rng::new(5, history.proposed);
        if rng.below(10) == 0 {
            return Err(ProposeError::Failed("no idea".into()));
        }
        let best = history.best().map(|best| &best.candidate);
        let value = match best {
            Some(best) if rng.below(2) == 0 => number(&best.changed["a.cu"]) ^ (1 << rng.below(8)),
            _ => rng.below(256) as u64,
        };
        Ok(Candidate {
            parents: best.map(Candidate::id).into_iter().collect(),
            operator: Operator::Tunable,
            origin: None,
            changed: Texts::from([("a.cu".into(), value.to_string())]),
            about: value.to_string(),
        })
    }
}

pub(super) fn answer(candidate: &Candidate) -> Answered {
    match number(&candidate.changed["a.cu"]) {
        n if n % 7 == 0 => Answered::Stopped(Gate::Result),
        n => Answered::Time(0.5 + (n as f64 - 100.0).abs() / 256.0),
    }
}

pub(crate) struct Quiet<'a> {
    /// Candidates until the interruption.
    pub(crate) left: &'a Cell<u32>,
}

impl Watch for Quiet<'_> {
    fn proposed(&mut self, _: &State, _: &Candidate) {
        self.left.set(self.left.get().saturating_sub(1));
    }
    fn judged(&mut self, _: &State, _: &Candidate, _: &Outcome) {}
    fn interrupted(&self) -> bool {
        self.left.get() == 0
    }
}

pub(crate) fn experiment(candidates: u64) -> Experiment {
    Experiment {
        version: 1,
        seed: 5,
        commit: None,
        kernels: "none".into(),
        proposer: None,
        task: Task {
            pipeline: "vanilla".into(),
            workload: Workload::Frame,
            start: None,
            files: vec!["a.cu".into()],
        },
        scenes: Scenes::default(),
        budget: Budget {
            candidates,
            ..Budget::default()
        },
        timing: Plan::default(),
        models: crate::llm::budget::Limits::default(),
        llm: crate::llm::source::Endpoints::new(),
    }
}

pub(crate) fn opened() -> Opened {
    Opened {
        version: "test".into(),
        kernels: "none".into(),
        device: "none".into(),
        sandbox: "none".into(),
        settings: None,
    }
}

pub(super) fn beginning(baseline: Texts) -> Beginning {
    Beginning {
        opened: opened(),
        baseline,
        limits: Budget::UNLIMITED,
    }
}

fn go(folder: &mut Folder, stop_after: u32) -> Result<String, CampaignError> {
    let left = Cell::new(stop_after);
    let mut evaluator = Recorded::new(answer, 0.001);
    run(
        folder,
        beginning(Texts::new()),
        &mut Numbers,
        &mut evaluator,
        None,
        &mut Quiet { left: &left },
    )
}

/// What a journal says but for beginnings and ends of runs.
pub(super) fn work(entries: &[Entry]) -> Vec<Event> {
    let events = entries.iter().map(|entry| entry.event.clone());
    events
        .filter(|event| !matches!(event, Event::Opened(_) | Event::Stopped { .. }))
        .collect()
}

pub(super) fn undisturbed(path: &Path) -> Vec<Event> {
    let mut folder = Folder::create(path, &experiment(120)).unwrap();
    let reason = go(&mut folder, u32::MAX).unwrap();
    assert!(reason.contains("120 candidates"), "{reason}");
    work(folder.journal.entries())
}

#[test]
fn a_run_finds_what_is_fast_and_never_what_is_wrong() {
    let root = tempfile::tempdir().unwrap();
    let events = undisturbed(&root.path().join("one"));
    let count = |pick: &dyn Fn(&Event) -> bool| events.iter().filter(|e| pick(e)).count();
    assert!(count(&|e| matches!(e, Event::Repeated { .. })) > 0);
    assert!(count(&|e| matches!(e, Event::NoProposal { .. })) > 0);
    let rejected = |e: &Event| {
        matches!(
            e,
            Event::Judged {
                verdict: Verdict::Rejected(_),
                ..
            }
        )
    };
    assert!(count(&rejected) > 0);
    let folder = Folder::open(&root.path().join("one")).unwrap();
    let entries = folder.journal.entries();
    let state = State::replay(Texts::new(), entries, &folder.blobs).unwrap();
    let best = number(&state.history.best().unwrap().candidate.changed["a.cu"]);
    assert!(
        (95..=105).contains(&best) && !best.is_multiple_of(7),
        "{best}"
    );
}

/// Interrupted after every few candidates, and cut off in the middle of a line as a kill would:
/// the journals are the same but for times.
#[test]
fn a_hundred_kills_end_in_the_same_journal() {
    let root = tempfile::tempdir().unwrap();
    let whole = undisturbed(&root.path().join("whole"));
    let path = root.path().join("killed");
    drop(Folder::create(&path, &experiment(120)).unwrap());
    let mut rng = Rng::new(3, 0);
    for _ in 0..100 {
        let mut folder = Folder::open(&path).unwrap();
        go(&mut folder, 1 + rng.below(3) as u32).unwrap();
        drop(folder);
        // A kill keeps what is on disk: any whole number of bytes of the last few lines.
        let file = path.join("journal.jsonl");
        let text = std::fs::read(&file).unwrap();
        let cut = rng.below(600).min(text.len());
        std::fs::write(&file, &text[..text.len() - cut]).unwrap();
    }
    let mut folder = Folder::open(&path).unwrap();
    go(&mut folder, u32::MAX).unwrap();
    let killed = work(folder.journal.entries());
    let differs = killed.iter().zip(&whole).position(|(a, b)| a != b);
    let event = differs.map(|at| (at, &killed[at.saturating_sub(1)..=at], &whole[at]));
    assert_eq!(event, None);
    assert_eq!(killed.len(), whole.len());
}

#[test]
fn a_proposer_that_never_has_an_idea_ends_the_run() {
    struct Idle;
    impl Proposer for Idle {
        fn propose(&mut self, _: &History) -> Result<Candidate, ProposeError> {
            Err(ProposeError::Failed("no idea".into()))
        }
    }
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(1000)).unwrap();
    let left = Cell::new(u32::MAX);
    let mut evaluator = Recorded::new(answer, 0.001);
    let error = run(
        &mut folder,
        beginning(Texts::new()),
        &mut Idle,
        &mut evaluator,
        None,
        &mut Quiet { left: &left },
    )
    .unwrap_err();
    assert!(error.to_string().contains("no idea"), "{error}");
}

/// Workers that hang, crash, talk nonsense or never start: fifty of them cost their candidates, and
/// the run goes on.
#[cfg(unix)]
#[test]
fn fifty_faulty_candidates_do_not_stop_a_run() {
    use crate::evaluate::{Evaluator, Outcome as Judged, blame};
    use crate::worker::{Ask, Child, Limits, Program};
    use std::time::Duration;

    struct Faulty;
    impl Evaluator for Faulty {
        fn describe(&self) -> String {
            "shells".into()
        }
        fn sandbox(&self) -> String {
            "none".into()
        }
        fn evaluate(
            &mut self,
            candidate: &Candidate,
            _: Already,
            _: &dyn Fn(&str) -> Option<Judged>,
            _: &mut dyn FnMut(Event),
        ) -> Result<Judged, Broken> {
            const READY: &str = r#"echo '{"answer":"ready","device":"","sandbox":""}';"#;
            let fault = match number(&candidate.changed["a.cu"]) % 4 {
                0 => format!("{READY} sleep 60"),
                1 => format!("{READY} kill -SEGV $$"),
                2 => format!("{READY} read line; echo nonsense"),
                _ => "sleep 60".into(),
            };
            let program = Program {
                command: ["sh".into(), "-c".into(), fault.into()].into(),
                ..Program::default()
            };
            let limits = Limits {
                start: Duration::from_millis(100),
                answer: Duration::from_millis(100),
            };
            let failed = Child::start(&program, limits)
                .and_then(|mut child| child.ask(&Ask::Time { frames: vec![] }))
                .expect_err("a faulty worker answered");
            Ok(Judged {
                verdict: Verdict::Rejected(blame(failed)),
                not_run: vec![],
            })
        }
        fn take_device_seconds(&mut self) -> f64 {
            0.0
        }
    }

    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("e"), &experiment(80)).unwrap();
    let left = Cell::new(u32::MAX);
    let mut watch = Quiet { left: &left };
    let ended = run(
        &mut folder,
        beginning(Texts::new()),
        &mut Numbers,
        &mut Faulty,
        None,
        &mut watch,
    );
    assert!(ended.unwrap().contains("80 candidates"));
    let gates = work(folder.journal.entries())
        .into_iter()
        .filter_map(|event| match event {
            Event::Judged {
                verdict: Verdict::Rejected(rejection),
                ..
            } => Some(rejection.gate),
            _ => None,
        });
    let gates: Vec<Gate> = gates.collect();
    assert!(gates.len() >= 50, "{}", gates.len());
    assert!(gates.contains(&Gate::Deadline) && gates.contains(&Gate::Memory));
}

/// Objects to odd numbers, with one of two counterexamples.
struct Odd;

impl CrossCheck for Odd {
    fn check(
        &mut self,
        _: &History,
        candidate: &Candidate,
    ) -> Result<Option<CrossChecked>, CampaignError> {
        let number = number(&candidate.changed["a.cu"]);
        let name = format!("{}", number % 4);
        Ok(Some(CrossChecked {
            id: candidate.id(),
            by: "a model".into(),
            objection: (number % 2 == 1).then(|| "odd".into()),
            counterexample: (number % 2 == 1).then(|| Wanted {
                name,
                ..Wanted::default()
            }),
        }))
    }
}

/// Keeps the names of tests beside the number of candidates that were judged before.
struct Testing {
    inner: Recorded<fn(&Candidate) -> Answered>,
    judged: usize,
    tests: Vec<(usize, String)>,
    /// How often the baseline was timed against itself, and how often these times were known.
    noise: [usize; 2],
}

impl Evaluator for Testing {
    fn describe(&self) -> String {
        self.inner.describe()
    }
    fn sandbox(&self) -> String {
        self.inner.sandbox()
    }
    fn noise(&mut self) -> Result<Option<Timed>, Broken> {
        self.noise[0] += 1;
        let id = Id::baseline();
        Ok(Some(Timed { id, series: vec![] }))
    }
    fn knows_noise(&mut self, _: &Timed) -> bool {
        self.noise[1] += 1;
        self.noise[1] == 1
    }
    fn add_test(&mut self, more: &Wanted) -> Result<(), Broken> {
        self.tests.push((self.judged, more.name.clone()));
        Ok(())
    }
    fn evaluate(
        &mut self,
        candidate: &Candidate,
        already: Already,
        known: &dyn Fn(&str) -> Option<Outcome>,
        log: &mut dyn FnMut(Event),
    ) -> Result<Outcome, Broken> {
        self.judged += 1;
        self.inner.evaluate(candidate, already, known, log)
    }
    fn take_device_seconds(&mut self) -> f64 {
        self.inner.take_device_seconds()
    }
}

#[test]
fn a_counterexample_is_a_test_at_once_and_stays_one() {
    let root = tempfile::tempdir().unwrap();
    let mut folder = Folder::create(&root.path().join("one"), &experiment(40)).unwrap();
    let mut evaluator = Testing {
        inner: Recorded::new(answer as fn(&Candidate) -> Answered, 0.001),
        judged: 0,
        tests: vec![],
        noise: [0, 0],
    };
    let left = Cell::new(u32::MAX);
    run(
        &mut folder,
        beginning(Texts::new()),
        &mut Numbers,
        &mut evaluator,
        Some(&mut Odd),
        &mut Quiet { left: &left },
    )
    .unwrap();
    let mut names: Vec<&str> = evaluator.tests.iter().map(|(_, n)| n.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["1", "3"], "each once");
    assert!(
        evaluator
            .tests
            .iter()
            .all(|(after, _)| *after < evaluator.judged)
    );
    let entries = folder.journal.entries();
    let state = State::replay(Texts::new(), entries, &folder.blobs).unwrap();
    assert_eq!(state.counterexamples.len(), 2);
    for judged in &state.history.judged {
        let odd = number(&judged.candidate.changed["a.cu"]) % 2 == 1;
        let stopped = matches!(&judged.verdict,
            Verdict::Rejected(rejection) if rejection.gate == Gate::CrossCheck);
        assert_eq!(stopped, odd);
    }
    drop(folder);
    let mut folder = Folder::open(&root.path().join("one")).unwrap();
    let mut session = Session::open(&mut folder, opened(), Texts::new()).unwrap();
    let mut watch = Quiet { left: &left };
    session.begin(&mut evaluator, &mut watch).unwrap();
    assert_eq!(
        evaluator.noise,
        [1, 1],
        "the second run takes the first one's"
    );
    session.begin(&mut evaluator, &mut watch).unwrap();
    assert_eq!(evaluator.noise, [2, 2], "unless they do not fit");
}

#[test]
fn an_experiment_is_read_while_a_run_has_it_open() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("one");
    let mut folder = Folder::create(&path, &experiment(4)).unwrap();
    go(&mut folder, u32::MAX).unwrap();
    let record = Record::read(&path).unwrap();
    assert_eq!(record.entries, folder.journal.entries());
    // A line that is being written does not count yet.
    let journal = path.join("journal.jsonl");
    let mut text = std::fs::read(&journal).unwrap();
    text.extend(b"{\"n\": 9");
    std::fs::write(&journal, &text).unwrap();
    assert_eq!(Record::read(&path).unwrap().entries, record.entries);
    assert_eq!(std::fs::read(&journal).unwrap(), text, "nothing is changed");
}

#[test]
fn settings_that_nothing_can_be_judged_with_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let refused = |change: &dyn Fn(&mut Experiment)| {
        let mut experiment = experiment(1);
        change(&mut experiment);
        let path = root.path().join("refused");
        let error = Folder::create(&path, &experiment).unwrap_err().to_string();
        assert!(!path.exists(), "nothing is left of it");
        assert!(error.contains("experiment.toml: "), "{error}");
        error
    };
    assert!(refused(&|e| e.version = 99).contains("version 99"));
    assert!(refused(&|e| e.task.files.clear()).contains("no kernel file"));
    let twice = |e: &mut Experiment| e.task.files.push("a.cu".into());
    assert!(refused(&twice).contains("\"a.cu\" twice"));
    assert!(refused(&|e| e.budget.device_seconds = f64::NAN).contains("device_seconds is NaN"));
    assert!(refused(&|e| e.budget.wall_seconds = -5.0).contains("wall_seconds is -5"));
    for looks in [vec![], vec![0, 8], vec![32, 8]] {
        let change = |e: &mut Experiment| e.timing.looks.clone_from(&looks);
        assert!(refused(&change).contains("timing.looks"));
    }
    for error in [0.0, 5.0, f64::NAN] {
        assert!(refused(&|e| e.timing.error = error).contains("timing.error"));
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said_without_quoting_it() {
    let root = tempfile::tempdir().unwrap();
    let none = Folder::open(root.path()).unwrap_err().to_string();
    assert!(none.contains("holds no experiment"), "{none}");
    let path = root.path().join("one");
    drop(Folder::create(&path, &experiment(1)).unwrap());
    let file = path.join("experiment.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let key = "\n[llm.coder]\nbase_url = \"x\"\nmodel = \"y\"\napi_key = \"sk-secret\"\n";
    std::fs::write(&file, text + key).unwrap();
    let error = Record::read(&path).unwrap_err().to_string();
    assert!(
        error.contains("line ") && error.contains("api_key"),
        "{error}"
    );
    assert!(
        !error.contains("sk-secret") && !error.contains('\n'),
        "{error}"
    );
}

#[test]
fn verdicts_depend_on_seed_task_scenes_and_timing() {
    let first = experiment(1);
    let mut other = experiment(1000);
    other.budget.wall_seconds = 1.0;
    assert_eq!(first.identity(), other.identity(), "a budget may be raised");
    other.seed = 6;
    assert_ne!(first.identity(), other.identity());
    let mut other = experiment(1);
    other.timing.error = 0.01;
    assert_ne!(first.identity(), other.identity());
}
