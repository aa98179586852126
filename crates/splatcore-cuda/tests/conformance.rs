//! The conformance suite on the card of this machine, or on the emulator where there is none.
//!
//! `SPLATCORE_TEST_DEVICE=card` insists on a card, `emulator` on the emulator.

use splatcore_cpu::conformance;
use splatcore_cuda::device::Device;
use splatcore_cuda::device::driver::Card;
use splatcore_cuda::device::emulated::Emulated;
use splatcore_cuda::{CudaBackend, device::nvrtc};
use std::sync::Arc;

/// A card, else the emulator, else `None` with a line that says why.
fn device() -> Option<Arc<dyn Device>> {
    let wish = std::env::var("SPLATCORE_TEST_DEVICE").unwrap_or_default();
    if wish != "emulator" {
        match Card::open(None)
            .map_err(|error| error.to_string())
            .and_then(|card| {
                nvrtc::nvrtc().map_err(|error| error.to_string())?;
                Ok(card)
            }) {
            Ok(card) => {
                eprintln!("device: {}", card.describe());
                return Some(Arc::new(card));
            }
            Err(error) if wish == "card" => panic!("{error}"),
            Err(error) => eprintln!("no card ({error}); the kernels are emulated"),
        }
    }
    match Emulated::new() {
        Ok(emulated) => Some(Arc::new(emulated)),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

#[test]
fn conformance_with_sums_in_fixed_order() {
    let Some(device) = device() else { return };
    let backend = CudaBackend::on(device, true);
    let only = std::env::var("SPLATCORE_CHECK").unwrap_or_default();
    let mut failures = Vec::new();
    for &(name, check) in conformance::CHECKS
        .iter()
        .filter(|(name, _)| name.contains(&only))
    {
        let start = std::time::Instant::now();
        let outcome = check(&backend);
        eprintln!(
            "{:6.1} s  {name}: {}",
            start.elapsed().as_secs_f64(),
            outcome.as_ref().err().map_or("ok", |e| e)
        );
        failures.extend(outcome.err().map(|error| format!("{name}: {error}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
