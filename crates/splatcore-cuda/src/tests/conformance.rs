//! The conformance suite on the card of this machine, or on the emulator where there is none.
//!
//! `SPLATCORE_TEST_DEVICE=card` insists on a card, `emulator` on the emulator.
//! `SPLATCORE_CHECK=NAME` runs the check of that name, or, if there is none, those whose names
//! contain it; `SPLATCORE_LIST_CHECKS=1` prints their names instead, one a line after `check: `.

use crate::CudaBackend;
use crate::device::Device;
use crate::tests::support::device::card_or_emulator;
use splatcore_reference::conformance;
use std::sync::{Arc, Mutex};

/// A card, else the emulator; and how many checks may run at a time. The emulator runs different
/// kernels at the same time, and about half the work is the twin's.
fn device() -> Option<(Arc<dyn Device>, usize)> {
    let (device, is_card) = card_or_emulator()?;
    if is_card {
        eprintln!("device: {}", device.describe());
        return Some((device, 1));
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    Some((device, threads))
}

/// What the images of no check are large enough for: its name, and the check that is taken as if
/// they were.
const LARGE: [(&str, &str); 2] = [
    ("large images", "images match the twin"),
    ("depth of large images", "inverse depth matches the twin"),
];

/// The names of all checks; those of [`LARGE`] first, as they take longest.
fn names() -> impl Iterator<Item = &'static str> {
    let all = conformance::CHECKS.iter().map(|(name, _)| *name);
    LARGE.iter().map(|(name, _)| *name).chain(all)
}

#[test]
fn conformance_with_sums_in_fixed_order() {
    if std::env::var_os("SPLATCORE_LIST_CHECKS").is_some() {
        names().for_each(|name| println!("check: {name}"));
        return;
    }
    let Some((device, threads)) = device() else {
        return;
    };
    let backend = CudaBackend::on(device, true);
    let large = backend.clone().with_large_images_from(0);
    let all = conformance::CHECKS
        .iter()
        .map(|&(name, check)| (name, check, &backend));
    let of_large = LARGE.iter().map(|&(name, plain)| {
        let (_, check) = conformance::CHECKS
            .iter()
            .find(|(known, _)| *known == plain)
            .expect("a check of this name");
        (name, *check, &large)
    });
    let only = std::env::var("SPLATCORE_CHECK").unwrap_or_default();
    assert!(
        names().any(|name| name.contains(&only)),
        "SPLATCORE_CHECK={only}: no check is called so; SPLATCORE_LIST_CHECKS=1 prints the names"
    );
    let is_name = names().any(|name| name == only);
    let is_wanted = |name: &str| {
        if is_name {
            name == only
        } else {
            name.contains(&only)
        }
    };
    let checks = Mutex::new(of_large.chain(all).filter(|(name, ..)| is_wanted(name)));
    let failures = Mutex::new(Vec::new());
    // Threads of their own: one of rayon's could begin a second check while it waits in the first.
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let next = checks
                        .lock()
                        .expect("no check panics under the lock")
                        .next();
                    let Some((name, check, backend)) = next else {
                        break;
                    };
                    let start = std::time::Instant::now();
                    let outcome = check(backend);
                    eprintln!(
                        "{:6.1} s  {name}: {}",
                        start.elapsed().as_secs_f64(),
                        outcome.as_ref().err().map_or("ok", |e| e)
                    );
                    let failure = outcome.err().map(|error| format!("{name}: {error}"));
                    failures
                        .lock()
                        .expect("no check panics under the lock")
                        .extend(failure);
                }
            });
        }
    });
    let failures = failures
        .into_inner()
        .expect("a check that panics ends the test");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
