//! A viewer under what a day of use brings and worse, while a run trains: the run ends with the
//! bits of an unwatched one, and the program keeps its memory, threads and sockets.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `SPLATCORE_SOAK_STEPS` | steps of training |
//! | `SPLATCORE_SOAK_SECONDS` | how long browsers go on at least |
//! | `SPLATCORE_SOAK_OUT` | a new JSON file for the numbers |

mod clients;
mod samples;

use crate::common::{photos, succeeds, text};
use crate::view::Program;
use clients::{Client, Kind, Tally};
use samples::{Samples, judge};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Browsers at a time, and what each of them does over and over; the server takes 16.
const BROWSERS: [Kind; 11] = [
    Kind::Ordinary,
    Kind::Ordinary,
    Kind::Ordinary,
    Kind::Ordinary,
    Kind::Ordinary,
    Kind::Ordinary,
    Kind::Cut,
    Kind::Cut,
    Kind::Slow,
    Kind::Malformed,
    Kind::Silent,
];
/// A run that is watched takes no longer than so many times its time, on a busy machine.
const LONGEST: Duration = Duration::from_secs(3600);

/// A number from the environment.
fn setting(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |value| value.parse().unwrap())
}

/// Words of a training whose Gaussians keep their number, so that only viewing can grow.
fn training(out: &Path, steps: u64, more: &[&str]) -> Vec<String> {
    let steps = steps.to_string();
    let words = ["train", photos(), "-o", text(out), "--iterations", &steps];
    let fixed = ["--backend", "cpu", "--threads", "1", "--densify-until", "0"];
    let all = words.iter().chain(&fixed).chain(more);
    all.map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_day_of_browsers_leaves_nothing_behind() {
    let steps = setting("SPLATCORE_SOAK_STEPS", 700);
    let seconds = Duration::from_secs(setting("SPLATCORE_SOAK_SECONDS", 3));
    let folder = tempfile::tempdir().unwrap();
    let (seen, unseen) = (folder.path().join("seen"), folder.path().join("unseen"));
    succeeds(&training(&unseen, steps, &[]));

    let view = ["--view", "--no-browser", "--view-share", "0.5"];
    let program = Program::start(&training(&seen, steps, &view));
    let mut samples = Samples::of(program.child.id());
    let before = samples.look();
    let tally = Arc::new(Tally::default());
    let begun = Instant::now();
    std::thread::scope(|scope| {
        for (seed, kind) in (0..).zip(BROWSERS) {
            let client = Client::new(&program, kind, seed, Arc::clone(&tally));
            scope.spawn(move || client.go_on());
        }
        while tally.failure().is_none() && (begun.elapsed() < seconds || !tally.ended()) {
            assert!(begun.elapsed() < LONGEST, "the run does not end");
            std::thread::sleep(Duration::from_millis(50));
            samples.look();
            if !tally.ended() {
                samples.training = samples.all.len();
            }
        }
        tally.stop();
    });
    let took = begun.elapsed().as_secs_f64();
    assert_eq!(tally.failure(), None, "{tally:?}");
    let after = samples.settle(before.sockets);
    assert!(after.sockets <= before.sockets, "{before:?} {after:?}");

    let read = |run: &Path| std::fs::read(run.join("scene.ply")).unwrap();
    assert!(read(&seen) == read(&unseen), "viewing changed the result");
    assert_eq!(program.interrupt(), Some(0));

    let (memory, threads) = judge(&samples, before.threads, BROWSERS.len());
    let (memory, threads) = (memory.unwrap(), threads.unwrap());
    assert!(tally.is_broad(), "too little happened: {tally:?}");
    if let Some(out) = std::env::var_os("SPLATCORE_SOAK_OUT") {
        let report = serde_json::json!({
            "seconds": took, "steps": steps, "browsers": BROWSERS.len(), "counts": tally.counts(),
            "memory_mib": memory, "threads": threads, "sockets": [before.sockets, after.sockets],
            "samples": samples.thinned(),
        });
        std::fs::write(out, serde_json::to_string_pretty(&report).unwrap() + "\n").unwrap();
    }
}
