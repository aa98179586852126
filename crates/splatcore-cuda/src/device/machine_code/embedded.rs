//! Kernels that are built into this program, if it was built with `SPLATCORE_EMBEDDED_KERNELS`
//! naming a file of `scripts/embed-kernels`. They need neither NVRTC nor its cache.

use super::archive::{Archive, Block, Target};
use super::key::Key;
use std::collections::HashMap;
use std::sync::OnceLock;

/// Empty if nothing is built in.
static FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernels.bin"));

/// The variable that, set to 0, has every kernel compiled by NVRTC.
const VARIABLE: &str = "SPLATCORE_EMBEDDED";
/// The variable that asks for line numbers in machine code, which built-in code does not have.
const LINE_INFO: &str = "SPLATCORE_LINEINFO";

/// A block, unpacked when it is first asked for.
struct Lazy {
    block: Block<'static>,
    codes: OnceLock<HashMap<Key, Vec<u8>>>,
}

struct Embedded {
    compiler: [u32; 2],
    blocks: Vec<Lazy>,
}

/// What is built in. A damaged file counts as none: then there is NVRTC, or its error.
fn embedded() -> Option<&'static Embedded> {
    static READ: OnceLock<Option<Embedded>> = OnceLock::new();
    let read = || {
        let is_off = std::env::var_os(VARIABLE).is_some_and(|value| value == "0");
        if is_off || std::env::var_os(LINE_INFO).is_some() {
            return None;
        }
        let archive = Archive::read(FILE).ok()?;
        let lazy = |block| Lazy {
            block,
            codes: OnceLock::new(),
        };
        Some(Embedded {
            compiler: archive.compiler,
            blocks: archive.blocks.into_iter().map(lazy).collect(),
        })
    };
    READ.get_or_init(read).as_ref()
}

/// The code of the newest target of this kind that serves a card.
fn find(key: Key, capability: u32, is_wanted: fn(Target) -> bool) -> Option<Vec<u8>> {
    let serving = embedded()?.blocks.iter().filter(|lazy| {
        let target = lazy.block.target;
        is_wanted(target) && target.serves(capability)
    });
    let newest = serving.max_by_key(|lazy| lazy.block.target)?;
    let unpack = || newest.block.unpack().unwrap_or_default();
    newest.codes.get_or_init(unpack).get(&key).cloned()
}

/// Machine code of a program for a compute capability.
pub fn machine_code(key: Key, capability: u32) -> Option<Vec<u8>> {
    find(key, capability, |t| matches!(t, Target::MachineCode(_)))
}

/// PTX of a program that a card of this compute capability can run.
pub fn ptx(key: Key, capability: u32) -> Option<Vec<u8>> {
    find(key, capability, |t| matches!(t, Target::Ptx(_)))
}

/// Whether nothing is built in.
pub fn is_empty() -> bool {
    embedded().is_none_or(|embedded| embedded.blocks.is_empty())
}

/// Whether there is machine code or PTX for a card.
pub fn serves(capability: u32) -> bool {
    let serves = |lazy: &Lazy| lazy.block.target.serves(capability);
    embedded().is_some_and(|embedded| embedded.blocks.iter().any(serves))
}

/// The compiler's version and the targets, for people; `None` if nothing is built in.
pub fn described() -> Option<String> {
    let embedded = embedded()?;
    let list = |machine: bool| {
        let of_kind = |lazy: &Lazy| match (lazy.block.target, machine) {
            (Target::MachineCode(c), true) | (Target::Ptx(c), false) => {
                Some(format!("{}.{}", c / 10, c % 10))
            }
            _ => None,
        };
        let all: Vec<String> = embedded.blocks.iter().filter_map(of_kind).collect();
        all.join(", ")
    };
    let [major, minor] = embedded.compiler;
    Some(format!(
        "built in for compute capability {}; PTX for {}; by NVRTC {major}.{minor}",
        list(true),
        list(false)
    ))
}
