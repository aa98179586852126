//! The device of tests that may run on a card: this machine's if `SPLATCORE_TEST_DEVICE=card`, else
//! the emulator.

use crate::device::Device;
use crate::device::driver::Card;
use crate::device::emulated::Emulated;
use std::sync::Arc;

/// `None`, with a line that says why, where there is neither.
pub fn device() -> Option<Arc<dyn Device>> {
    if std::env::var("SPLATCORE_TEST_DEVICE").is_ok_and(|wish| wish == "card") {
        return Some(Arc::new(Card::open(None).unwrap()));
    }
    match Emulated::new() {
        Ok(device) => Some(Arc::new(device)),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}
