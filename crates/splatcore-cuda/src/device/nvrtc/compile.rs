//! Compiling without a card.

use super::find::nvrtc;
use super::library::{CompileError, Compiled};
use crate::device::program::Program;
use crate::device::replaced::Replacements;

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
