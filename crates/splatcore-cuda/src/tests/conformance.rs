//! The conformance suite on the card of this machine, or on the emulator where there is none.
//!
//! `SPLATCORE_TEST_DEVICE=card` insists on a card, `emulator` on the emulator.
//! `SPLATCORE_CHECK=NAME` runs the check of that name, or, if there is none, those whose names
//! contain it; `SPLATCORE_LIST_CHECKS=1` prints their names instead, one a line after `check: `.

use crate::CudaBackend;
use crate::device::Device;
use crate::tests::support::device::card_or_emulator;
use crate::tests::support::side_by_side;
use splatcore_core::pipeline::Blend;
use splatcore_reference::conformance::{CHECKS, Check, depth, forward};
use std::sync::Arc;

/// A card, else the emulator; and how many checks may run at a time. The emulator runs different
/// kernels at the same time, and about half the work is the twin's.
fn device() -> Option<(Arc<dyn Device>, usize)> {
    let (device, is_card) = card_or_emulator()?;
    if is_card {
        eprintln!("device: {}", device.describe());
        return Some((device, 1));
    }
    Some((device, side_by_side::cores()))
}

/// Checks of images that are blended as if they were large, for which those of no check are large
/// enough. One blend alone asks for the size; images by others would be those of [`CHECKS`] again.
const LARGE: [Check; 2] = [
    ("large images", |backend| {
        forward::images_by(backend, Blend::Splatcore)
    }),
    ("depth of large images", |backend| {
        depth::inverse_depth_by(backend, Blend::Splatcore)
    }),
];

/// The names of all checks.
fn names() -> impl Iterator<Item = &'static str> {
    LARGE.iter().chain(CHECKS).map(|(name, _)| *name)
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
    let of_large = LARGE.iter().map(|check| (check, &large));
    let all = CHECKS.iter().map(|check| (check, &backend));
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
    let checks = all.chain(of_large).filter(|((name, _), _)| is_wanted(name));
    let failures = side_by_side::failures(checks, threads, |((name, check), backend)| {
        side_by_side::timed(name, || check(backend))
    });
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
