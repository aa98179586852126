//! Compiled code is read as nvdisasm reads it, and bytes that are none are refused. Comparisons
//! need NVRTC, and nvdisasm (NVDISASM, or on the path, or beside NVRTC).

use crate::device::Program;
use crate::device::cubin::{Class, Cubin, KernelCode, Mix, code, decode, inspect};
use crate::device::nvrtc::Nvrtc;
use crate::tests::support::device::compiler;
use crate::{ops, programs};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of planted.cu, for sm_90.
const PLANTED: &[u8] = include_bytes!("cubin/planted.cubin");

fn planted() -> Cubin {
    Cubin::read(PLANTED).unwrap()
}

fn kernel<'a>(cubin: &'a Cubin, name: &str) -> &'a KernelCode {
    let mut kernels = cubin.kernels.iter();
    kernels.find(|kernel| kernel.name == name).unwrap()
}

/// The numbers are those of `cuobjdump --dump-resource-usage` and of a count by hand in nvdisasm's
/// output.
#[test]
fn a_kernel_says_what_it_needs() {
    let cubin = planted();
    assert_eq!(cubin.capability, 90);
    let names: Vec<&str> = cubin.kernels.iter().map(|kernel| &*kernel.name).collect();
    assert_eq!(names, ["tidy", "untidy"]);
    let tidy = kernel(&cubin, "tidy");
    assert_eq!((tidy.registers, tidy.stack_bytes), (12, 0));
    assert_eq!((tidy.shared_bytes, tidy.constant_bytes), (1024, 536));
    assert_eq!((tidy.most_threads, tidy.barriers), (128, 1));
    assert_eq!(tidy.code_bytes, 640);
    let untidy = kernel(&cubin, "untidy");
    assert_eq!((untidy.stack_bytes, untidy.shared_bytes), (256, 0));
    assert_eq!((untidy.most_threads, untidy.barriers), (0, 0));
    let count = |class| tidy.mix.count(class);
    assert_eq!((count(Class::Special), count(Class::Barrier)), (1, 1));
    assert_eq!(
        (count(Class::SharedLoad), count(Class::SharedStore)),
        (2, 2)
    );
    assert_eq!((count(Class::GlobalLoad), count(Class::Atomic)), (2, 1));
    assert_eq!((count(Class::Shuffle), count(Class::Fma)), (1, 1));
    assert!(untidy.mix.count(Class::LocalLoad) > 0);
    assert!(untidy.mix.count(Class::LocalStore) > 0);
    assert_eq!(inspect(PLANTED).unwrap(), cubin.kernels);
}

#[test]
fn what_outlives_a_launch_and_what_comes_from_elsewhere_is_told() {
    let cubin = planted();
    let remembered = ("remembered".to_owned(), 4);
    assert!(cubin.writable_globals.contains(&remembered), "{cubin:?}");
    assert_eq!(cubin.externals, ["vprintf"]);
}

/// Numbers from a seed, the same on every machine.
fn numbers(mut state: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 33) as usize % below
    }
}

#[test]
fn any_bytes_are_read_or_refused() {
    let mut below = numbers(7);
    let mut refused = 0;
    for round in 0..20_000 {
        let mut bytes = PLANTED.to_vec();
        // The section headers and tables, where offsets and sizes are, more often than the rest.
        for _ in 0..1 + below(8) {
            let at = match below(3) {
                0 => below(64),
                1 => PLANTED.len() - 1 - below(2000),
                _ => below(PLANTED.len()),
            };
            bytes[at] = match below(3) {
                0 => 0xff,
                1 => 0,
                _ => below(256) as u8,
            };
        }
        if round % 4 == 0 {
            bytes.truncate(below(bytes.len()));
        }
        refused += usize::from(Cubin::read(&bytes).is_err());
    }
    assert!((5_000..20_000).contains(&refused), "{refused}");
    assert!(Cubin::read(&[]).is_err());
    assert!(Cubin::read(&std::fs::read(std::env::current_exe().unwrap()).unwrap()).is_err());
    assert!(Cubin::read(b".version 8.0\n.target sm_90\n").is_err());
}

fn planted_program(text: &'static str) -> Program {
    ops::program_of_text(("planted_here.cu", text), &["device.cuh"], vec![], &[])
}

const TEXT: &str = "extern \"C\" __global__ void twice(float *values) {\n    \
                    values[threadIdx.x] *= 2.0f;\n}\n";
const OTHER_NAMES: &str = "// Another text.\nextern \"C\" __global__ void twice(float *row) {\n\
                           \n    const u32 i = threadIdx.x;\n    row[i] = row[i] * 2.0f;\n}\n";
const OTHER_CODE: &str = "extern \"C\" __global__ void twice(float *values) {\n    \
                          values[threadIdx.x] *= 3.0f;\n}\n";

