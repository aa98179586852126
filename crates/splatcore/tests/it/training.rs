//! Training from the command line: every file is written, an interrupted run goes on as if never
//! stopped.

use crate::common::{ends, fails, json, photos, program, splatcore, succeeds, text};
use std::path::Path;

fn read(folder: &Path, name: &str) -> Vec<u8> {
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn a_run_writes_everything_and_repeats_from_its_config() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("a"), folder.path().join("b"));
    let flags = "--backend cpu --iterations 120 --sh-degree 1 --eval-every 60 --threads 2";
    let stdout = succeeds(&format!("train {} -o {} {flags}", photos(), text(&first)));
    assert_contains!(stdout, "held-out", "scene.ply");

    let metrics = json(&String::from_utf8(read(&first, "metrics.json")).unwrap());
    assert_eq!(
        (&metrics["steps"], &metrics["split"]),
        (&120.into(), &"test".into())
    );
    assert!(metrics["seconds"].as_f64().unwrap() > 0.0);
    assert_eq!(metrics["views"].as_array().unwrap().len(), 2);
    check_breakdown(&metrics["breakdown"]);
    check_timeline(&metrics["timeline"]);
    assert_contains!(stdout, "\ntime     project ");
    let html = String::from_utf8(read(&first, "report.html")).unwrap();
    assert_eq!(html.matches("<svg").count(), 3, "loss, Gaussians, PSNR");
    assert_eq!(html.matches("data:image/").count(), 6);
    assert!(html.contains("iterations = 120"));
    assert!(first.join("checkpoint.safetensors").is_file());

    // The scene on disk is what was measured.
    let scene = first.join("scene.ply");
    let again = json(&succeeds(&format!(
        "eval {} --dataset {} --json",
        text(&scene),
        photos()
    )));
    for key in ["psnr", "ssim"] {
        let (a, b) = (again[key].as_f64().unwrap(), metrics[key].as_f64().unwrap());
        assert!((a - b).abs() < 1e-4, "{key}: {a} {b}");
    }
    assert_eq!(again["gaussians"], metrics["gaussians"]);
    let config = first.join("config.toml");
    let args = format!(
        "train {} -o {} --config {} --threads 1",
        photos(),
        text(&second),
        text(&config)
    );
    succeeds(&args);
    assert!(
        read(&first, "scene.ply") == read(&second, "scene.ply"),
        "another scene from the same config"
    );

    let line = fails(&["train", photos(), "-o", text(&first)]);
    assert_contains!(line, "--resume", "--overwrite");
    std::fs::write(first.join("notes.txt"), "mine").unwrap();
    succeeds(&format!(
        "train {} -o {} --overwrite --iterations 3",
        photos(),
        text(&first)
    ));
    let short = json(&String::from_utf8(read(&first, "metrics.json")).unwrap());
    assert_eq!(short["steps"], 3);
    let learnt = metrics["psnr"].as_f64().unwrap() - short["psnr"].as_f64().unwrap();
    assert!(learnt > 1.0, "{learnt} dB from step 3 to 120");
    assert_eq!(read(&first, "notes.txt"), b"mine");
}

/// Phases are told in their order; the scene is written while others go on.
fn check_timeline(timeline: &serde_json::Value) {
    let phases = timeline.as_array().unwrap();
    let times = |name: &str| {
        let found = phases.iter().find(|phase| phase["name"] == name);
        let found = found.unwrap_or_else(|| panic!("{name}: {timeline}"));
        ["begin", "end"].map(|key| found[key].as_f64().unwrap())
    };
    let in_turn = [
        "open the backend",
        "read the dataset",
        "decode photos",
        "make the first Gaussians",
        "make the learner",
        "write the settings",
        "launch the first step",
        "take the other steps",
        "wait for the last step",
        "fetch the scene",
        "fetch the state",
        "measure",
        "wait for the scene",
    ];
    let mut now = 0.0;
    for name in in_turn {
        let [begin, end] = times(name);
        assert!(now <= begin && begin <= end, "{name}: {timeline}");
        now = end;
    }
    for name in ["write scene.ply", "encode the scene for the report"] {
        assert!(times(name)[1] <= now, "{name}: {timeline}");
    }
}

