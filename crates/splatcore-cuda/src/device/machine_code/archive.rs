//! A file of compiled kernels. Little-endian:
//!
//! ```text
//! 8 bytes    "SPLATKRN"
//! u32 u32    version of NVRTC, major and minor
//! blocks to the end of the file:
//!   u32      0 for machine code, 1 for PTX
//!   u32      compute capability, 90 for 9.0
//!   u64      bytes of the rest of the block: a zstd stream of programs, one after the other:
//!     u128   key
//!     u32    bytes of the code
//!     ...    code
//! ```
//!
//! A block is one stream, since the variants of a kernel file share most of their code: 427
//! programs for one card take 15.5 MB, and 1.7 MB as one stream.

use super::key::Key;
use std::collections::HashMap;
use std::io::{Error, Read};

const MAGIC: &[u8; 8] = b"SPLATKRN";
/// Bytes of a block's head.
const HEAD: usize = 16;
/// zstd's strongest level, and log2 of the bytes that a stream looks back.
const LEVEL: i32 = 22;
const WINDOW: u32 = 26;

/// The code of each program, by key.
pub type Compiled = Vec<(Key, Vec<u8>)>;

/// What code is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Cards of this compute capability, and later ones with the same major number.
    MachineCode(u32),
    /// Cards of this compute capability and later.
    Ptx(u32),
}

impl Target {
    /// Whether a card can run code for this target (CUDA C++ Programming Guide, section "Binary
    /// compatibility").
    pub fn serves(self, capability: u32) -> bool {
        match self {
            Self::MachineCode(own) => own / 10 == capability / 10 && own <= capability,
            Self::Ptx(own) => own <= capability,
        }
    }

    fn kind_and_capability(self) -> [u32; 2] {
        match self {
            Self::MachineCode(capability) => [0, capability],
            Self::Ptx(capability) => [1, capability],
        }
    }
}

/// The programs of a target, still compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// What the code is for.
    pub target: Target,
    stream: &'a [u8],
}

/// A file's content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Archive<'a> {
    /// Of the NVRTC that made all of it, major and minor.
    pub compiler: [u32; 2],
    /// In the order of the file.
    pub blocks: Vec<Block<'a>>,
}

impl<'a> Archive<'a> {
    /// Reads a file; nothing is unpacked yet.
    ///
    /// # Errors
    /// If it is no such file, or ends too early.
    pub fn read(bytes: &'a [u8]) -> Result<Self, String> {
        let mut rest = bytes
            .strip_prefix(MAGIC)
            .ok_or("this is no archive of kernels: it does not begin with SPLATKRN")?;
        let short = "the archive of kernels ends too early";
        let compiler = [take_u32(&mut rest), take_u32(&mut rest)];
        let [Some(major), Some(minor)] = compiler else {
            return Err(short.into());
        };
        let mut blocks = Vec::new();
        while let Some((head, content)) = rest.split_at_checked(HEAD) {
            let (kind, capability) = (number(&head[..4]), number(&head[4..8]));
            let target = match kind {
                0 => Target::MachineCode(capability as u32),
                1 => Target::Ptx(capability as u32),
                _ => return Err(format!("the archive of kernels has a block of kind {kind}")),
            };
            let length = usize::try_from(number(&head[8..])).map_err(|_| short)?;
            let (stream, after) = content.split_at_checked(length).ok_or(short)?;
            blocks.push(Block { target, stream });
            rest = after;
        }
        match rest.is_empty() {
            true => Ok(Self {
                compiler: [major, minor],
                blocks,
            }),
            false => Err(short.into()),
        }
    }
}

impl Block<'_> {
    /// The code of each program.
    ///
    /// # Errors
    /// If the block is damaged.
    pub fn unpack(&self) -> Result<HashMap<Key, Vec<u8>>, String> {
        let damaged = |error: Error| format!("the archive of kernels is damaged: {error}");
        let mut decoder = zstd::stream::read::Decoder::new(self.stream).map_err(damaged)?;
        decoder.window_log_max(WINDOW).map_err(damaged)?;
        let mut content = Vec::new();
        decoder.read_to_end(&mut content).map_err(damaged)?;
        let mut rest = &content[..];
        let mut codes = HashMap::new();
        while let Some((head, after)) = rest.split_at_checked(20) {
            let key = head[..16].try_into().map(u128::from_le_bytes);
            let code = after.split_at_checked(number(&head[16..]) as usize);
            let (Ok(key), Some((code, after))) = (key, code) else {
                return Err("the archive of kernels is damaged: a program is cut off".into());
            };
            codes.insert(Key(key), code.to_vec());
            rest = after;
        }
        Ok(codes)
    }
}

