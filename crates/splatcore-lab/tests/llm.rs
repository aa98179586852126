//! Whole runs with a language model: planned, pruned, coded and repaired; killed and resumed;
//! replayed from the record, and over HTTP. No network, no card: the model is a function, and so is
//! the evaluator.
#![allow(clippy::unwrap_used)] // helpers of tests; clippy knows those with #[test] only

use splatcore_lab::candidate::{Candidate, Id, Texts};
use splatcore_lab::gates::{Gate, Ratio, Rejection, Verdict};
use splatcore_lab::llm::budget::{Budget, Limits};
use splatcore_lab::llm::checker;
use splatcore_lab::llm::endpoint::{Endpoint, Keys, Price};
use splatcore_lab::llm::http::Http;
use splatcore_lab::llm::pause::Pause;
use splatcore_lab::llm::planner::Guidance;
use splatcore_lab::llm::prompts::Prompts;
use splatcore_lab::llm::proposer::LlmProposer;
use splatcore_lab::llm::question::Setting;
use splatcore_lab::llm::record::{self, Record};
use splatcore_lab::llm::recorder::{Models, Recorder};
use splatcore_lab::llm::replay::Replay;
use splatcore_lab::llm::server::{Server, parse_faults, transcript};
use splatcore_lab::llm::{By, Model, ModelError, Parameters, Reply, Request, Role, Usage};
use splatcore_lab::profile::Profile;
use splatcore_lab::propose::{History, Judged, ProposeError, Proposer};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

const TRIES: u64 = 20;
const HELD_OUT: &str = "garden";

const ADVICE: &str = r#"```json
[{"what": "Raise the speed", "files": ["blend.cu"], "predicted_percent": 20},
 {"what": "Prefetch", "files": ["blend.cu"], "predicted_percent": 30},
 {"what": "Raise the width", "files": ["blend.cu"], "predicted_percent": 10},
 {"what": "Sort less", "files": ["sort.cu"], "predicted_percent": 5}]
