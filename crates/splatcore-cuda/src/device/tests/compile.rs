//! Every kernel compiles for every supported architecture, for one of them in every variant. Needs
//! libnvrtc, but no driver and no card; SPLATCORE_TEST_NVRTC=required fails where it is missing.

use crate::device::Program;
use crate::device::cubin::{Class, Cubin, KernelCode};
use crate::device::nvrtc::nvrtc;
use crate::programs;
use rayon::prelude::*;

/// Turing, Ampere (data centre and consumer), Ada, Hopper, Blackwell (data centre and consumer).
const ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];
/// This one gets every variant; the others the last variant of each op, since no kernel asks for
/// the architecture.
const THOROUGH: u32 = 90;

/// Tables that are constant in C++ alone, and a byte of the compiler's own.
const TABLES: [&str; 6] = [
    "BEYOND_CUBIC",
    "SPLINE",
    "WEIGHTS",
    "WINDOW",
    // Of sines and cosines; NVRTC 13.0 keeps it where it could be written.
    "__cudart_i2opi_f",
    "_ZN26__nv_atomic_triv_cp_helperIjE5__valE",
];

/// What is wrong with compiled code: our kernels have no other memory of their own, call nobody,
/// and are made of instructions that the table of device/cubin/sass.rs holds.
fn wrong_code(code: &[u8], architecture: u32) -> Option<String> {
    let cubin = match Cubin::read(code) {
        Ok(cubin) => cubin,
        Err(error) => return Some(error.to_string()),
    };
    let unknown = |kernel: &KernelCode| kernel.mix.count(Class::Unknown) > 0;
    let is_right = cubin.capability == architecture
        && !cubin.kernels.is_empty()
        && cubin
            .writable_globals
            .iter()
            .all(|(name, _)| TABLES.contains(&&**name))
        && cubin.externals.is_empty()
        && !cubin.kernels.iter().any(unknown);
    (!is_right).then(|| format!("{cubin:?}"))
}

#[test]
fn every_kernel_compiles_for_every_architecture() {
    let nvrtc = match nvrtc() {
        Ok(nvrtc) => nvrtc,
        Err(error) => {
            assert!(
                std::env::var_os("SPLATCORE_TEST_NVRTC").is_none(),
                "{error}"
            );
            eprintln!("skipped: {error}");
            return;
        }
    };
    let known = nvrtc.architectures();
    let programs = programs::all_programs();
    let mut tasks = Vec::new();
    for architecture in ARCHITECTURES {
        if !known.contains(&architecture) {
            eprintln!(
                "skipped: NVRTC {:?} does not know sm_{architecture}",
                nvrtc.version
            );
            continue;
        }
        for (i, program) in programs.iter().enumerate() {
            let last = programs[i + 1..]
                .iter()
                .all(|later| later.name() != program.name());
            if last || architecture == THOROUGH {
                tasks.push((architecture, program));
            }
        }
    }
    let compile =
        |&(architecture, program): &(u32, &Program)| match nvrtc.compile(program, architecture) {
            Ok(code) => wrong_code(&code, architecture)
                .map(|words| format!("{} for sm_{architecture}: {words}", program.name())),
            Err(error) => Some(error.to_string()),
        };
    let failures: Vec<String> = tasks.par_iter().filter_map(compile).collect();
    eprintln!(
        "{} programs compiled by NVRTC {:?} from {}",
        tasks.len(),
        nvrtc.version,
        nvrtc.path.display()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A constant that a program's text does not read makes it compile, and fill the cache, once for
/// every value.
#[test]
fn every_constant_is_read() {
    for program in programs::all_programs() {
        let code: Vec<&str> = program
            .files()
            .iter()
            .flat_map(|(_, text)| text.lines())
            .map(|line| line.split("//").next().unwrap_or_default())
            .collect();
        for (name, _) in &program.constants {
            let is_read = code.iter().any(|line| {
                line.split(|c: char| !c.is_alphanumeric() && c != '_')
                    .any(|word| word == *name)
            });
            assert!(is_read, "{} does not read {name}", program.name());
        }
    }
}
