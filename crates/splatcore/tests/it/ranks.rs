//! Several ranks, as far as they can be had without a card.

use crate::common::{ends, photos, splatcore, text};
use std::path::Path;

/// Trains for a step with these variables; returns exit code and what stderr says.
fn train(out: &Path, variables: &str, flags: &[&str]) -> (Option<i32>, String) {
    let start = ["train", photos(), "-o", text(out), "--iterations", "1"];
    let mut command = splatcore(&[&start[..], flags].concat());
    for name in [
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "SLURM_PROCID",
        "OMPI_COMM_WORLD_RANK",
    ] {
        command.env_remove(name);
    }
    let pairs = variables
        .split_whitespace()
        .filter_map(|pair| pair.split_once('='));
    let output = command.envs(pairs).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

#[test]
fn a_wrong_world_is_one_line_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let both = "RANK=0 WORLD_SIZE=2 MASTER_ADDR=127.0.0.1";
    for (variables, flags, code, said) in [
        (
            "RANK=0",
            &[][..],
            1,
            "torchrun: RANK is set, and WORLD_SIZE is not",
        ),
        ("RANK=3 WORLD_SIZE=2", &[], 1, "ranks count from 0"),
        ("RANK=0 WORLD_SIZE=2", &[], 1, "set MASTER_ADDR"),
        (both, &["--backend", "cpu"], 2, "--backend cpu uses none"),
        (
            both,
            &["--cards", "2"],
            1,
            "torchrun has started them already",
        ),
        ("", &["--memory", "16"], 2, "is not a size"),
        (
            "",
            &["--memory", "1G", "--backend", "cpu"],
            2,
            "--backend cpu uses none",
        ),
        (
            "",
            &["--memory-files", "/tmp", "--backend", "cpu"],
            2,
            "--memory-files is about an NVIDIA card's memory",
        ),
        ("", &["--cards", "0"], 2, "is not a number of cards"),
        (
            "",
            &["--cards", "2", "--device", "1"],
            2,
            "cannot be used with",
        ),
    ] {
        let (found, stderr) = train(&out, variables, flags);
        assert_eq!(found, Some(code), "{variables} {flags:?}: {stderr}");
        assert!(stderr.contains(said), "{variables} {flags:?}: {stderr}");
        assert!(!out.exists(), "{variables} {flags:?} wrote into the folder");
    }
}

#[test]
fn pictures_are_spread_over_cards_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = text(&folder.path().join("pictures")).to_owned();
    for (flags, code, said) in [
        (
            &["--cards", "2", "--backend", "cpu"][..],
            2,
            "--backend cpu uses none",
        ),
        (&["--cards", "2", "--device", "0"], 2, "cannot be used with"),
        (&["--cards", "none"], 2, "is not a number of cards"),
        (&["--memory", "16"], 2, "is not a size"),
        (
            &["--memory", "1G", "--backend", "cpu"],
            2,
            "--memory is about an NVIDIA card's memory and --backend cpu uses none",
        ),
    ] {
        for command in [&["render", "-o", &out][..], &["eval"], &["bench"]] {
            let start = [command, &["missing.ply"], flags].concat();
            let stderr = ends(&start, code);
            assert!(stderr.contains(said), "{start:?}: {stderr}");
        }
    }
}

#[test]
fn a_world_of_one_trains_as_always() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let cpu = ["--backend", "cpu", "--threads", "1", "--split-photos"];
    let (code, stderr) = train(&out, "RANK=0 WORLD_SIZE=1", &cpu);
    assert_eq!(code, Some(0), "{stderr}");
    assert_contains!(stderr, "--split-photos changes nothing");
    assert!(out.join("scene.ply").is_file());
    // As in a shell that `srun` started.
    let (code, stderr) = train(
        &out,
        "RANK=0 WORLD_SIZE=1",
        &["--cards", "99", "--overwrite"],
    );
    assert_eq!(code, Some(1), "{stderr}");
    assert!(!stderr.contains("has started them"), "{stderr}");
}

