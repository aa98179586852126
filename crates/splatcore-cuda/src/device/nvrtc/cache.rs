//! Compiled code on disk.

use super::find::nvrtc;
use crate::device::{DeviceError, Program};
use std::path::PathBuf;

/// Where compiled kernels are kept: `SPLATCORE_CACHE`, or `splatcore` in the user's cache folder.
pub fn cache_folder() -> PathBuf {
    let base = std::env::var_os("SPLATCORE_CACHE").map(PathBuf::from);
    base.or_else(|| {
        std::env::var_os("XDG_CACHE_HOME").map(|dir| PathBuf::from(dir).join("splatcore"))
    })
    .or_else(|| std::env::var_os("LOCALAPPDATA").map(|dir| PathBuf::from(dir).join("splatcore")))
    .or_else(|| std::env::home_dir().map(|home| home.join(".cache/splatcore")))
    .unwrap_or_else(|| std::env::temp_dir().join("splatcore"))
    .join("kernels")
}

/// FNV-1a over everything that decides the result, twice with different starts.
fn key(parts: &[&str]) -> String {
    let hash = |start: u64| {
        parts.iter().fold(start, |hash, part| {
            part.bytes().chain([0xff]).fold(hash, |h, byte| {
                (h ^ byte as u64).wrapping_mul(0x100_0000_01b3)
            })
        })
    };
    format!(
        "{:016x}{:016x}",
        hash(0xcbf2_9ce4_8422_2325),
        hash(0x9e37_79b9_7f4a_7c15)
    )
}

/// Compiled code from the cache, or from the compiler and then into the cache. `driver` is the
/// driver's version.
///
/// # Errors
/// If there is no compiler or it refuses. A cache that cannot be written is no error.
pub fn compiled(program: &Program, capability: u32, driver: i32) -> Result<Vec<u8>, DeviceError> {
    let nvrtc = nvrtc()?;
    let stamp = format!("{:?} sm_{capability} driver {driver}", nvrtc.version);
    let options = nvrtc.options(program, "")?.join(" ");
    let file = cache_folder().join(format!(
        "{}-{}",
        program.name(),
        key(&[&program.source(), &stamp, &options])
    ));
    if let Ok(code) = std::fs::read(&file)
        && !code.is_empty()
    {
        return Ok(code);
    }
    let code = nvrtc.compile(program, capability)?;
    let store = || -> std::io::Result<()> {
        let folder = cache_folder();
        std::fs::create_dir_all(&folder)?;
        let scratch = tempfile::NamedTempFile::new_in(&folder)?;
        std::fs::write(scratch.path(), &code)?;
        scratch.persist(&file)?;
        Ok(())
    };
    // Nothing is lost but the next start's time.
    let _ = store();
    Ok(code)
}