#[test]
fn equal_code_has_equal_digests() {
    let Some(nvrtc) = compiler() else { return };
    let digest = |text| {
        let cubin = nvrtc.compile(&planted_program(text), 90).unwrap();
        Cubin::read(&cubin).unwrap().digest
    };
    assert_eq!(digest(TEXT), digest(OTHER_NAMES));
    assert_ne!(digest(TEXT), digest(OTHER_CODE));
}

/// nvdisasm, or `None` with a line that says why.
fn nvdisasm(nvrtc: &Nvrtc) -> Option<PathBuf> {
    let beside = nvrtc.path.parent().and_then(Path::parent);
    let candidates = [
        std::env::var_os("NVDISASM").map(PathBuf::from),
        Some("nvdisasm".into()),
        beside.map(|folder| folder.join("bin/nvdisasm")),
    ];
    let answers = |path: &PathBuf| Command::new(path).arg("--version").output().is_ok();
    let found = candidates.into_iter().flatten().find(answers);
    if found.is_none() {
        eprintln!("skipped: nvdisasm was not found (PyPI: nvidia-cuda-nvdisasm; set NVDISASM)");
    }
    found
}

/// nvdisasm's words for a file, kernel by kernel: the instructions' names up to the first dot.
fn disassembled(nvdisasm: &Path, file: &Path) -> Vec<(String, Vec<String>)> {
    let output = Command::new(nvdisasm).arg("-c").arg(file).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let sections = text.split("//--------------------- .text.").skip(1);
    let name = |line: &str| {
        let (_, rest) = line.split_once("/*")?;
        let (_, words) = rest.split_once("*/")?;
        let mut words = words.split_whitespace().peekable();
        words.next_if(|word| word.starts_with('@'));
        Some(words.next()?.split(['.', ';']).next()?.to_owned())
    };
    sections
        .map(|section| {
            let kernel = section.split_whitespace().next().unwrap();
            let lines = section.lines().filter(|line| line.contains(';'));
            (kernel.to_owned(), lines.filter_map(name).collect())
        })
        .collect()
}

/// Instructions whose names differ by architecture, all of one class.
fn same(ours: &str, theirs: &str) -> bool {
    let kin = [["REDG", "RED"], ["ERRBAR", "CGAERRBAR"]];
    let is_kin = |names: &[&str; 2]| *names == [ours, theirs];
    ours == theirs || kin.iter().any(is_kin)
}

/// Programs with most kinds of instructions.
const COMPARED: [&str; 5] = [
    "bin_large_splats.cu",
    "blend_splatcore_inference.cu",
    "blend_tc_gs.cu",
    "loss.cu",
    "sort.cu",
];

#[test]
fn instructions_are_those_of_nvdisasm() {
    let Some(nvrtc) = compiler() else { return };
    let Some(nvdisasm) = nvdisasm(nvrtc) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let known = nvrtc.architectures();
    let programs = programs::all_programs();
    let tasks: Vec<(u32, &Program)> = [75, 90, 120]
        .into_iter()
        .filter(|architecture| known.contains(architecture))
        .flat_map(|architecture| {
            let last = |name| programs.iter().rfind(|program| program.root.0 == name);
            COMPARED.map(|name| (architecture, last(name).unwrap()))
        })
        .collect();
    let compared: usize = tasks
        .par_iter()
        .map(|&(architecture, program)| {
            let file = folder
                .path()
                .join(format!("{}-{architecture}", program.name()));
            let cubin = nvrtc.compile(program, architecture).unwrap();
            std::fs::write(&file, &cubin).unwrap();
            let what = format!("{} for sm_{architecture}", program.name());
            compare(&cubin, &disassembled(&nvdisasm, &file), &what)
        })
        .sum();
    assert!(compared > 20_000, "{compared}");
}

/// Compares each instruction; returns how many there are.
fn compare(cubin: &[u8], theirs: &[(String, Vec<String>)], what: &str) -> usize {
    let ours = Cubin::read(cubin).unwrap();
    assert_eq!(ours.kernels.len(), theirs.len(), "{what}");
    let mut compared = 0;
    for (name, theirs) in theirs {
        let kernel = kernel(&ours, name);
        let code = code(cubin, name).unwrap();
        assert_eq!(code.len(), 16 * theirs.len(), "{what}: {name}");
        for (instruction, theirs) in code.chunks_exact(16).zip(theirs) {
            let (mine, _) = decode(instruction, ours.capability);
            assert!(same(mine, theirs), "{what}: {name}: {mine} for {theirs}");
        }
        assert_eq!(kernel.mix.count(Class::Unknown), 0, "{what}: {name}");
        compared += theirs.len();
    }
    compared
}

#[test]
fn classes_are_all_counted() {
    for (place, class) in Class::ALL.into_iter().enumerate() {
        assert_eq!(class as usize, place, "{}", class.name());
    }
    assert_eq!(Mix::default().total(), 0);
    let mix = kernel(&planted(), "tidy").mix;
    assert_eq!(mix.iter().map(|(_, count)| count).sum::<u32>(), mix.total());
}