/// As a launcher starts them: exit code, stdout and stderr of rank 0 and of rank 1, which gets more
/// flags.
fn launched(out: &Path, more: &[&str]) -> [(Option<i32>, String, String); 2] {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let start = ["train", photos(), "-o", text(out), "--backend", "cpu"];
    let flags = "--threads 1 --max-size 64 --deterministic --iterations 40 --batch 2";
    let flags: Vec<&str> = flags.split(' ').collect();
    let run = |(rank, more): (usize, &[&str])| {
        let mut command = splatcore(&[&start[..], &flags, more].concat());
        let rank = rank.to_string();
        let variables = [
            ("SPLATCORE_REPLICAS", "1"),
            ("RANK", &rank),
            ("WORLD_SIZE", "2"),
            ("MASTER_ADDR", "127.0.0.1"),
            ("SPLATCORE_PORT", &port.to_string()),
        ];
        let output = command.envs(variables).output().unwrap();
        let said = [&output.stdout, &output.stderr];
        let [out, err] = said.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        (output.status.code(), out, err)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(|| run((1, more)));
        [run((0, &[])), other.join().unwrap()]
    })
}

/// Rank 0 says what there is to say, and what each of them used.
#[test]
fn other_ranks_say_nothing_but_what_went_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let [first, other] = launched(&out, &[]);
    assert_eq!(first.0, Some(0), "{}", first.2);
    assert_contains!(first.1, "\nranks    rank ", " computes longest: ");
    assert_eq!(other, (Some(0), String::new(), String::new()));
    let metrics = std::fs::read(out.join("metrics.json")).unwrap();
    let metrics: serde_json::Value = serde_json::from_slice(&metrics).unwrap();
    for rank in 0..2 {
        let account = &metrics["ranks"][rank];
        assert_eq!(account["rank"], rank, "{metrics}");
        assert!(account["host"].is_string(), "{account}");
        assert!(account["work_seconds"].as_f64() > Some(0.0), "{account}");
        #[cfg(target_os = "linux")]
        assert!(account["host_bytes"].as_u64() > Some(1 << 20), "{account}");
    }
    assert!(metrics["ranks"][2].is_null());

    let [first, other] = launched(&folder.path().join("wrong"), &["--seed", "7"]);
    assert_eq!((first.0, other.0), (Some(1), Some(1)));
    assert_contains!(first.2, "error: rank 1 ", "has other settings: seed = 7");
    assert!(other.1.is_empty(), "{}", other.1);
    let lines: Vec<&str> = other.2.lines().collect();
    assert!(
        lines.len() == 1 && lines[0].starts_with("rank 1: error: rank 0 refuses this rank:"),
        "{lines:?}"
    );
}

/// Several processes, each of which takes every step on the processor.
#[test]
fn replicas_take_the_steps_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let start = ["train", photos(), "-o", text(&out), "--backend", "cpu"];
        let flags = ["--threads", "1", "--max-size", "64", "--deterministic"];
        let mut command = splatcore(&[&start[..], &flags, more].concat());
        command.env("SPLATCORE_REPLICAS", "1");
        let output = command.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        (std::fs::read(out.join("scene.ply")).unwrap(), stderr)
    };
    let iterations = ["--iterations", "40", "--checkpoint-every", "20"];
    let (alone, _) = run("alone", &iterations);
    for ranks in ["2", "3"] {
        let (scene, stderr) = run(ranks, &[&iterations[..], &["--cards", ranks]].concat());
        assert!(scene == alone, "{ranks} ranks");
        assert_contains!(stderr, format!("({ranks} replicas, for tests)"));
        let waiting = format!(
            "a step shows 1 photo, so {}",
            [1, 2][usize::from(ranks == "3")]
        );
        assert_contains!(stderr, waiting);
    }
    // Rank 0 plans the end by its clock, and sees the quality; the others follow.
    let budget = ["--budget", "6s", "--quality-target", "60", "--cards", "3"];
    let (_, stderr) = run("budget", &[&budget[..], &["--batch", "3"]].concat());
    assert_contains!(stderr, "budget 6s:");
    assert!(!stderr.contains("a step shows"), "{stderr}");
    let reached: Vec<&str> = "--iterations 4000 --quality-target 8 --cards 2"
        .split(' ')
        .collect();
    let (_, stderr) = run("reached", &reached);
    assert!(!stderr.contains("error"), "{stderr}");
    // Cameras are refined by every rank alike, and the held-out photos' by rank 0.
    let cameras = ["--refine-poses", "--refine-intrinsics"];
    let (alone, _) = run("cameras", &[&iterations[..], &cameras].concat());
    let refined = [&iterations[..], &cameras, &["--cards", "2"]].concat();
    assert!(run("cameras of two", &refined).0 == alone);
}
