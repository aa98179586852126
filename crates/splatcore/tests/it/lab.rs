//! `splatcore lab` as people use it, on the emulator.

use crate::common::{ends, fails, program, splatcore, succeeds};
use std::path::Path;
use std::process::Command;

/// Changed kernels run on the emulator where something confines them.
fn can_run_kernels() -> bool {
    has_compiler() && is_confined()
}

/// Asks a worker for changed kernels to begin.
fn is_confined() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let output = splatcore(&["lab", "worker", "--kind", "emulator", path])
        .env("SPLATCORE_KERNELS", path)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if said.contains("\"unconfined\"") {
        eprintln!("SKIPPED: nothing confines changed kernels: {}", said.trim());
        return false;
    }
    assert!(output.status.success(), "{output:?}");
    true
}

/// The emulator needs a C++ compiler.
fn has_compiler() -> bool {
    let found = std::env::var_os("CXX").is_some()
        || ["g++", "c++", "clang++"].iter().any(|name| {
            let output = Command::new(name).arg("--version").output();
            output.is_ok_and(|output| output.status.success())
        });
    if !found {
        eprintln!("SKIPPED: no C++ compiler for the emulator");
    }
    found
}

/// An experiment on the literal blend, of so many candidates.
fn begin(experiment: &str, candidates: &str) {
    let task = ["--task", "blend", "--pipeline", "aabb+literal"];
    let new = ["lab", "new", experiment, "--candidates", candidates];
    succeeds(&[new.as_slice(), &task].concat());
}

fn kernels() -> &'static Path {
    Path::new("../splatcore-cuda/src/ops")
}

/// Every planted wrong change is stopped by the gate that it names, and every honest one passes.
#[test]
fn the_gates_hold() {
    if !can_run_kernels() {
        return;
    }
    let said = succeeds(&["lab", "cheats", "--on", "emulator"]);
    let ok = said.lines().filter(|line| line.starts_with("ok ")).count();
    assert!(ok >= 45, "{said}");
    assert!(!said.contains("WRONG"), "{said}");
}

/// A checker that objects to everything finds the wrong changes and raises a false alarm at each
/// honest one; what is on record is not asked again.
#[cfg(unix)]
#[test]
fn a_model_is_asked_about_planted_changes() {
    use std::os::unix::fs::PermissionsExt;
    if !has_compiler() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (program, record) = (at("model"), at("record.jsonl"));
    let reply = r#"{"equivalent": false, "where": "the loop"}"#;
    let script = format!("#!/bin/sh\ncat > /dev/null\necho '{reply}'\n");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ask = |only: &str, source: &str| {
        let flags = ["--on", "emulator", "--llm", source, "--record", &record];
        succeeds(&[&["lab", "cheats", only], flags.as_slice()].concat())
    };
    let said = ask("unroll", &format!("command:{program}"));
    assert!(said.starts_with("false alarm honest-unroll"), "{said}");
    assert_contains!(said, "0 of 1 honest ones called equivalent");
    let first = ask("no-barrier", &format!("command:{program}"));
    assert!(
        first.starts_with("found       no-barrier  races"),
        "{first}"
    );
    std::fs::remove_file(&program).unwrap();
    assert_eq!(ask("no-barrier", &format!("command:{program}")), first);
    // What no question about results can show is not asked.
    let said = ask("clock", &format!("command:{program}"));
    assert!(said.starts_with("0 of 0 wrong changes found"), "{said}");
}

#[test]
fn a_folder_of_kernels_is_judged() {
    if !can_run_kernels() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(kernels().join("blend/blend_early_cull.cu")).unwrap();
    let path = folder.path().to_str().unwrap();
    let check = format!("lab check {path} --pipeline exact+early-cull --on emulator");
    let error = fails(&check);
    assert_contains!(error, "holds no kernel file");

    let file = folder.path().join("blend_early_cull.cu");
    let honest = text.replacen("for (u32 k", "#pragma unroll 2\n        for (u32 k", 1);
    assert_ne!(honest, text);
    std::fs::write(&file, &honest).unwrap();
    let said = succeeds(&check);
    assert_contains!(said, "passed   races", "verdict  passed, not timed");

    let wrong = honest.replacen("bool done = !inside;", "bool done = !inside || x == 5;", 1);
    assert_ne!(wrong, honest);
    std::fs::write(&file, wrong).unwrap();
    let error = ends(&check, 1);
    assert_contains!(error, "rejected by result");

    std::fs::write(folder.path().join("blend_late_cull.cu"), "").unwrap();
    let error = fails(&check);
    assert_contains!(error, "no kernel file is called blend_late_cull.cu");
}

