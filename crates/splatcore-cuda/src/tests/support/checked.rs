//! The emulator with its checks of memory accesses.

use crate::device::emulated::Emulated;

/// `None` with a line that says why if there is none.
pub fn checked() -> Option<Emulated> {
    match Emulated::with_checks(true) {
        Ok(device) => Some(device),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}
