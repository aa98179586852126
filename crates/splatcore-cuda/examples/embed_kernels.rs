//! Compiles the kernels that a release carries and writes them to one file. `scripts/embed-kernels`
//! calls it with the right version of NVRTC. Needs no card.
//!
//! Usage: `cargo run --release -p splatcore-cuda --example embed_kernels -- FILE
//! [CAPABILITY ...]`, with compute capabilities such as 90; without any, all that are supported.

use rayon::prelude::*;
use splatcore_cuda::device::Program;
use splatcore_cuda::device::machine_code::Key;
use splatcore_cuda::device::machine_code::archive::{Compiled, Target, write};
use splatcore_cuda::device::nvrtc::nvrtc;
use splatcore_cuda::programs;
use std::error::Error;

/// Turing, Ampere (data centre and consumer), Ada, Hopper, Blackwell (data centre and consumer).
const CAPABILITIES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];
/// PTX for cards that are none of them: the kernels' text differs above 8.0 and above 9.0.
const PTX: [u32; 3] = [75, 80, 90];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let file = arguments
        .next()
        .ok_or("usage: embed_kernels FILE [CAPABILITY ...]")?;
    let mut capabilities: Vec<u32> = arguments
        .map(|text| text.parse())
        .collect::<Result<_, _>>()?;
    if capabilities.is_empty() {
        capabilities = CAPABILITIES.to_vec();
    }
    let programs = programs::built_in_programs();
    let machine = capabilities.iter().map(|&c| Target::MachineCode(c));
    let ptx = PTX.into_iter().filter(|c| capabilities.contains(c));
    let targets = machine.chain(ptx.map(Target::Ptx));
    let compiled: Vec<_> = targets
        .map(|target| Ok((target, compiled(&programs, target)?)))
        .collect::<Result<_, String>>()?;
    let (major, minor) = nvrtc()?.version;
    let bytes = write([major as u32, minor as u32], &compiled)?;
    std::fs::write(&file, &bytes).map_err(|error| format!("{file}: {error}"))?;
    eprintln!(
        "{file}: {} programs for {} targets by NVRTC {major}.{minor}, {:.1} MB",
        programs.len(),
        compiled.len(),
        bytes.len() as f64 / 1e6
    );
    Ok(())
}

fn compiled(programs: &[Program], target: Target) -> Result<Compiled, String> {
    eprintln!("compiling {} programs for {target:?}", programs.len());
    let nvrtc = nvrtc().map_err(|error| error.to_string())?;
    let compile = |program: &Program| {
        let code = match target {
            Target::MachineCode(capability) => nvrtc.compile(program, capability),
            Target::Ptx(capability) => nvrtc.ptx(program, capability),
        };
        let code = code.map_err(|error| error.to_string())?;
        Ok((Key::of(program)?, code))
    };
    programs.par_iter().map(compile).collect()
}
