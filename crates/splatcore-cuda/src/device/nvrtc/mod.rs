//! The compiler, NVRTC: found at run time wherever it may be (find.rs). What it makes is cached by
//! [`super::machine_code`].
//!
//! Opened by hand and not through cudarc, because cudarc cannot be told where to look, and a Python
//! environment's wheels (`pip install nvidia-cuda-nvrtc`) are where most users have it.

mod find;
mod library;

pub use find::{REMEDY, nvrtc};
pub use library::{CompileError, Compiled, Nvrtc};

use super::{Program, Replacements};

/// Compiles a program with other texts in the place of files for a compute capability, without a
/// card. Nothing is read from the environment or the cache.
///
/// # Errors
/// With the compiler's log; also if there is no compiler, or it does not know the capability.
pub fn compile(
    program: &Program,
    replacements: &Replacements,
    capability: u32,
) -> Result<Compiled, CompileError> {
    let nvrtc = nvrtc()?;
    let known = nvrtc.architectures();
    if !known.contains(&capability) {
        return Err(CompileError {
            message: format!(
                "NVRTC {}.{} knows no compute capability {capability}; it knows {known:?}",
                nvrtc.version.0, nvrtc.version.1
            ),
            log: String::new(),
        });
    }
    nvrtc.compile_with_log(&program.clone().replaced(replacements.clone()), capability)
}
