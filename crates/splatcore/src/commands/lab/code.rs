//! What a pipeline launches, and what it is compiled to.

use anyhow::Result;
use rayon::prelude::*;
use sha2::{Digest, Sha256};
use splatcore_core::Pipeline;
use splatcore_core::backend::RenderOptions;
use splatcore_cuda::device::cubin::Cubin;
use splatcore_cuda::device::{Program, Replacements, nvrtc};
use splatcore_cuda::dry_run::{DryRun, Workload};
use splatcore_cuda::ops::SOURCES;
use splatcore_lab::candidate::hex;
use splatcore_lab::evaluate::FrameKind;
use splatcore_lab::gates::machine_code::{self, Compiled, Kernel};
use splatcore_lab::{Gate, Rejection, Texts};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

/// The frame that is asked about if no other is named.
const USUAL: FrameKind = FrameKind {
    size: [1920, 1080],
    gaussians: 200_000,
};

/// The programs that these frames of a pipeline launch, and with `training` their gradients; those
/// of a usual frame if there are none. That is what gates look at and what is timed.
///
/// # Errors
/// If the pipeline cannot run, or a text declares what launches need in another way.
pub fn programs(
    pipeline: Pipeline,
    training: bool,
    capability: u32,
    changed: &Texts,
    frames: &[FrameKind],
) -> Result<Vec<Program>> {
    let render = RenderOptions {
        pipeline,
        ..RenderOptions::default()
    };
    let frames: &[FrameKind] = match frames {
        [] => &[USUAL],
        frames => frames,
    };
    let mut runs = Vec::new();
    for &FrameKind { size, gaussians } in frames {
        let frame = Workload::Frame(render.clone());
        runs.push(DryRun::new(frame, size, gaussians));
        if training {
            let gradients = Workload::Gradients(render.clone());
            runs.push(DryRun::new(gradients, size, gaussians));
        }
    }
    let mut all: Vec<Program> = Vec::new();
    for mut run in runs {
        run.capability = capability;
        let replaced = Replacements::new(changed.clone(), SOURCES);
        run.replacements = replaced.map_err(anyhow::Error::msg)?;
        for program in run.programs()? {
            if !all.contains(&program) {
                all.push(program);
            }
        }
    }
    Ok(all)
}

/// The kernel files of each program, by the program's name and constants.
///
/// # Errors
/// As [`programs`].
pub fn files_of_programs(
    pipeline: Pipeline,
    training: bool,
    capability: u32,
    changed: &Texts,
) -> Result<BTreeMap<String, Vec<String>>> {
    let programs = programs(pipeline, training, capability, changed, &[])?;
    let files = |program: &Program| {
        let files = program.files();
        files.iter().map(|(name, _)| (*name).to_owned()).collect()
    };
    Ok(programs
        .iter()
        .map(|program| (name(program), files(program)))
        .collect())
}

/// Compiles without a card, each text once: a candidate costs the programs that it changes, and
/// equal texts have equal code, though NVRTC may number registers in another way the next time.
#[derive(Default)]
pub struct Compiler {
    /// By the digest of text and compute capability. Lines of the text give the options.
    known: Mutex<HashMap<String, Coded>>,
}

/// A program's machine code: its digest, and what gates look at.
#[derive(Clone)]
struct Coded {
    digest: String,
    program: machine_code::Program,
}

impl Compiler {
    /// Compiles what frames of a pipeline launch; `None` without NVRTC.
    ///
    /// # Errors
    /// The rejection: it does not compile, or its launches cannot be told.
    pub fn compile(
        &self,
        changed: &Texts,
        pipeline: Pipeline,
        training: bool,
        capability: u32,
        frames: &[FrameKind],
    ) -> Result<Option<Compiled>, Rejection> {
        let programs = programs(pipeline, training, capability, changed, frames);
        let programs = programs.map_err(|error| refused(error.to_string()))?;
        if nvrtc::nvrtc().is_err() {
            return Ok(None);
        }
        let replacements = Replacements::new(changed.clone(), SOURCES).map_err(refused)?;
        let coded: Vec<(String, Coded)> = programs
            .par_iter()
            .map(|program| {
                let coded = self.coded(program, &replacements, capability)?;
                Ok((name(program), coded))
            })
            .collect::<Result<_, Rejection>>()?;
        let mut hasher = Sha256::new();
        for (name, coded) in &coded {
            hasher.update(format!("{name} {}\n", coded.digest));
        }
        Ok(Some(Compiled {
            code: hex(&hasher.finalize()),
            programs: coded.into_iter().map(|(n, c)| (n, c.program)).collect(),
        }))
    }

    fn coded(
        &self,
        program: &Program,
        replacements: &Replacements,
        capability: u32,
    ) -> Result<Coded, Rejection> {
        let source = program.clone().replaced(replacements.clone()).source();
        let key = hex(&Sha256::digest(format!("sm_{capability}\n{source}")));
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(coded) = known().get(&key) {
            return Ok(coded.clone());
        }
        let built = nvrtc::compile(program, replacements, capability);
        let built = built.map_err(|error| refused(error.to_string()))?;
        let cubin = Cubin::read(&built.cubin).map_err(|error| refused(error.to_string()))?;
        let coded = Coded {
            digest: cubin.digest.clone(),
            program: self::program(cubin),
        };
        // Somebody else may have compiled it meanwhile: the first result stays.
        Ok(known().entry(key).or_insert(coded).clone())
    }
}

fn refused(reason: String) -> Rejection {
    Rejection::new(Gate::Compile, reason)
}

fn name(program: &Program) -> String {
    let constants = program.constants.iter();
    let constants: String = constants
        .map(|(name, value)| format!(" {name}={value}"))
        .collect();
    format!("{}{constants}", program.name())
}

fn program(cubin: Cubin) -> machine_code::Program {
    let mut kernels = BTreeMap::new();
    for code in cubin.kernels {
        let mut mix: Vec<_> = code.mix.iter().filter(|(_, count)| *count > 0).collect();
        mix.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let mix: Vec<_> = mix
            .iter()
            .map(|(class, n)| format!("{n} {}", class.name()))
            .collect();
        kernels.insert(
            code.name,
            Kernel {
                registers: code.registers,
                most_threads: code.most_threads,
                stack_bytes: code.stack_bytes,
                shared_bytes: code.shared_bytes,
                instructions: code.mix.total(),
                mix: mix.join(", "),
                digest: code.digest,
            },
        );
    }
    machine_code::Program {
        kernels,
        writable: cubin
            .writable_globals
            .into_iter()
            .map(|(name, _)| name)
            .collect(),
        externals: cubin.externals,
    }
}
