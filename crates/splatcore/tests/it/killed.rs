//! A run that is killed outright at any moment, in the middle of a checkpoint too, loses what it
//! did since the last checkpoint and nothing else.
#![cfg(unix)]

use crate::common::{Arguments, is_writing, photos, program, succeeds, text, unfinished};
use splatcore_core::random::Rng;
use splatcore_train::Checkpoint;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Kills at least; every second one waits for a checkpoint in the making.
const KILLS: u32 = 24;
/// So many of them must meet one, else nothing was tried that could have gone wrong.
const HALVES: usize = 6;
/// A busy machine can be late with every kill, but not for ever.
const MAX_LEGS: u32 = 200;
/// Enough that few legs between two kills come to the end.
const STEPS: &str = "150";
/// So many Gaussians that writing takes longer than a step; the points are 400.
const GAUSSIANS: &str = "2000";

fn arguments(out: &Path, more: &str) -> String {
    let train = format!(
        "train {} -o {} --backend cpu --threads 1",
        photos(),
        text(out)
    );
    let sizes = format!("--iterations {STEPS} --max-gaussians {GAUSSIANS}");
    let growth = "--strategy mcmc --growth 0.5 --densify-from 1 --densify-every 10";
    format!("{train} {sizes} {growth} --densify-until 60 --checkpoint-every 1 {more}")
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
    succeeds(&arguments(&whole, ""));

    let checkpoint = parts.join("checkpoint.safetensors");
    let mut rng = Rng::new(11, 0);
    // The step of the last checkpoint; 0 lets the run begin anew.
    let (mut step, mut legs, mut kills, mut halves) = (0, 0, 0, 0);
    while kills < KILLS || halves < HALVES {
        legs += 1;
        assert!(
            legs < MAX_LEGS,
            "only {halves} of {kills} kills met a checkpoint in the making"
        );
        let more = if step == 0 { "--overwrite" } else { "--resume" };
        let mut child = Command::new(program())
            .args(arguments(&parts, more).list())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // A step at least, so that the legs get on.
        let old = std::fs::read(&checkpoint).ok();
        let new = || std::fs::read(&checkpoint).is_ok_and(|now| old.as_ref() != Some(&now));
        let mut alive = wait(&mut child, new);
        let mut halved = false;
        let delay = Duration::from_micros((3000.0 * rng.uniform()) as u64);
        match kills % 2 {
            0 => std::thread::sleep(delay),
            _ => {
                let process = child.id();
                halved = alive && wait(&mut child, || is_writing(process, &parts));
                alive = halved;
            }
        }
        if !alive && let Some(status) = child.try_wait().unwrap() {
            assert!(
                status.success(),
                "after {kills} kills, the last at step {step}: {status}"
            );
            step = 0; // it came to the end
            continue;
        }
        assert!(alive, "after {kills} kills: no checkpoint in a minute");
        child.kill().unwrap(); // SIGKILL
        if child.wait().unwrap().success() {
            step = 0; // too late: it had come to the end just before
            continue;
        }
        kills += 1;

        let left = unfinished(&parts).len();
        assert!(
            left <= 1,
            "kill {kills}: files of runs before were not cleared away"
        );
        halves += usize::from(halved);
        let found =
            Checkpoint::load(&checkpoint).unwrap_or_else(|error| panic!("kill {kills}: {error}"));
        assert!(
            found.step > step,
            "kill {kills}: from step {step} to {}",
            found.step
        );
        step = found.step;
    }

    succeeds(&arguments(&parts, "--resume"));
    assert_eq!(unfinished(&parts), Vec::<PathBuf>::new());
    let scene = |folder: &Path| std::fs::read(folder.join("scene.ply")).unwrap();
    assert!(
        scene(&whole) == scene(&parts),
        "the killed run ends elsewhere"
    );
}
