//! What machine code is made of. From Turing on an instruction has 128 bits; its lowest nine say
//! which it is, the next three where its operands lie. NVIDIA does not publish the numbers: those
//! below are what nvdisasm 13.5 calls the instructions of all kernels of this crate, and of probes
//! for rarer ones, for compute capability 7.5 to 12.0.

use super::elf::u16_at;
use Class::*;

/// Bytes of an instruction.
pub(super) const INSTRUCTION_BYTES: usize = 16;

/// Declares [`Class`] with its list and its names, so that each class stands once.
macro_rules! classes {
    ($($(#[$doc:meta])+ $class:ident = $name:literal,)+) => {
        /// What an instruction does, or the unit that does it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Class {
            $($(#[$doc])+ $class,)+
        }

        impl Class {
            /// All of them, in the order of their declaration.
            pub const ALL: [Self; [$($name),+].len()] = [$($class),+];

            /// For tables and files.
            pub fn name(self) -> &'static str {
                match self {
                    $($class => $name,)+
                }
            }
        }
    };
}

classes! {
    /// f32 arithmetic but for products with a sum; comparisons and selections too.
    Fp32 = "fp32",
    /// Products with a sum in f32.
    Fma = "fma",
    /// Arithmetic in halves.
    Half = "half",
    /// f64 arithmetic.
    Double = "double",
    /// Exponentials, logarithms, reciprocals, roots, sines.
    Special = "special",
    /// Between kinds of numbers, and roundings.
    Convert = "convert",
    /// Integers, bits, predicates.
    Integer = "integer",
    /// Matrix units.
    Tensor = "tensor",
    /// Between the lanes of a warp.
    Shuffle = "shuffle",
    /// From shared memory.
    SharedLoad = "shared load",
    /// To shared memory.
    SharedStore = "shared store",
    /// From global memory, to shared memory too.
    GlobalLoad = "global load",
    /// To global memory.
    GlobalStore = "global store",
    /// From a thread's stack.
    LocalLoad = "local load",
    /// To a thread's stack.
    LocalStore = "local store",
    /// From constants, parameters among them.
    ConstantLoad = "constant load",
    /// Atomic, in shared or global memory.
    Atomic = "atomic",
    /// Jumps, calls, ends, and what brings the lanes of a warp together again.
    Branch = "branch",
    /// Barriers, fences and waits.
    Barrier = "barrier",
    /// Moves between registers, nothing at all.
    Move = "move",
    /// An instruction that this table lacks.
    Unknown = "unknown",
}

type Opcodes = &'static [(u16, &'static str)];

