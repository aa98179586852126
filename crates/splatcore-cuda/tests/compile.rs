//! Every kernel in every variant compiles for every supported architecture. Needs libnvrtc, but no driver and no card.

use splatcore_cuda::device::nvrtc::nvrtc;
use splatcore_cuda::programs;

/// Turing, Ampere (data centre and consumer), Ada, Hopper, Blackwell (data centre and consumer).
const ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];

#[test]
fn every_kernel_compiles_for_every_architecture() {
    let nvrtc = match nvrtc() {
        Ok(nvrtc) => nvrtc,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    let known = nvrtc.architectures();
    let programs = programs::all();
    let mut failures = Vec::new();
    for architecture in ARCHITECTURES {
        if !known.contains(&architecture) {
            eprintln!(
                "skipped: NVRTC {:?} does not know sm_{architecture}",
                nvrtc.version
            );
            continue;
        }
        for program in &programs {
            match nvrtc.compile(program, architecture) {
                Ok(code) => assert!(!code.is_empty()),
                Err(error) => failures.push(error.to_string()),
            }
        }
    }
    eprintln!(
        "{} programs compiled by NVRTC {:?} from {}",
        programs.len(),
        nvrtc.version,
        nvrtc.path.display()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
