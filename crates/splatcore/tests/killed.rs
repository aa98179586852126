//! A run that is killed outright at any moment, in the middle of a checkpoint too, loses what it did since the last
//! checkpoint and nothing else.
#![allow(clippy::unwrap_used)] // helpers of tests
#![cfg(unix)]

mod common;

use common::{photos, succeeds, text};
use splatcore_core::random::Rng;
use splatcore_train::Checkpoint;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Kills; every second one waits for a checkpoint in the making.
const KILLS: u32 = 24;
/// Enough that no leg between two kills comes to the end.
const STEPS: &str = "150";
/// So many Gaussians that writing takes longer than a step; the points are 400.
const GAUSSIANS: &str = "2000";

fn arguments<'a>(out: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let flags = [
        "train",
        photos(),
        "-o",
        text(out),
        "--backend",
        "cpu",
        "--threads",
        "1",
        "--iterations",
        STEPS,
        "--max-gaussians",
        GAUSSIANS,
        "--strategy",
        "mcmc",
        "--growth",
        "0.5",
        "--densify-from",
        "1",
        "--densify-every",
        "10",
        "--densify-until",
        "60",
        "--checkpoint-every",
        "1",
    ];
    [&flags[..], more].concat()
}

/// Files of the folder that are not yet complete.
fn unfinished(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let names = entries.flatten().map(|entry| entry.path());
    names
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| text(Path::new(name)).starts_with(".splatcore-"))
        })
        .collect()
}

/// Whether this came true before the child ended.
fn wait(child: &mut Child, mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() && start.elapsed() < Duration::from_secs(60) {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    false
}

#[test]
fn killed_at_any_moment_a_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    succeeds(&arguments(&whole, &[]));

    let checkpoint = parts.join("checkpoint.safetensors");
    let mut rng = Rng::new(11, 0);
    let (mut step, mut halves) = (0, 0);
    for kill in 0..KILLS {
        let more: &[&str] = match checkpoint.exists() {
            true => &["--resume"],
            false => &["--overwrite"],
        };
        let mut child = Command::new(env!("CARGO_BIN_EXE_splatcore"))
            .args(arguments(&parts, more))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A step at least, so that the legs get on.
        let old = std::fs::read(&checkpoint).ok();
        let got_on = wait(&mut child, || std::fs::read(&checkpoint).ok() != old);
        assert!(
            got_on,
            "kill {kill}: the run ended, or made no checkpoint in a minute"
        );
        let delay = Duration::from_micros((3000.0 * rng.uniform()) as u64);
        match kill % 2 {
            0 => std::thread::sleep(delay),
            _ => assert!(wait(&mut child, || !unfinished(&parts).is_empty())),
        }
        child.kill().unwrap(); // SIGKILL
        child.wait().unwrap();

        let left = unfinished(&parts).len();
        assert!(
            left <= 1,
            "kill {kill}: files of runs before were not cleared away"
        );
        halves += left;
        let found = Checkpoint::load(&checkpoint).unwrap_or_else(|error| panic!("kill {kill}: {error}"));
        assert!(
            found.step > step,
            "kill {kill}: from step {step} to {}",
            found.step
        );
        step = found.step;
    }
    // Else nothing was tried that could have gone wrong.
    assert!(
        halves >= KILLS as usize / 4,
        "only {halves} kills met a checkpoint in the making"
    );
    assert!(step < STEPS.parse().unwrap(), "a leg came to the end");

    succeeds(&arguments(&parts, &["--resume"]));
    assert_eq!(unfinished(&parts), Vec::<PathBuf>::new());
    let scene = |folder: &Path| std::fs::read(folder.join("scene.ply")).unwrap();
    assert!(scene(&whole) == scene(&parts), "the killed run ends elsewhere");
}