/// The parts of a run of 120 steps are all there and add up.
fn check_breakdown(breakdown: &serde_json::Value) {
    let parts = breakdown["parts"].as_array().unwrap();
    let sum = |key: &str| {
        parts
            .iter()
            .map(|part| part[key].as_f64().unwrap())
            .sum::<f64>()
    };
    // Idle time is what is left; on a busy machine the sampled steps may have been slower than the
    // others.
    assert!(sum("share") > 1.0 - 1e-6, "{breakdown}");
    assert!((sum("seconds") / breakdown["seconds"].as_f64().unwrap() - sum("share")).abs() < 1e-6);
    assert_eq!(breakdown["steps"], 120);
    for name in [
        "blend",
        "loss",
        "blend_backward",
        "refine",
        "checkpoint",
        "evaluation",
        "idle",
    ] {
        let part = parts.iter().find(|part| part["name"] == name);
        let seconds = part.and_then(|part| part["seconds"].as_f64());
        // Nothing is left over on a busy machine, nor refined in a run this short.
        let least = if ["idle", "refine"].contains(&name) {
            0.0
        } else {
            1e-6
        };
        assert!(
            seconds.is_some_and(|seconds| seconds >= least),
            "{name}: {breakdown}"
        );
    }
}

#[test]
fn without_held_out_photos_it_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let args = format!(
        "train {} -o {} --iterations 2 --test-every 0",
        photos(),
        text(&out)
    );
    let output = splatcore(&args).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no photo is held out"));
    let metrics = json(&String::from_utf8(read(&out, "metrics.json")).unwrap());
    assert_eq!(metrics["split"], "train");
    assert_eq!(metrics["views"].as_array().unwrap().len(), 10);
}

/// Ctrl-C saves and says how to go on; the resumed run ends in the same bytes as one never stopped.
#[cfg(unix)]
#[test]
fn an_interrupted_run_goes_on_bit_for_bit() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let flags = "--backend cpu --iterations 300 --max-gaussians 2000";
    let flags: Vec<&str> = flags.split(' ').collect();
    succeeds(&[&["train", photos(), "-o", text(&whole)][..], &flags].concat());

    // A checkpoint after every step leaves time to interrupt.
    let args = [
        &["train", photos(), "-o", text(&parts)][..],
        &flags,
        &["--checkpoint-every", "1"],
    ]
    .concat();
    let child = std::process::Command::new(program())
        .args(&args)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    while !parts.join("checkpoint.safetensors").exists() && started.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let killed = std::process::Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()
        .unwrap();
    assert!(killed.success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    let last = stderr.lines().last().unwrap_or_default();
    let command = format!("splatcore train {} -o {} --resume", photos(), text(&parts));
    assert!(
        last.starts_with("error: interrupted at step ") && last.ends_with(&command),
        "{stderr}"
    );
    assert!(!parts.join("scene.ply").exists());

    let resumed = format!("train {} -o {} --resume", photos(), text(&parts));
    let stderr = ends(&format!("{resumed} --iterations 301"), 1);
    assert_contains!(stderr, "iterations");

    // The command as printed; its settings are in the run's config.toml.
    let mut command: Vec<&str> = command.split(' ').skip(1).collect();
    command.extend(["--checkpoint-every", "0"]); // saving changes nothing but the time
    succeeds(&command);
    assert!(
        read(&whole, "scene.ply") == read(&parts, "scene.ply"),
        "the resumed run ends elsewhere"
    );
}