#[test]
fn an_experiment_is_begun_packed_and_merged() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let experiment = at("experiment");
    let new = [
        "lab",
        "new",
        &experiment,
        "--task",
        "blend",
        "--pipeline",
        "aabb+scalar",
    ];
    let said = succeeds(&new);
    assert_contains!(said, "blend_scalar.cu");
    let error = fails(&new);
    assert_contains!(error, "is not empty");
    let said = succeeds(&["lab", "status", &experiment]);
    assert!(said.starts_with("0 candidates"), "{said}");
    succeeds(&["lab", "report", &experiment]);
    let report = std::fs::read_to_string(root.path().join("experiment/report.html")).unwrap();
    assert!(report.contains("aabb+scalar"));
    let error = fails(&["lab", "time", &experiment, "--on", "emulator"]);
    assert_contains!(error, "times need a card");
    // No card has run: the paper's numbers stand alone.
    assert_eq!(report.matches("Here: not measured").count(), 6);
    succeeds(&["lab", "pack", &experiment, &at("packed")]);
    let said = succeeds(&["lab", "merge", &experiment, &at("packed/experiment")]);
    assert_eq!(said, "0 events are new\n");
    let other = at("other");
    let again = format!("lab new {other} --task blend --pipeline aabb+scalar --seed 1");
    succeeds(&again);
    let error = fails(&["lab", "merge", &other, &at("packed/experiment")]);
    assert_contains!(error, "another experiment");
    let error = fails(&["lab", "status", &at("nowhere")]);
    assert_contains!(error, "nowhere");
}

/// A program stands for a model; its transcript then repeats the run without it.
#[cfg(unix)]
#[test]
fn a_program_proposes_and_its_record_repeats_it() {
    use std::os::unix::fs::PermissionsExt;
    if !can_run_kernels() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let program = at("model");
    let reply = "blend_literal.cu\n<<<<<<< SEARCH\n            float raw = conic.w * expf(power);\n\
                 =======\n            float raw = conic.w * __expf(power);\n>>>>>>> REPLACE\n";
    let script = format!("#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{reply}END\n");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let run = |experiment: &str, source: &str| {
        begin(experiment, "1");
        let flags = ["--on", "emulator", "--guidance", "none", "--llm", source];
        succeeds(&[&["lab", "run", experiment], flags.as_slice()].concat())
    };
    let (first, second) = (at("first"), at("second"));
    let said = run(&first, &format!("command:{program}"));
    assert_contains!(said, "1 candidates: 0 faster, 0 rejected");
    std::fs::remove_file(&program).unwrap();
    run(&second, &format!("replay:{first}/models.jsonl"));
    let judged = |experiment: &str| {
        let text = std::fs::read_to_string(Path::new(experiment).join("journal.jsonl")).unwrap();
        let line = text
            .lines()
            .find(|line| line.contains("\"proposed\""))
            .unwrap()
            .to_owned();
        line.split_once("\"event\"").unwrap().1.to_owned()
    };
    assert_eq!(judged(&first), judged(&second));
    let lonely = format!("lab run {second} --on emulator --proposer model");
    splatcore(&lonely).assert().code(2);
    let both = at("both.html");
    succeeds(&["lab", "report", &first, &second, "-o", &both]);
    let report = std::fs::read_to_string(&both).unwrap();
    assert_contains!(report, "<td>neither</td><td>2</td>", "try 0: edits");
    let error = fails(&["lab", "run", &second, "--on", "emulator", "--llm", "http"]);
    assert_contains!(error, "no model is set for the coder");
    // A checker that objects to everything raises a false alarm at what the gates let pass.
    let script = "#!/bin/sh\ncat > /dev/null\necho '{\"equivalent\": false}'\n";
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (checker, record) = (format!("command:{program}"), at("checked.jsonl"));
    let ask = ["lab", "cheats", "--on", "emulator", "--llm", &checker];
    let said = succeeds(&[&ask[..], &["--record", &record, "--of", &first]].concat());
    assert!(said.starts_with("false alarm"), "{said}");
    assert_contains!(said, "0 of 1 honest ones called equivalent");
}