const OPCODES: [(Class, Opcodes); 20] = [
    (
        Fp32,
        &[
            (0x008, "FSEL"),
            (0x009, "FMNMX"),
            (0x00a, "FSET"),
            (0x00b, "FSETP"),
            (0x020, "FMUL"),
            (0x021, "FADD"),
            (0x04a, "FMUL2"),
            (0x04b, "FADD2"),
            (0x051, "UFSEL"),
            (0x053, "UFSETP"),
            (0x054, "UFADD"),
            (0x056, "UFMUL"),
            (0x076, "FMNMX3"),
        ],
    ),
    (Fma, &[(0x023, "FFMA"), (0x049, "FFMA2"), (0x055, "UFFMA")]),
    (
        Half,
        &[
            (0x030, "HADD2"),
            (0x031, "HFMA2"),
            (0x032, "HMUL2"),
            (0x033, "HSET2"),
            (0x035, "HFMA2"),
            (0x040, "HMNMX2"),
            (0x047, "VHMNMX"),
        ],
    ),
    (
        Double,
        &[
            (0x028, "DMUL"),
            (0x029, "DADD"),
            (0x02a, "DSETP"),
            (0x02b, "DFMA"),
        ],
    ),
    (Special, &[(0x108, "MUFU")]),
    (
        Convert,
        &[
            (0x03e, "F2FP"),
            (0x045, "I2FP"),
            (0x05a, "UI2F"),
            (0x05c, "UF2I"),
            (0x05d, "UFRND"),
            (0x05e, "UI2FP"),
            (0x102, "FCHK"),
            (0x104, "F2F"),
            (0x105, "F2I"),
            (0x106, "I2F"),
            (0x107, "FRND"),
            (0x110, "F2F"),
            (0x111, "F2I"),
            (0x112, "I2F"),
            (0x113, "FRND"),
        ],
    ),
    (
        Integer,
        &[
            (0x007, "SEL"),
            (0x00c, "ISETP"),
            (0x00f, "VIMNMX3"),
            (0x010, "IADD3"),
            (0x011, "LEA"),
            (0x012, "LOP3"),
            (0x014, "VABSDIFF"),
            (0x015, "VABSDIFF4"),
            (0x016, "PRMT"),
            (0x017, "IMNMX"),
            (0x019, "SHF"),
            (0x01c, "PLOP3"),
            (0x024, "IMAD"),
            (0x025, "IMAD"),
            (0x026, "IDP"),
            (0x027, "IMAD"),
            (0x036, "VIADD"),
            (0x046, "VIADDMNMX"),
            (0x048, "VIMNMX"),
            (0x085, "UIMNMX"),
            (0x087, "USEL"),
            (0x08c, "UISETP"),
            (0x090, "UIADD3"),
            (0x091, "ULEA"),
            (0x092, "ULOP3"),
            (0x096, "UPRMT"),
            (0x097, "UIADD3"),
            (0x099, "USHF"),
            (0x09c, "UPLOP3"),
            (0x0a4, "UIMAD"),
            (0x0a5, "UIMAD"),
            (0x0a6, "UIMAD"),
            (0x0bd, "UFLO"),
            (0x0be, "UBREV"),
            (0x0bf, "UPOPC"),
            (0x100, "FLO"),
            (0x101, "BREV"),
            (0x109, "POPC"),
        ],
    ),
    (
        Tensor,
        &[
            (0x037, "IMMA"),
            (0x03a, "MOVM"),
            (0x03c, "HMMA"),
            (0x03d, "BMMA"),
            (0x03f, "DMMA"),
            (0x1c5, "WARPGROUP"),
            (0x1f0, "HGMMA"),
        ],
    ),
    (
        Shuffle,
        &[
            (0x006, "VOTE"),
            (0x02f, "ELECT"),
            (0x086, "VOTEU"),
            (0x0cc, "CREDUX"),
            (0x189, "SHFL"),
            (0x1a1, "MATCH"),
            (0x1c4, "REDUX"),
        ],
    ),
    (SharedLoad, &[(0x03b, "LDSM"), (0x184, "LDS")]),
    (
        SharedStore,
        &[(0x044, "STSM"), (0x188, "STS"), (0x1bd, "STAS")],
    ),
    (
        GlobalLoad,
        &[
            (0x180, "LD"),
            (0x181, "LDG"),
            (0x1ae, "LDGSTS"),
            (0x1ba, "UBLKCP"),
            (0x1bc, "UBLKPF"),
        ],
    ),
    (
        GlobalStore,
        &[(0x185, "ST"), (0x186, "STG"), (0x1bb, "UBLKRED")],
    ),
    (LocalLoad, &[(0x183, "LDL")]),
    (LocalStore, &[(0x187, "STL")]),
    (
        ConstantLoad,
        &[(0x0b9, "ULDC"), (0x182, "LDC"), (0x1ac, "LDCU")],
    ),
    (
        Atomic,
        &[
            (0x18a, "ATOM"),
            (0x18b, "ATOM"),
            (0x18c, "ATOMS"),
            (0x18d, "ATOMS"),
            (0x18e, "REDG"),
            (0x1a2, "ATOM"),
            (0x1a6, "REDG"),
            (0x1a7, "SYNCS"),
            (0x1a8, "ATOMG"),
            (0x1a9, "ATOMG"),
            (0x1b2, "SYNCS"),
        ],
    ),
    (
        Branch,
        &[
            (0x11b, "ENDCOLLECTIVE"),
            (0x141, "BSYNC"),
            (0x142, "BREAK"),
            (0x143, "CALL"),
            (0x144, "CALL"),
            (0x145, "BSSY"),
            (0x146, "YIELD"),
            (0x147, "BRA"),
            (0x148, "WARPSYNC"),
            (0x149, "BRX"),
            (0x14d, "EXIT"),
            (0x14e, "LEPC"),
            (0x150, "RET"),
            (0x155, "BMOV"),
            (0x15c, "BPT"),
        ],
    ),
    (
        Barrier,
        &[
            (0x02e, "ACQBULK"),
            (0x11a, "DEPBAR"),
            (0x11c, "B2R"),
            (0x11d, "BAR"),
            (0x15d, "NANOSLEEP"),
            (0x18f, "CCTL"),
            (0x192, "MEMBAR"),
            (0x1ab, "ERRBAR"),
            (0x1af, "LDGDEPBAR"),
            (0x1b7, "UTMACMDFLUSH"),
            (0x1c6, "FENCE"),
            (0x1c7, "UCGABAR"),
        ],
    ),
    (
        Move,
        &[
            (0x002, "MOV"),
            (0x003, "P2R"),
            (0x004, "R2P"),
            (0x005, "CS2R"),
            (0x082, "UMOV"),
            (0x0ca, "R2UR"),
            (0x118, "NOP"),
            (0x119, "S2R"),
            (0x1aa, "QSPC"),
            (0x1c2, "R2UR"),
            (0x1c3, "S2UR"),
        ],
    ),
];