/// A limit ends a run with all its files; resumed without it, the run ends in the same bytes as one
/// never stopped.
#[test]
fn a_time_limit_ends_a_run_like_any_other() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let flags = "--backend cpu --iterations 400 --max-gaussians 1000 --threads 2";
    let flags: Vec<&str> = flags.split(' ').collect();
    succeeds(&[&["train", photos(), "-o", text(&whole)][..], &flags].concat());
    let metrics = |folder: &Path| json(&String::from_utf8(read(folder, "metrics.json")).unwrap());
    let full = metrics(&whole);
    assert!(
        full.get("stopped").is_none() && full["steps"] == 400,
        "{full}"
    );

    // A fifth of the time that the whole run took; less where the machine has become idle since.
    let mut limit = 0.2 * full["seconds"].as_f64().unwrap();
    let (stderr, stopped) = loop {
        let seconds = limit.to_string();
        let args = ["--overwrite", "--time-limit", &seconds];
        let run = [&["train", photos(), "-o", text(&parts)][..], &flags, &args].concat();
        let stderr = ends(&run, 0);
        let stopped = metrics(&parts);
        if stopped["steps"] != 400 || limit < 1e-3 {
            break (stderr, stopped);
        }
        limit /= 4.0;
    };
    let command = format!("splatcore train {} -o {} --resume", photos(), text(&parts));
    assert!(stderr.contains(&command), "{stderr}");
    assert_eq!(stopped["stopped"], "time limit");
    let steps = stopped["steps"].as_u64().unwrap();
    assert!((1..400).contains(&steps), "{stopped}");
    assert!(stopped["seconds"].as_f64().unwrap() >= limit, "{stopped}");
    let scene = parts.join("scene.ply");
    let again = json(&succeeds(&format!(
        "eval {} --dataset {} --json",
        text(&scene),
        photos()
    )));
    // Not to the last digit: eval uses all degrees of the harmonics, as the run did in the end.
    let gap = again["psnr"].as_f64().unwrap() - stopped["psnr"].as_f64().unwrap();
    assert!(gap.abs() < 1e-4, "{gap}");
    let html = String::from_utf8(read(&parts, "report.html")).unwrap();
    assert!(html.contains("time limit"));

    let mut command: Vec<&str> = command.split(' ').skip(1).collect();
    command.extend(["--threads", "2"]);
    succeeds(&command);
    assert!(metrics(&parts).get("stopped").is_none());
    assert!(
        read(&whole, "scene.ply") == read(&parts, "scene.ply"),
        "the resumed run ends elsewhere"
    );
}

/// The processor's results are the same bits with and without the flag, and a run may change it
/// when it is resumed.
#[test]
fn deterministic_is_a_setting() {
    let folder = tempfile::tempdir().unwrap();
    let (with, without) = (folder.path().join("with"), folder.path().join("without"));
    let run = |out: &Path, more: &[&str]| {
        let args = [
            "train",
            photos(),
            "-o",
            text(out),
            "--backend",
            "cpu",
            "--iterations",
            "5",
        ];
        succeeds(&[&args[..], more].concat());
    };
    run(&with, &["--deterministic"]);
    run(&without, &[]);
    assert!(read(&with, "scene.ply") == read(&without, "scene.ply"));
    let config = |folder: &Path| String::from_utf8(read(folder, "config.toml")).unwrap();
    assert!(
        config(&with).contains("deterministic = true")
            && config(&without).contains("deterministic = false")
    );
    run(&without, &["--resume", "--deterministic"]);
}

#[test]
fn the_demo_makes_a_dataset() {
    let folder = tempfile::tempdir().unwrap();
    let stdout = succeeds(&["demo", "--photos-only", "-o", text(folder.path())]);
    let photos = stdout.trim().strip_prefix("photos").unwrap().trim();
    let info = json(&succeeds(&["info", photos, "--json"]));
    assert!(
        info["images"].as_u64().unwrap() >= 40 && info["missing"] == 0,
        "{info}"
    );
}