/// Whoever answers from a start reads the start's file and no other, and may use names of others.
#[cfg(unix)]
#[test]
fn a_start_shows_the_method_and_nothing_else() {
    use std::os::unix::fs::PermissionsExt;
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let (experiment, program, asked) = (at("experiment"), at("model"), at("asked"));
    let error = ends(&["lab", "new", &experiment, "--start", "literal"], 2);
    assert_contains!(error, "give a --pipeline such as aabb+literal");
    let new = [
        "lab",
        "new",
        &experiment,
        "--candidates",
        "1",
        "--pipeline",
        "aabb+literal",
    ];
    let said = succeeds(&[new.as_slice(), &["--start", "literal"]].concat());
    assert_contains!(said, "blend_literal.cu may be changed");
    let settings = std::fs::read_to_string(at("experiment/experiment.toml")).unwrap();
    assert_contains!(
        settings,
        "start = \"literal\"",
        "files = [\"blend_literal.cu\"]"
    );
    if !can_run_kernels() {
        return;
    }
    let kernel = "extern \"C\" __global__ void __launch_bounds__(BLOCK)\n";
    let helper = "#define LONG_LIST 2\n\
                  __device__ __forceinline__ float log2_alpha(float a, float b) {\n    \
                  return a * __expf(b);\n}\n";
    let edit =
        |from: &str, to: &str| format!("<<<<<<< SEARCH\n{from}=======\n{to}>>>>>>> REPLACE\n");
    let raw = ["conic.w * expf(power)", "log2_alpha(conic.w, power)"];
    let [from, to] = raw.map(|value| format!("            float raw = {value};\n"));
    let helped = edit(kernel, &format!("{helper}{kernel}"));
    let reply = format!("blend_literal.cu\n{helped}{}", edit(&from, &to));
    let script = format!("#!/bin/sh\ncat > {asked}\ncat <<'END'\n{reply}END\n");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let source = format!("command:{program}");
    let run = [
        "lab",
        "run",
        &experiment,
        "--on",
        "emulator",
        "--guidance",
        "none",
    ];
    let said = succeeds(&[run.as_slice(), &["--llm", &source]].concat());
    assert_contains!(said, "1 candidates: 0 faster, 0 rejected");
    let asked = std::fs::read_to_string(&asked).unwrap();
    let file = "../splatcore-lab/starts/literal/blend_literal.cu";
    assert_contains!(asked, std::fs::read_to_string(file).unwrap().trim_end());
    let files = asked.lines().filter(|line| line.starts_with("## ")).count();
    assert_eq!(files, 1, "{asked}");
    for hint in ["blend.cuh", "scalar", "log2_alpha", " us "] {
        assert!(!asked.contains(hint), "{hint}: {asked}");
    }
    let said = succeeds(&["lab", "profile", &experiment, "--on", "emulator"]);
    assert!(!said.contains("blend.cuh"), "{said}");
}

/// The profile is measured once: a run that goes on asks with the numbers of its first questions.
#[cfg(unix)]
#[test]
fn a_profile_is_kept() {
    use std::os::unix::fs::PermissionsExt;
    if !can_run_kernels() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let (experiment, program, asked) = (at("experiment"), at("model"), at("asked"));
    let advice = r#"[{"what": "a", "why": "b", "watch": "c", "files": ["blend_literal.cu"],
        "kind": "compute", "predicted_percent": 5}]"#;
    let script = format!("#!/bin/sh\ncat >> {asked}\ncat <<'END'\n{advice}\nEND\n");
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let source = format!("command:{program}");
    let run = |experiment: &str| {
        let flags = ["--on", "emulator", "--llm", &source];
        let mut run = splatcore(&[&["lab", "run", experiment], flags.as_slice()].concat());
        let said = run.output().unwrap().stderr;
        let questions = std::fs::read_to_string(&asked).unwrap();
        std::fs::remove_file(&asked).unwrap();
        (String::from_utf8(said).unwrap(), questions)
    };
    begin(&experiment, "1");
    let (said, _) = run(&experiment);
    assert!(!said.contains("measuring anew"), "{said}");
    let kept = std::fs::read_to_string(at("experiment/profile.json")).unwrap();
    let mut kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    kept["profile"]["counters"]["sheep"] = 4242.into();
    // Another experiment of the same settings may have it, and one of other kernels may not.
    for (name, kernels) in [("same", None), ("other", Some("0123"))] {
        let experiment = at(name);
        begin(&experiment, "1");
        if let Some(kernels) = kernels {
            kept["kernels"] = kernels.into();
        }
        let path = Path::new(&experiment).join("profile.json");
        std::fs::write(path, kept.to_string()).unwrap();
        let (said, questions) = run(&experiment);
        let anew = said.contains("profile.json is of other kernels: measuring anew");
        assert_eq!(anew, kernels.is_some(), "{said}");
        assert_eq!(
            questions.contains("sheep"),
            kernels.is_none(),
            "{questions}"
        );
    }
}