/// Opcodes with another meaning: from which compute capability on.
const LATER: [(u16, u32, &str, Class); 2] = [
    (0x035, 100, "IADD", Integer),
    (0x04a, 120, "UVIMNMX", Integer),
];
const NOP: u16 = 0x118;

fn opcode(instruction: &[u8]) -> u16 {
    u16_at(instruction, 0).unwrap_or(0) & 0x1ff
}

/// nvdisasm's name of an instruction, without what follows its first dot, and its class.
pub(in crate::device) fn decode(instruction: &[u8], capability: u32) -> (&'static str, Class) {
    let opcode = opcode(instruction);
    let is_later =
        |&&(number, from, ..): &&(u16, u32, &str, Class)| number == opcode && capability >= from;
    if let Some(&(_, _, name, class)) = LATER.iter().find(is_later) {
        return (name, class);
    }
    for (class, opcodes) in OPCODES {
        if let Some((_, name)) = opcodes.iter().find(|(number, _)| *number == opcode) {
            return (name, class);
        }
    }
    ("?", Unknown)
}

/// Instructions by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mix([u32; Class::ALL.len()]);

impl Mix {
    /// Of machine code; empty instructions behind its end are left out.
    pub(super) fn of(code: &[u8], capability: u32) -> Self {
        let mut mix = Self::default();
        let instructions: Vec<&[u8]> = code.chunks_exact(INSTRUCTION_BYTES).collect();
        let is_used = |instruction: &&[u8]| opcode(instruction) != NOP;
        let end = instructions
            .iter()
            .rposition(is_used)
            .map_or(0, |last| last + 1);
        for instruction in &instructions[..end] {
            let (_, class) = decode(instruction, capability);
            mix.0[class as usize] += 1;
        }
        mix
    }

    /// Instructions of a class.
    pub fn count(&self, class: Class) -> u32 {
        self.0[class as usize]
    }

    /// All instructions.
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// The classes with their counts, in the order of [`Class::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = (Class, u32)> + '_ {
        Class::ALL.into_iter().zip(self.0)
    }
}
