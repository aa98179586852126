//! Reads compiled code without a card: what each kernel needs, what it is made of, and whether two
//! are the same.

mod elf;
mod sass;

pub use elf::CubinError;
#[cfg(test)]
pub(in crate::device) use sass::decode;
pub use sass::{Class, Mix};

use elf::{Elf, Section, broken, u16_at, u32_at};
use sha2::{Digest, Sha256};

/// A kernel's machine code and what it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelCode {
    /// The function's name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread's stack: spilled registers and arrays that are indexed.
    pub stack_bytes: u32,
    /// Bytes of shared memory that a block declares. From compute capability 8.0 on the system
    /// takes 1 KiB more.
    pub shared_bytes: u32,
    /// Bytes of the constant bank that holds the parameters.
    pub constant_bytes: u32,
    /// The most threads of a block, by `__launch_bounds__`; 0 if there are none.
    pub most_threads: u32,
    /// Barriers of a block.
    pub barriers: u32,
    /// Bytes of the machine code.
    pub code_bytes: u32,
    /// Instructions by class, each counted once wherever it stands; those behind the end are left
    /// out.
    pub mix: Mix,
    /// SHA-256 of the machine code and of all numbers above, in hexadecimal. Names, debug lines and
    /// places in the file are left out.
    pub digest: String,
}

/// A compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cubin {
    /// Compute capability, major * 10 + minor.
    pub capability: u32,
    /// By name.
    pub kernels: Vec<KernelCode>,
    /// What outlives a launch and could be written: variables, tables that are constant in C++
    /// only, and the texts of `printf`; name and bytes. A candidate may have those that the
    /// built-in program has.
    pub writable_globals: Vec<(String, u64)>,
    /// Functions and variables that the program takes from elsewhere, as `vprintf`.
    pub externals: Vec<String>,
    /// SHA-256 of all kernels' names and digests and of all constant data, in hexadecimal: equal
    /// for two programs that do the same by the same instructions.
    pub digest: String,
}

/// The kernels of a compiled program, by name.
///
/// # Errors
/// If the bytes are not the output of NVRTC for a card.
pub fn inspect(cubin: &[u8]) -> Result<Vec<KernelCode>, CubinError> {
    Cubin::read(cubin).map(|cubin| cubin.kernels)
}

/// What a kernel's section is called in front of the kernel's name.
const TEXT: &str = ".text.";
/// What symbols are called that stand for shared memory of the system's.
const RESERVED: &str = ".nv.reserved";
/// Bytes that the system has at the start of a block's shared memory, if a symbol says so.
const SYSTEM_BYTES: u32 = 1024;

impl Cubin {
    /// Reads a compiled program.
    ///
    /// # Errors
    /// If the bytes are not the output of NVRTC for a card.
    pub fn read(bytes: &[u8]) -> Result<Self, CubinError> {
        let elf = Elf::read(bytes)?;
        let mut kernels = Vec::new();
        for (number, section) in elf.sections.iter().enumerate() {
            if let Some(name) = section.name.strip_prefix(TEXT) {
                kernels.push(kernel(&elf, name, number)?);
            }
        }
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        let mut hasher = Sha256::new();
        for kernel in &kernels {
            hasher.update(format!("{} {}\n", kernel.name, kernel.digest));
        }
        for (number, section) in elf.sections.iter().enumerate() {
            if is_data(section) {
                hasher.update(format!("{} {}\n", section.name, section.bytes));
                hasher.update(section.data);
                hasher.update(elf.relocations(number));
            }
        }
        Ok(Self {
            capability: capability(elf.flags),
            kernels,
            writable_globals: writable_globals(&elf),
            externals: externals(&elf),
            digest: hexadecimal(hasher),
        })
    }
}

/// A kernel's machine code, for a comparison with another reader's.
#[cfg(test)]
pub(in crate::device) fn code<'a>(bytes: &'a [u8], kernel: &str) -> Option<&'a [u8]> {
    let sections = Elf::read(bytes).ok()?.sections;
    let mut sections = sections.into_iter();
    let found = sections.find(|section| section.name.strip_prefix(TEXT) == Some(kernel));
    found.map(|section| section.data)
}

fn hexadecimal(hasher: Sha256) -> String {
    let digest = hasher.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The architecture's number lies in the second byte of the flags, in older files in the first.
fn capability(flags: u32) -> u32 {
    match flags >> 8 & 0xff {
        0..50 => flags & 0xff,
        number => number,
    }
}

/// Memory of blocks, which no kernel sees again, and copies of sections for the loader.
fn is_no_memory(section: &Section) -> bool {
    section.name.starts_with(".nv.shared") || section.name.starts_with(".nv.merc")
}

/// Constants and variables, but no parameters.
fn is_data(section: &Section) -> bool {
    let is_constant =
        section.name.starts_with(".nv.constant") && !section.name.starts_with(".nv.constant0.");
    is_constant || section.is_writable() && !is_no_memory(section)
}

fn writable_globals(elf: &Elf) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for (number, section) in elf.sections.iter().enumerate() {
        if !section.is_writable() || is_no_memory(section) {
            continue;
        }
        let named = elf
            .symbols
            .iter()
            .filter(|symbol| symbol.section == number && symbol.bytes != 0)
            .map(|symbol| (symbol.name.to_owned(), symbol.bytes));
        let before = found.len();
        found.extend(named);
        if found.len() == before {
            found.push((section.name.to_owned(), section.bytes));
        }
    }
    found
}

