//! The device that a test runs on; `None`, with a line that says why, where there is none.

use crate::device::Device;
use crate::device::driver::Card;
use crate::device::emulated::Emulated;
use crate::device::nvrtc::nvrtc;
use std::sync::Arc;

/// What `SPLATCORE_TEST_DEVICE` asks for.
fn wish() -> String {
    std::env::var("SPLATCORE_TEST_DEVICE").unwrap_or_default()
}

/// The emulator.
pub fn emulator() -> Option<Arc<Emulated>> {
    match Emulated::new() {
        Ok(device) => Some(Arc::new(device)),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
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

/// A card if there is one and `SPLATCORE_TEST_DEVICE` is not `emulator`, else the emulator; and
/// whether it is a card.
pub fn card_or_emulator() -> Option<(Arc<dyn Device>, bool)> {
    if wish() != "emulator" {
        let card = Card::open(None).map_err(|error| error.to_string());
        match card.and_then(|card| nvrtc().map(|_| card).map_err(|error| error.to_string())) {
            Ok(card) => return Some((Arc::new(card), true)),
            Err(error) if wish() == "card" => panic!("{error}"),
            Err(error) => eprintln!("no card ({error}); the kernels are emulated"),
        }
    }
    emulated().map(|device| (device, false))
}
