//! The device that a test runs on; `None`, with a line that says why, where there is none.

use crate::device::Device;
use crate::device::driver::Card;
use crate::device::emulated::Emulated;
use crate::device::nvrtc::{Nvrtc, nvrtc};
use std::sync::Arc;

/// What `SPLATCORE_TEST_DEVICE` asks for.
fn wish() -> String {
    std::env::var("SPLATCORE_TEST_DEVICE").unwrap_or_default()
}

/// What is there, or a line that says why it is not.
fn found<T, E: std::fmt::Display>(found: Result<T, E>) -> Option<T> {
    found
        .inspect_err(|error| eprintln!("skipped: {error}"))
        .ok()
}

/// The emulator.
pub fn emulator() -> Option<Arc<Emulated>> {
    found(Emulated::new()).map(Arc::new)
}

/// The emulator with its checks of memory accesses, or without whatever is asked for.
pub fn emulator_with(checks: bool) -> Option<Emulated> {
    found(Emulated::with_checks(checks))
}

/// NVRTC; `SPLATCORE_TEST_NVRTC=required` fails where it is missing.
pub fn compiler() -> Option<&'static Nvrtc> {
    match (nvrtc(), std::env::var_os("SPLATCORE_TEST_NVRTC")) {
        (Err(error), Some(_)) => panic!("{error}"),
        (compiler, _) => found(compiler),
    }
}

/// The emulator, as any device.
pub fn emulated() -> Option<Arc<dyn Device>> {
    emulator().map(|device| device as Arc<dyn Device>)
}

/// Whether [`device`] is a card.
pub fn is_card() -> bool {
    wish() == "card"
}

/// This machine's card if `SPLATCORE_TEST_DEVICE=card`, else the emulator.
pub fn device() -> Option<Arc<dyn Device>> {
    match is_card() {
        true => Some(Arc::new(Card::open(None).unwrap())),
        false => emulated(),
    }
}

/// A card with its compiler, unless `SPLATCORE_TEST_DEVICE` is `emulator`; if it is `card`, there
/// must be one.
pub fn card() -> Option<Arc<dyn Device>> {
    if wish() == "emulator" {
        return None;
    }
    let card = Card::open(None).map_err(|error| error.to_string());
    match card.and_then(|card| nvrtc().map(|_| card).map_err(|error| error.to_string())) {
        Ok(card) => Some(Arc::new(card)),
        Err(error) if wish() == "card" => panic!("{error}"),
        Err(error) => {
            eprintln!("no card ({error}); the kernels are emulated");
            None
        }
    }
}

/// A [`card`], else the emulator; and whether it is a card.
pub fn card_or_emulator() -> Option<(Arc<dyn Device>, bool)> {
    match card() {
        Some(card) => Some((card, true)),
        None => emulated().map(|device| (device, false)),
    }
}