fn externals(elf: &Elf) -> Vec<String> {
    let symbols = elf.symbols.iter();
    let mut names: Vec<String> = symbols
        .filter(|symbol| symbol.section == 0 && !symbol.name.is_empty())
        .filter(|symbol| !symbol.name.starts_with(RESERVED))
        .map(|symbol| symbol.name.to_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

fn kernel(elf: &Elf, name: &str, number: usize) -> Result<KernelCode, CubinError> {
    let section = &elf.sections[number];
    let code = section.data;
    if code.is_empty() || !code.len().is_multiple_of(sass::INSTRUCTION_BYTES) {
        return broken("a kernel's instructions are cut off");
    }
    let find = |prefix: &str| {
        let mut sections = elf.sections.iter();
        sections.find(|section| section.name.strip_prefix(prefix) == Some(name))
    };
    let bytes_of = |prefix| find(prefix).map_or(0, |section| small(section.bytes));
    let symbol = elf
        .symbols
        .iter()
        .position(|symbol| symbol.section == number && symbol.name == name);
    let Some(symbol) = symbol else {
        return broken("a kernel has no symbol");
    };
    let mut needs = Needs::default();
    for section in &elf.sections {
        if section.name == ".nv.info" {
            needs.read_shared(section.data, symbol as u32);
        }
    }
    if let Some(section) = find(".nv.info.") {
        needs.read_own(section.data);
    }
    let mut found = KernelCode {
        name: name.to_owned(),
        registers: needs.registers,
        stack_bytes: needs.stack_bytes,
        shared_bytes: shared_bytes(elf, bytes_of(".nv.shared.")),
        constant_bytes: bytes_of(".nv.constant0."),
        most_threads: needs.most_threads,
        barriers: needs.barriers,
        code_bytes: small(section.bytes),
        mix: Mix::of(code, capability(elf.flags)),
        digest: String::new(),
    };
    let mut hasher = Sha256::new();
    let numbers = [
        found.registers,
        found.stack_bytes,
        found.shared_bytes,
        found.constant_bytes,
        found.most_threads,
        found.barriers,
    ];
    hasher.update(format!("{} {numbers:?}\n", capability(elf.flags)));
    hasher.update(code);
    hasher.update(elf.relocations(number));
    found.digest = hexadecimal(hasher);
    Ok(found)
}

/// Of a section's bytes those that the kernel declares.
fn shared_bytes(elf: &Elf, section_bytes: u32) -> u32 {
    let mut symbols = elf.symbols.iter();
    match symbols.any(|symbol| symbol.name.starts_with(RESERVED)) {
        true => section_bytes.saturating_sub(SYSTEM_BYTES),
        false => section_bytes,
    }
}

fn small(bytes: u64) -> u32 {
    bytes.try_into().unwrap_or(u32::MAX)
}

/// What `.nv.info` and `.nv.info.KERNEL` say.
#[derive(Default)]
struct Needs {
    registers: u32,
    stack_bytes: u32,
    most_threads: u32,
    barriers: u32,
}

/// Attributes of `.nv.info`: registers and bytes of the stack frame of a symbol.
const REGISTERS: u8 = 0x2f;
const FRAME: u8 = 0x11;
/// Attributes of `.nv.info.KERNEL`: threads of a block in three directions, barriers.
const MAX_THREADS: u8 = 0x05;
const BARRIERS: u8 = 0x4c;

impl Needs {
    fn read_shared(&mut self, info: &[u8], symbol: u32) {
        for (attribute, value) in attributes(info) {
            if u32_at(value, 0) != Some(symbol) {
                continue;
            }
            let number = u32_at(value, 4).unwrap_or(0);
            match attribute {
                REGISTERS => self.registers = number,
                FRAME => self.stack_bytes = number,
                _ => {}
            }
        }
    }

    fn read_own(&mut self, info: &[u8]) {
        for (attribute, value) in attributes(info) {
            match attribute {
                MAX_THREADS => {
                    let sides = [0, 4, 8].map(|at| u32_at(value, at).unwrap_or(1));
                    self.most_threads = sides.into_iter().fold(1, u32::saturating_mul);
                }
                BARRIERS => self.barriers = value.first().copied().unwrap_or(0).into(),
                _ => {}
            }
        }
    }
}

/// The attributes of an info section: number and value. A value has a size of its own (format 4)
/// or is two bytes.
fn attributes(info: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = info;
    std::iter::from_fn(move || {
        let (&format, &attribute) = (rest.first()?, rest.get(1)?);
        let word = usize::from(u16_at(rest, 2)?);
        let (start, end) = match format {
            4 => (4, 4 + word),
            _ => (2, 4),
        };
        let value = rest.get(start..end)?;
        rest = &rest[end..];
        Some((attribute, value))
    })
}
