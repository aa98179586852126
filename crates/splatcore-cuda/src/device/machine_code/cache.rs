//! Code that NVRTC made, on disk.

use super::key::Key;
use crate::device::nvrtc::Nvrtc;
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

/// Compiled code from the cache, or from the compiler and then into the cache. `driver` is the
/// driver's version.
///
/// # Errors
/// If the compiler refuses. A cache that cannot be written is no error.
pub fn compiled(
    nvrtc: &Nvrtc,
    program: &Program,
    capability: u32,
    driver: i32,
) -> Result<Vec<u8>, DeviceError> {
    let stamp = format!("{:?} sm_{capability} driver {driver}", nvrtc.version);
    let options = nvrtc.options(program, "")?.join(" ");
    let key = Key::of_parts(&[&program.source(), &stamp, &options]);
    let file = cache_folder().join(format!("{}-{key}", program.name()));
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