```"#;

const CHOICE: &str = r#"{"keep": [{"advice": 1, "why": "a"}, {"advice": 3, "why": "b"}],
                         "drop": [{"advice": 4, "why": "1 % of the frame"}]}"#;

fn baseline() -> Texts {
    let blend = "#define SPEED 1\n#define WIDTH 1\nvoid blend() {}\n";
    let files = [("blend.cu", blend), ("sort.cu", "void sort() {}\n")];
    files.iter().map(|&(n, t)| (n.into(), t.into())).collect()
}

fn profile() -> Box<Profile> {
    let text = r#"{"frame_us": 100, "device": "a card",
        "stages": [{"name": "blend", "us": 60, "files": ["blend.cu"]},
                   {"name": "sort", "us": 5, "files": ["sort.cu"]}],
        "kernels": [{"name": "blend", "files": ["blend.cu"], "metrics": {"dram_percent": 4}}]}"#;
    Box::new(serde_json::from_str(text).unwrap())
}

/// The value of a constant in the files that a prompt shows or a candidate has.
fn value(text: &str, name: &str) -> u64 {
    let at = text.find(&format!("#define {name} ")).unwrap();
    let rest = &text[at + name.len() + 9..];
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// A model that raises a constant by the try's number. Every third answer misses the passage at
/// first, every fifth does so for ever, two of four do not compile.
fn answer(request: &Request) -> String {
    let question = &request.messages[1].content;
    match request.role {
        Role::Planner if question.contains("# Advice") => return CHOICE.into(),
        Role::Planner => return ADVICE.into(),
        Role::Checker if question.contains("+#define WIDTH") => {
            let inputs = r#""counterexample": {"text": "an odd width", "width": 33}"#;
            return format!("{{\"equivalent\": false, \"where\": \"blend.cu\", {inputs}}}");
        }
        Role::Checker => return r#"{"equivalent": true}"#.into(),
        Role::Coder => (),
    }
    let number = request.number;
    let name = ["SPEED", "WIDTH"][usize::from(question.contains("Raise the width"))];
    let old = value(question, name);
    let repaired = request.messages.len() > 2;
    let start = &question[question.find(&format!("#define {name} ")).unwrap()..];
    let line = start.lines().next().unwrap();
    let shown = match number % 5 == 4 || (number % 3 == 1 && !repaired) {
        true => "#define OTHER 1",
        false => line,
    };
    let new = match number % 4 {
        2 | 3 => format!("{} // broken", old + number + 1),
        _ => format!("{}", old + number + 1),
    };
    format!(
        "CHANGE: {name} from {old}\nblend.cu\n<<<<<<< SEARCH\n{shown}\n=======\n\
         #define {name} {new}\n>>>>>>> REPLACE\n"
    )
}

fn reply(request: &Request) -> Reply {
    Reply {
        text: answer(request),
        usage: Usage {
            tokens_in: 100,
            tokens_out: 10,
            estimated: false,
        },
        by: By {
            model: Some("fake-1".into()),
            version: Some("build 7".into()),
        },
        cut: false,
    }
}

/// Counts what it is asked, and dies at one call.
#[derive(Clone, Default)]
struct Fake {
    calls: Arc<AtomicU64>,
    asked: Arc<Mutex<BTreeMap<String, u64>>>,
    dies_at: Option<u64>,
}

impl Model for Fake {
    fn ask(&mut self, request: &Request) -> Result<Reply, ModelError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if self.dies_at == Some(call) {
            return Err(ModelError::Stopped(request.role));
        }
        *self
            .asked
            .lock()
            .unwrap()
            .entry(request.hash())
            .or_default() += 1;
        Ok(reply(request))
    }
}

fn evaluate(candidate: &Candidate) -> Verdict {
    let text = &candidate.changed["blend.cu"];
    if text.contains("broken") {
        let log = "blend.cu(1): error: broken\nseen on garden";
        return Verdict::Rejected(Rejection::new(Gate::Compile, log));
    }
    let (speed, width) = (value(text, "SPEED"), value(text, "WIDTH"));
    if (speed + width) % 7 == 0 {
        let secret = "garden: 43.21 dB, 50 wanted";
        return Verdict::Rejected(Rejection::new(Gate::Result, secret));
    }
    let ratio = 1.0 / (1.0 + 0.01 * (speed + 2 * width) as f64);
    Verdict::Faster(Ratio {
        ratio,
        low: ratio - 0.001,
        high: ratio + 0.001,
    })
}

fn setting(folder: &Path) -> Setting {
    let mut setting = Setting::new("Blend: each pixel's colour.");
    setting.prompts = Prompts::in_folder(&folder.join("prompts")).unwrap();
    setting.hidden = vec![HELD_OUT.into()];
    for role in Role::ALL {
        let parameters = Parameters::from([
            ("model".into(), "m".into()),
            ("temperature".into(), 0.1.into()),
        ]);
        setting.parameters.insert(role, parameters);
    }
    setting
}

fn recorder<M: Model>(folder: &Path, model: M) -> Recorder<M> {
    let record = Record::open(folder.join("llm.jsonl")).unwrap();
    let limits = Limits {
        money: Some(1000.0),
        ..Limits::default()
    };
    let budget = Budget::new(limits, record.exchanges());
    let price = Price {
        input: 1.0,
        output: 1.0,
    };
    let prices = Role::ALL.into_iter().map(|role| (role, price)).collect();
    Recorder::new(record, budget, prices, model)
}

/// What is left of a run after a kill: the lab's journal. `lost`: the last candidate was proposed,
/// but the kill came before it was written there.
fn go_on(
    folder: &Path,
    model: impl Model,
    history: &mut History,
    until: u64,
) -> Result<(), String> {
    let guidance = Guidance::PlannerAndProfile(profile());
    let mut model = Arc::new(Mutex::new(recorder(folder, model)));
    let setting = setting(folder);
    let mut proposer = LlmProposer::new(Arc::clone(&model), setting.clone(), guidance, 7);
    while history.proposed < until {
        match proposer.propose(history) {
            Ok(candidate) => {
                let mut objection = None;
                if checker::asks_first(history) {
                    let baseline = &history.baseline;
                    let opinion = checker::check(&mut model, &setting, baseline, &candidate);
                    let opinion = opinion.map_err(|stop| stop.to_string())?;
                    let checked = opinion.checked(candidate.id(), "checker".into());
                    let gate = Gate::CrossCheck;
                    objection = checked.objection.map(|why| Rejection::new(gate, why));
                }
                let verdict = objection.map_or_else(|| evaluate(&candidate), Verdict::Rejected);
                if history.find(&candidate.id()).is_none() {
                    history.judged.push(Judged { candidate, verdict });
                }
            }
            Err(ProposeError::Failed(_)) => (),
            Err(stop) => return Err(stop.to_string()),
        }
        history.proposed += 1;
    }
    Ok(())
}

fn begun() -> History {
    History {
        baseline: baseline(),
        ..History::default()
    }
}

/// Candidates in their order, with their lines.
fn proposed(history: &History) -> Vec<(Id, String)> {
    let of = |judged: &Judged| (judged.candidate.id(), judged.candidate.about.clone());
    history.judged.iter().map(of).collect()
}

/// A run without kills: its folder, its candidates, the calls it took.
fn undisturbed() -> (tempfile::TempDir, Vec<(Id, String)>, u64) {
    let folder = tempfile::tempdir().unwrap();
    let (fake, mut history) = (Fake::default(), begun());
    go_on(folder.path(), fake.clone(), &mut history, TRIES).unwrap();
    let calls = fake.calls.load(Ordering::Relaxed);
    (folder, proposed(&history), calls)
}

#[test]
fn a_run_plans_prunes_codes_and_repairs() {
    let folder = tempfile::tempdir().unwrap();
    let mut history = begun();
    go_on(folder.path(), Fake::default(), &mut history, TRIES).unwrap();
    let exchanges = record::read(&folder.path().join("llm.jsonl")).unwrap();
    let planner: Vec<_> = exchanges
        .iter()
        .filter(|e| e.request.role == Role::Planner)
        .collect();
    assert_eq!(planner.len(), 2, "one plan, one choice");
    assert!(
        !planner[1].request.messages[1].content.contains("Prefetch"),
        "a rule dropped it"
    );
    let coder = exchanges.iter().filter(|e| e.request.role == Role::Coder);
    let repairs = coder
        .clone()
        .filter(|e| e.request.messages.len() > 2)
        .count();
    assert!(repairs > 4, "{repairs} repairs");
    // Both islands have candidates, some fail to compile and are repaired, some tries give none.
    for advice in ["advice 1", "advice 3"] {
        assert!(
            history
                .judged
                .iter()
                .any(|j| j.candidate.described().contains(advice))
        );
    }
    let broken =
        |j: &&Judged| matches!(&j.verdict, Verdict::Rejected(r) if r.gate == Gate::Compile);
    let broken: Vec<Id> = history
        .judged
        .iter()
        .filter(broken)
        .map(|j| j.candidate.id())
        .collect();
    assert!(!broken.is_empty());
    let repaired = |j: &Judged| j.candidate.parents.iter().any(|id| broken.contains(id));
    assert!(history.judged.iter().any(repaired));
    assert!((history.judged.len() as u64) < TRIES);
    assert!(
        history.best().unwrap().candidate.parents.len() == 1,
        "the best has a parent"
    );
    let says = "blend.cu: an odd width";
    let objected = |j: &Judged| matches!(&j.verdict, Verdict::Rejected(r) if r.reason == says);
    assert!(
        history.judged.iter().any(objected),
        "the checker objects while errors are many"
    );
    let log = coder.filter(|e| e.request.messages[1].content.contains("error: broken"));
    assert!(log.count() > 0, "the compiler's log reaches the coder");
}

#[test]
fn prompts_name_no_held_out_scene_and_no_threshold() {
    let (folder, _, _) = undisturbed();
    for exchange in record::read(&folder.path().join("llm.jsonl")).unwrap() {
        for message in &exchange.request.messages {
            for hidden in [HELD_OUT, "43.21", "50 wanted"] {
                assert!(!message.content.contains(hidden), "{}", message.content);
            }
        }
    }
}

#[test]
fn a_killed_run_goes_on_to_the_same_candidates() {
    let (_folder, wanted, calls) = undisturbed();
    assert!(calls > TRIES);
    for dies_at in 1..=calls {
        let folder = tempfile::tempdir().unwrap();
        let mut history = begun();
        let mut fake = Fake {
            dies_at: Some(dies_at),
            ..Fake::default()
        };
        let error = go_on(folder.path(), fake.clone(), &mut history, TRIES).unwrap_err();
        assert!(error.contains("resume"), "{error}");
        fake.dies_at = None;
        go_on(folder.path(), fake.clone(), &mut history, TRIES).unwrap();
        assert_eq!(proposed(&history), wanted, "killed at call {dies_at}");
        let asked = fake.asked.lock().unwrap();
        assert!(
            asked.values().all(|&times| times == 1),
            "killed at call {dies_at}"
        );
    }
}

#[test]
fn a_candidate_that_was_lost_is_proposed_again() {
    let (_folder, wanted, calls) = undisturbed();
    let folder = tempfile::tempdir().unwrap();
    let (fake, mut history) = (Fake::default(), begun());
    for tries in 1..=TRIES {
        // Proposed and recorded, but the journal does not know it: once in every try.
        let mut lost = history.clone();
        go_on(folder.path(), fake.clone(), &mut lost, tries).unwrap();
        go_on(folder.path(), fake.clone(), &mut history, tries).unwrap();
    }
    assert_eq!(proposed(&history), wanted);
    assert_eq!(
        fake.calls.load(Ordering::Relaxed),
        calls,
        "nothing is asked twice"
    );
}

#[test]
fn a_record_that_was_cut_anywhere_is_completed() {
    let (whole, wanted, _) = undisturbed();
    let text = std::fs::read(whole.path().join("llm.jsonl")).unwrap();
    let lengths = (0..text.len()).step_by(text.len() / 40 + 1);
    for length in lengths {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("llm.jsonl"), &text[..length]).unwrap();
        let mut history = begun();
        go_on(folder.path(), Fake::default(), &mut history, TRIES).unwrap();
        assert_eq!(proposed(&history), wanted, "{length} bytes");
    }
}

#[test]
fn a_record_repeats_the_run_without_a_model() {
    let (recorded, wanted, _) = undisturbed();
    let path = recorded.path().join("llm.jsonl");
    let replay = |asked| Replay::new(record::read(&path).unwrap(), asked);
    let folder = tempfile::tempdir().unwrap();
    let mut history = begun();
    go_on(folder.path(), replay(0), &mut history, 5).unwrap();
    // Killed, and gone on with from its own record.
    let asked = record::read(&folder.path().join("llm.jsonl"))
        .unwrap()
        .len();
    go_on(folder.path(), replay(asked), &mut history, TRIES).unwrap();
    assert_eq!(proposed(&history), wanted);
    let asked = record::read(&path).unwrap().len();
    let error = go_on(folder.path(), replay(asked), &mut history, TRIES + 1).unwrap_err();
    assert!(error.contains("the transcript ends after"), "{error}");
    // A run of other kernels is not the recorded one.
    let other = tempfile::tempdir().unwrap();
    let mut history = begun();
    history
        .baseline
        .insert("sort.cu".into(), "void sort() { }\n".into());
    let error = go_on(other.path(), replay(0), &mut history, TRIES).unwrap_err();
    assert!(
        error.contains(r#"was "void sort() {}", now "void sort() { }""#),
        "{error}"
    );
}

#[test]
fn a_record_repeats_the_run_over_http_with_faults() {
    let (recorded, wanted, calls) = undisturbed();
    let exchanges = record::read(&recorded.path().join("llm.jsonl")).unwrap();
    let faults = parse_faults("1=429:1,2=500,5=cut,9=malformed,14=slow:1").unwrap();
    let server = Server::start(0, transcript(exchanges, faults)).unwrap();
    let endpoint = Endpoint {
        base_url: server.base_url(),
        model: "m".into(),
        key_env: Some("LAB_KEY".into()),
        parameters: Parameters::from([("temperature".into(), 0.1.into())]),
        price: None,
        timeout_s: 60,
        attempts: 5,
    };
    let keys = Keys::of(|_| Some("sk-never-written".to_owned()));
    let models = Role::ALL
        .into_iter()
        .fold(Models::default(), |models, role| {
            let (endpoint, keys) = (endpoint.clone(), keys.clone());
            let pause = Pause::with_sleep(|_| ());
            models.with(role, Http::new(role, endpoint, keys, pause).unwrap())
        });
    let folder = tempfile::tempdir().unwrap();
    let mut history = begun();
    go_on(folder.path(), models, &mut history, TRIES).unwrap();
    assert_eq!(proposed(&history), wanted);
    let written = std::fs::read_to_string(folder.path().join("llm.jsonl")).unwrap();
    assert_eq!(written.lines().count() as u64, calls);
    assert!(!written.contains("sk-never-written"));
}

#[test]
fn a_budget_ends_the_run_and_more_of_it_goes_on() {
    let (_folder, wanted, _) = undisturbed();
    let folder = tempfile::tempdir().unwrap();
    let mut history = begun();
    let record = Record::open(folder.path().join("llm.jsonl")).unwrap();
    let limits = Limits {
        calls: Some(6),
        ..Limits::default()
    };
    let budget = Budget::new(limits, record.exchanges());
    let model = Recorder::new(record, budget, BTreeMap::new(), Fake::default());
    let guidance = Guidance::PlannerAndProfile(profile());
    let mut proposer = LlmProposer::new(model, setting(folder.path()), guidance, 7);
    let stop = (0..TRIES).find_map(|_| match proposer.propose(&history) {
        Ok(candidate) => {
            let verdict = evaluate(&candidate);
            history.judged.push(Judged { candidate, verdict });
            history.proposed += 1;
            None
        }
        Err(ProposeError::Failed(_)) => {
            history.proposed += 1;
            None
        }
        Err(stop) => Some(stop.to_string()),
    });
    let stop = stop.unwrap();
    assert!(stop.contains("the budget of calls ends: 6 of 6"), "{stop}");
    drop(proposer);
    go_on(folder.path(), Fake::default(), &mut history, TRIES).unwrap();
    assert_eq!(proposed(&history), wanted);
}
