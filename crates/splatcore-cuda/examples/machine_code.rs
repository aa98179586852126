//! Writes the machine code of every program in every variant, one `.cubin` file each. Needs NVRTC,
//! no card. `scripts/compare-kernels` compares two such folders.
//!
//! Usage: `cargo run --release -p splatcore-cuda --example machine_code -- FOLDER [ARCHITECTURE]
//! [NAME...]`, with names of kernel files for their programs alone.

use rayon::prelude::*;
use splatcore_cuda::device::Program;
use splatcore_cuda::device::nvrtc::nvrtc;
use splatcore_cuda::programs;
use std::error::Error;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(
        arguments
            .next()
            .ok_or("usage: machine_code FOLDER [ARCHITECTURE]")?,
    );
    let architecture: u32 = arguments.next().map_or(Ok(90), |text| text.parse())?;
    std::fs::create_dir_all(&folder)?;
    let nvrtc = nvrtc()?;
    let names: Vec<String> = arguments.collect();
    let mut programs = programs::all_programs();
    programs.retain(|program| names.is_empty() || names.iter().any(|name| name == program.name()));
    // A file's name holds the constants in which the variants of a kernel file differ: with all of
    // them it would be longer than names may be.
    let differs = |program: &Program, constant| {
        let mut variants = programs.iter().filter(|other| other.root == program.root);
        variants.any(|other| !other.constants.contains(constant))
    };
    programs.par_iter().try_for_each(|program| {
        let constants = program.constants.iter();
        let constants: String = constants
            .filter(|constant| differs(program, constant))
            .map(|(name, value)| format!("-{name}={value}"))
            .collect();
        let code = nvrtc
            .compile(program, architecture)
            .map_err(|error| error.to_string())?;
        let path = folder.join(format!("{}{constants}.cubin", program.name()));
        std::fs::write(&path, code).map_err(|error| format!("{}: {error}", path.display()))
    })?;
    eprintln!("{} programs for sm_{architecture}", programs.len());
    Ok(())
}