/// A file with the programs of each target.
///
/// # Errors
/// If zstd refuses.
pub fn write(compiler: [u32; 2], targets: &[(Target, Compiled)]) -> Result<Vec<u8>, Error> {
    let mut file = MAGIC.to_vec();
    file.extend(compiler.iter().flat_map(|number| number.to_le_bytes()));
    for (target, programs) in targets {
        let mut content = Vec::new();
        for (key, code) in programs {
            content.extend(key.0.to_le_bytes());
            content.extend((code.len() as u32).to_le_bytes());
            content.extend(code);
        }
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), LEVEL)?;
        encoder.window_log(WINDOW)?;
        std::io::Write::write_all(&mut encoder, &content)?;
        let stream = encoder.finish()?;
        let head = target.kind_and_capability();
        file.extend(head.iter().flat_map(|number| number.to_le_bytes()));
        file.extend((stream.len() as u64).to_le_bytes());
        file.extend(stream);
    }
    Ok(file)
}

/// A number of at most eight bytes, little-endian.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

fn take_u32(rest: &mut &[u8]) -> Option<u32> {
    let (head, after) = rest.split_at_checked(4)?;
    *rest = after;
    Some(number(head) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Vec<u8> {
        let programs = |seed: u8| {
            let code = |i: u8| vec![seed.wrapping_mul(i); 1000 + usize::from(i)];
            (0..5)
                .map(|i| (Key(u128::from(i) << 90), code(i)))
                .collect()
        };
        let targets = [Target::MachineCode(90), Target::Ptx(75)];
        let targets =
            targets.map(|target| (target, programs(target.kind_and_capability()[1] as u8)));
        write([12, 9], &targets).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        let file = file();
        let archive = Archive::read(&file).unwrap();
        assert_eq!(archive.compiler, [12, 9]);
        let targets: Vec<Target> = archive.blocks.iter().map(|block| block.target).collect();
        assert_eq!(targets, [Target::MachineCode(90), Target::Ptx(75)]);
        let codes = archive.blocks[1].unpack().unwrap();
        assert_eq!(codes.len(), 5);
        assert_eq!(codes[&Key(3 << 90)], vec![225; 1003]);
    }

    #[test]
    fn damage_is_an_error() {
        let file = file();
        for end in 0..file.len() {
            let unpacked = Archive::read(&file[..end]).and_then(|archive| {
                archive
                    .blocks
                    .iter()
                    .try_for_each(|block| block.unpack().map(drop))?;
                Ok(archive.blocks.len())
            });
            // What ends behind a block is a file of fewer blocks.
            assert!(unpacked.is_err() || unpacked < Ok(2), "{end}: {unpacked:?}");
        }
        let mut other = file.clone();
        other[16] = 7;
        assert!(Archive::read(&other).unwrap_err().contains("kind 7"));
        let mut other = file.clone();
        other[24..32].fill(0xff);
        assert!(Archive::read(&other).unwrap_err().contains("too early"));
        let mut other = file;
        other[40] ^= 0xff;
        let archive = Archive::read(&other).unwrap();
        assert!(archive.blocks[0].unpack().is_err());
    }

    #[test]
    fn code_serves_the_cards_that_can_run_it() {
        let serves = |target: Target| {
            [75, 80, 86, 87, 89, 90, 100, 103, 120].map(|capability| target.serves(capability))
        };
        let machine = serves(Target::MachineCode(86));
        assert_eq!(
            machine,
            [false, false, true, true, true, false, false, false, false]
        );
        assert_eq!(serves(Target::Ptx(90))[4..7], [false, true, true]);
    }
}
