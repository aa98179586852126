//! Where the machine code of a program comes from: built into this program (embedded.rs, a file of
//! archive.rs), or compiled by NVRTC for the card at hand and kept on disk (cache.rs).

pub mod archive;
mod cache;
pub mod embedded;
mod key;

pub use cache::cache_folder;
pub use key::Key;

use super::nvrtc::nvrtc;
use super::{DeviceError, Program};

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
    // A key takes the whole text.
    if !embedded::is_empty() {
        let key = Key::of(program).map_err(DeviceError::Failed)?;
        if let Some(bytes) = embedded::machine_code(key, capability) {
            let origin = Origin::BuiltIn;
            return Ok(Code { bytes, origin });
        }
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