/// A run that is killed goes on with the candidate that was in work.
#[cfg(unix)]
#[test]
fn a_killed_run_goes_on() {
    use std::time::{Duration, Instant};
    if !can_run_kernels() {
        return;
    }
    let root = tempfile::tempdir().unwrap();
    let experiment = root.path().join("e").to_str().unwrap().to_owned();
    begin(&experiment, "2");
    let journal = root.path().join("e/journal.jsonl");
    let mut child = Command::new(program())
        .args([
            "lab",
            "run",
            &experiment,
            "--on",
            "emulator",
            "--proposer",
            "random",
        ])
        .spawn()
        .unwrap();
    let start = Instant::now();
    let text = || std::fs::read_to_string(&journal).unwrap_or_default();
    while !text().contains("\"proposed\"") && start.elapsed() < Duration::from_secs(240) {
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = text();
    assert!(
        before.contains("\"proposed\"") && !before.contains("\"stopped\""),
        "{before}"
    );
    let said = succeeds(&format!(
        "lab resume {experiment} --on emulator --proposer random"
    ));
    assert_contains!(said, "2 candidates: 0 faster, 0 rejected");
    assert!(text().starts_with(&before), "the journal was changed");
}

/// A gate that looks at other kernels would let any change of these pass.
#[test]
fn files_that_the_pipeline_does_not_run_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let folder = |file: &str| {
        let folder = root.path().join(file.replace('/', "-"));
        std::fs::create_dir(&folder).unwrap();
        let name = file.rsplit('/').next().unwrap();
        std::fs::copy(kernels().join(file), folder.join(name)).unwrap();
        folder.to_str().unwrap().to_owned()
    };
    let scalar = folder("blend/blend_scalar.cu");
    let error = fails(&["lab", "check", &scalar]);
    assert_contains!(error, "does not run blend_scalar.cu");
    let atomic = folder("blend_backward/blend_backward_atomic.cu");
    let error = fails(&["lab", "check", &atomic, "--pipeline", "aabb+scalar+atomic"]);
    assert_contains!(error, "say --training");
    let adam = folder("adam/adam.cu");
    let error = fails(&["lab", "check", &adam, "--training"]);
    assert_contains!(error, "does not run adam.cu");
    let error = fails(&["lab", "new", &at("a"), "--files", "blend_scalar.cu"]);
    assert_contains!(error, "does not run blend_scalar.cu");
}

#[test]
fn settings_of_an_experiment_are_held_to() {
    let root = tempfile::tempdir().unwrap();
    let at = |name: &str| root.path().join(name).to_str().unwrap().to_owned();
    let new = |name: &str, more: &[&str]| {
        let experiment = at(name);
        let mut words = vec!["lab", "new", &experiment, "--task", "project"];
        words.extend(more);
        ends(&words, 2)
    };
    let error = new("a", &["--device-seconds", "nan"]);
    assert_contains!(error, "give seconds, 0 or more");
    // One file by two names.
    std::fs::write(root.path().join("s.ply"), "").unwrap();
    let (one, other) = (at("s.ply"), at("./s.ply"));
    let error = new("a", &["--scene", &one, "--held-out", &other]);
    assert_contains!(error, "must not see");
    // A journal that another seed began.
    let experiment = at("begun");
    succeeds(&["lab", "new", &experiment, "--task", "project"]);
    let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let event = r#"{"what": "opened", "version": "", "kernels": "", "device": "", "sandbox": "",
        "settings": "other"}"#
        .replace('\n', " ");
    let line = format!(r#"{{"n": 0, "at": 0, "previous": "{nothing}", "event": {event}}}"#);
    std::fs::write(root.path().join("begun/journal.jsonl"), format!("{line}\n")).unwrap();
    let error = fails(&["lab", "run", &experiment, "--on", "emulator"]);
    assert_contains!(error, "not those that the journal");
}
