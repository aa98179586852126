//! Where the machine code of a program comes from: built into this program (embedded.rs, a file of
//! archive.rs), or compiled by NVRTC for the card at hand and kept on disk (cache.rs).

pub mod archive;
mod cache;
pub mod embedded;

pub use cache::cache_folder;

use super::nvrtc::nvrtc;
use super::{DeviceError, Program, options};
use std::fmt;

/// What decides the machine code of a program, but for the compiler and the card: its text and the
/// compiler's options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub u128);

impl Key {
    /// Of a program.
    ///
    /// # Errors
    /// If its text asks for options that it must not ask for.
    pub fn of(program: &Program) -> Result<Self, String> {
        let options = options::of(program)?.join(" ");
        Ok(Self::of_parts(&[&program.source(), &options]))
    }

    /// FNV-1a over texts, twice with different starts.
    pub fn of_parts(parts: &[&str]) -> Self {
        let hash = |start: u64| {
            parts.iter().fold(start, |hash, part| {
                part.bytes().chain([0xff]).fold(hash, |h, byte| {
                    (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
                })
            })
        };
        let halves = [0xcbf2_9ce4_8422_2325, 0x9e37_79b9_7f4a_7c15].map(hash);
        Self((u128::from(halves[0]) << 64) | u128::from(halves[1]))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// Where code came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Machine code that is built in.
    BuiltIn,
    /// NVRTC, now or earlier.
    Compiled,
    /// PTX that is built in; the driver makes machine code of it.
    BuiltInPtx,
}

/// What the driver is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Machine code, or PTX.
    pub bytes: Vec<u8>,
    /// Where it came from.
    pub origin: Origin,
}

/// The code of a program for a compute capability: the first of what is built in for the card,
/// what NVRTC makes, and built-in PTX. `driver` is the driver's version.
///
/// # Errors
/// If none of them can be had.
pub fn of(program: &Program, capability: u32, driver: i32) -> Result<Code, DeviceError> {
    let key = Key::of(program).map_err(DeviceError::Failed)?;
    if let Some(bytes) = embedded::machine_code(key, capability) {
        let origin = Origin::BuiltIn;
        return Ok(Code { bytes, origin });
    }
    of_compiler(program, capability, driver)
}

/// As [`of`], without machine code that is built in: for a driver that refuses it.
///
/// # Errors
/// As [`of`].
pub fn of_compiler(program: &Program, capability: u32, driver: i32) -> Result<Code, DeviceError> {
    let (bytes, origin) = match nvrtc() {
        Ok(nvrtc) => (
            cache::compiled(nvrtc, program, capability, driver)?,
            Origin::Compiled,
        ),
        Err(error) => {
            let key = Key::of(program).map_err(DeviceError::Failed)?;
            let ptx = embedded::ptx(key, capability);
            let missing = || match embedded::is_empty() {
                true => error,
                false => DeviceError::Failed(format!(
                    "the kernel {} is not built in and has to be compiled: {error}",
                    program.name()
                )),
            };
            (ptx.ok_or_else(missing)?, Origin::BuiltInPtx)
        }
    };
    Ok(Code { bytes, origin })
}

/// Whether the kernels of the default pipeline can be had for a compute capability.
///
/// # Errors
/// If nothing is built in for it and there is no NVRTC.
pub fn check(capability: u32) -> Result<(), DeviceError> {
    match embedded::serves(capability) {
        true => Ok(()),
        false => nvrtc().map(drop),
    }
}
