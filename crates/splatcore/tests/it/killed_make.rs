//! `splatcore make` that is killed outright in each of its phases loses nothing.
#![cfg(unix)]

use crate::common::{program, succeeds};
use crate::fake_colmap::FakeColmap;
use crate::make::{SHORT, until};
use splatcore_core::random::Rng;
use splatcore_train::Checkpoint;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// What `make` does one after the other; after the last one it has ended.
const PHASES: [&str; 5] = ["features", "matching", "mapper", "training", "export"];

/// The phase that a `make` into `out` is in, of those in [`PHASES`]; none once all is done. From
/// its beginning until the matching begins it is in the first.
fn phase(fake: &FakeColmap, out: &Path) -> usize {
    let has = |name: &str| out.join(name).is_file();
    let calls = std::fs::read_to_string(fake.at("calls")).unwrap_or_default();
    match calls.lines().last() {
        _ if has("page.html") => PHASES.len(),
        _ if has("run/scene.ply") => 4,
        _ if has("run/config.toml") => 3,
        Some("mapper") => 2,
        Some("exhaustive_matcher") => 1,
        _ => 0,
    }
}

/// How far a `make` is: phases of the cameras, step of the training, what is complete.
type Done = (usize, u32, bool, bool);

fn done(out: &Path) -> Done {
    let poses = std::fs::read_to_string(out.join("dataset/poses.json")).unwrap_or_default();
    let poses: serde_json::Value = serde_json::from_str(&poses).unwrap_or_default();
    let phases = [
        poses["extracted"] == true,
        !poses["matched"].is_null(),
        !poses["finished"].is_null(),
    ];
    let checkpoint = out.join("run/checkpoint.safetensors");
    let step = match checkpoint.is_file() {
        true => Checkpoint::load(&checkpoint).unwrap().step,
        false => 0,
    };
    (
        phases.iter().filter(|phase| **phase).count(),
        step,
        out.join("run/report.html").is_file(),
        out.join("page.html").is_file(),
    )
}

/// Files that are not complete, below a folder.
fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(".splatcore-") {
            found.push(path);
        } else if path.is_dir() {
            found.extend(unfinished(&path));
        }
    }
    found
}

fn begin(fake: &FakeColmap, out: &Path) -> Child {
    fake.calls();
    Command::new(program())
        .args(fake.make(out, &SHORT))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Runs `make` without a kill; gives what its phases took.
fn whole(fake: &FakeColmap, out: &Path) -> [Duration; PHASES.len()] {
    let mut child = begin(fake, out);
    let mut begun = [Instant::now(); PHASES.len() + 1];
    let mut current = 0;
    until("an undisturbed run ends", || {
        let now = phase(fake, out);
        (current + 1..=now).for_each(|entered| begun[entered] = Instant::now());
        current = current.max(now);
        child.try_wait().unwrap().is_some()
    });
    assert!(child.wait().unwrap().success());
    assert_eq!(current, PHASES.len());
    std::array::from_fn(|phase| begun[phase + 1] - begun[phase])
}

/// Kills `make`, `each` times in each phase from its beginning to its end, and begins another one,
/// until it was killed so often.
fn kill(kills: usize, each: usize, seed: u64) {
    let fake = FakeColmap::new("0.02");
    let out = fake.at("whole");
    let took = whole(&fake, &out);
    let scene = std::fs::read(out.join("run/scene.ply")).unwrap();
    let mut rng = Rng::new(seed, 0);
    let mut met = [0; PHASES.len()];
    let mut lives = 0;
    while met.iter().sum::<usize>() < kills {
        let life = lives;
        lives += 1;
        assert!(life < kills, "{met:?}");
        let out = fake.at(&format!("out {life}"));
        let mut before = done(&out);
        for kill in 0..each * PHASES.len() {
            let target = kill / each;
            let mut child = begin(&fake, &out);
            until(PHASES[target], || phase(&fake, &out) >= target);
            // What is left to do is less than the phase: earlier moments more often.
            let share = f64::from(rng.uniform()).powi(2);
            std::thread::sleep(took[target].mul_f64(share));
            let within = phase(&fake, &out);
            child.kill().unwrap(); // SIGKILL
            if !child.wait().unwrap().success() {
                met[within.min(PHASES.len() - 1)] += 1;
            }
            until("the other program ends too", || {
                !cfg!(target_os = "linux") || !fake.runs()
            });
            let now = done(&out);
            let where_ = format!("life {life}, killed in {}", PHASES[target]);
            assert!(now >= before, "{where_}: from {before:?} back to {now:?}");
            before = now;
        }
        succeeds(&fake.make(&out, &SHORT));
        let ended = std::fs::read(out.join("run/scene.ply")).unwrap();
        assert!(ended == scene, "life {life} ends with another scene");
        assert!(out.join("page.html").is_file());
        assert_eq!(unfinished(&out), Vec::<PathBuf>::new());
    }
    let all: usize = met.iter().sum();
    eprintln!("{all} kills, {lives} ends with the same scene; in {PHASES:?}: {met:?}");
    // Some come later than meant.
    let fewest = kills / PHASES.len() / 3;
    assert!(met.iter().all(|met| *met >= fewest), "{met:?}");
}

#[test]
fn killed_in_each_phase_make_goes_on() {
    kill(4, 1, 5);
}

/// Run by hand: `cargo test --release -p splatcore --test it killed_a_hundred -- --ignored
/// --nocapture`.
#[test]
#[ignore = "takes one to two minutes"]
fn killed_a_hundred_times_make_loses_nothing() {
    kill(100, 2, 6);
}
