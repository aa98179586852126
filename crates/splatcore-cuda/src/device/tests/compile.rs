//! Every kernel compiles for every supported architecture, for one of them with every pair of its
//! constants' values that occurs. Needs libnvrtc, but no driver and no card;
//! SPLATCORE_TEST_NVRTC=required fails where it is missing, SPLATCORE_TEST_NVRTC=all compiles every
//! variant.

use crate::device::Program;
use crate::device::cubin::{Class, Cubin, KernelCode};
use crate::programs;
use crate::tests::support::device::compiler;
use crate::tests::support::side_by_side;
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Turing, Ampere (data centre and consumer), Ada, Hopper, Blackwell (data centre and consumer).
const ARCHITECTURES: [u32; 7] = [75, 80, 86, 89, 90, 100, 120];
/// This one gets variants with all pairs of values; the others the last variant of each op, since
/// no kernel asks for the architecture.
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

/// The values of two of an op's constants, which are numbered; none where a variant has no such.
type Pair<'a> = [(usize, Option<&'a str>); 2];

/// Every pair of values that each of one op's programs holds.
fn pairs<'a>(variants: &[&'a Program]) -> Vec<HashSet<Pair<'a>>> {
    let names: BTreeSet<&str> = (variants.iter().flat_map(|program| &program.constants))
        .map(|(name, _)| *name)
        .collect();
    let of = |program: &&'a Program| {
        let value = |name| program.constants.iter().find(|(other, _)| *other == name);
        let values: Vec<_> = (names.iter().enumerate())
            .map(|(i, &name)| (i, value(name).map(|(_, value)| value.as_str())))
            .collect();
        let with = |i: usize| values[i..].iter().map(move |&other| (i, other));
        (0..values.len())
            .flat_map(with)
            .map(|(i, other)| [values[i], other])
            .collect()
    };
    variants.iter().map(of).collect()
}

/// Programs of one op which hold every pair of values that any of `variants` holds: the next one is
/// always that with the most pairs that are still missing. A mistake in a kernel that needs three
/// settings at once is left to the tests that run it.
fn covering<'a>(variants: &[&'a Program]) -> Vec<&'a Program> {
    let mut missing = pairs(variants);
    let mut chosen = Vec::new();
    while let Some(next) = (0..variants.len()).rev().max_by_key(|&i| missing[i].len()) {
        let covered = missing[next].clone();
        if covered.is_empty() && !chosen.is_empty() {
            break;
        }
        chosen.push(variants[next]);
        for pairs in &mut missing {
            pairs.retain(|pair| !covered.contains(pair));
        }
    }
    chosen
}

#[test]
fn few_variants_hold_every_pair_of_values() {
    let programs = programs::all_programs();
    let of_adam: Vec<&Program> = programs.iter().filter(|p| p.name() == "adam").collect();
    let chosen = covering(&of_adam);
    let all: HashSet<Pair> = pairs(&of_adam).into_iter().flatten().collect();
    let held: HashSet<Pair> = pairs(&chosen).into_iter().flatten().collect();
    assert!(all == held && 3 * chosen.len() < of_adam.len());
}

#[test]
fn every_kernel_compiles_for_every_architecture() {
    let Some(nvrtc) = compiler() else { return };
    let known = nvrtc.architectures();
    let programs = programs::all_programs();
    let mut ops: BTreeMap<&str, Vec<&Program>> = BTreeMap::new();
    for program in &programs {
        ops.entry(program.name()).or_default().push(program);
    }
    let every_variant = std::env::var("SPLATCORE_TEST_NVRTC").is_ok_and(|value| value == "all");
    let mut tasks = Vec::new();
    for architecture in ARCHITECTURES {
        if !known.contains(&architecture) {
            eprintln!(
                "skipped: NVRTC {:?} does not know sm_{architecture}",
                nvrtc.version
            );
            continue;
        }
        for variants in ops.values() {
            let few = match (architecture, every_variant) {
                (THOROUGH, true) => variants.clone(),
                (THOROUGH, false) => covering(variants),
                _ => variants[variants.len() - 1..].to_vec(),
            };
            tasks.extend(few.into_iter().map(|program| (architecture, program)));
        }
    }
    let compile = |&(architecture, program): &(u32, &Program)| {
        let code = nvrtc.compile(program, architecture);
        let wrong = code
            .map_err(|error| error.to_string())
            .map(|code| wrong_code(&code, architecture))?;
        let told = |words| format!("{} for sm_{architecture}: {words}", program.name());
        wrong.map_or(Ok(()), |words| Err(told(words)))
    };
    let failures = side_by_side::failures(tasks.iter(), side_by_side::cores(), compile);
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
