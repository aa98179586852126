//! Where is the library?

use super::library::NcclLibrary;
use crate::device::DeviceError;
use crate::device::find::folders;
use std::path::PathBuf;
use std::sync::OnceLock;

/// How to get NCCL.
pub const REMEDY: &str = "run `pip install nvidia-nccl-cu13` (CUDA 13) or `pip install \
                          nvidia-nccl-cu12` (CUDA 12) in an active Python environment (torch \
                          brings it along), or install NVIDIA's package libnccl2";

/// Names under which the library is searched.
const NAMES: &[&str] = &["libnccl.so.2", "libnccl.so"];

/// Folders of Python's wheels that have the library.
const WHEELS: &[&str] = &["nvidia/nccl/lib"];

/// The library, opened once for the life of the process.
///
/// # Errors
/// If it is nowhere; the message ends with how to get it.
pub fn nccl() -> Result<&'static NcclLibrary, DeviceError> {
    static OPENED: OnceLock<Result<NcclLibrary, String>> = OnceLock::new();
    OPENED
        .get_or_init(open)
        .as_ref()
        .map_err(|message| DeviceError::Failed(message.clone()))
}

fn open() -> Result<NcclLibrary, String> {
    let explicit = folders(WHEELS)
        .into_iter()
        .flat_map(|folder| NAMES.iter().map(move |name| folder.join(name)))
        .filter(|path| path.exists());
    let mut wrong = Vec::new();
    for path in explicit.chain(NAMES.iter().map(PathBuf::from)) {
        match NcclLibrary::open(&path) {
            Ok(library) => return Ok(library),
            Err(error) if path.exists() => wrong.push(format!("{}: {error}", path.display())),
            Err(_) => {}
        }
    }
    let broken = match wrong.is_empty() {
        true => String::new(),
        false => format!(" ({})", wrong.join("; ")),
    };
    Err(format!(
        "NVIDIA's library for several cards (libnccl) was not found{broken}: {REMEDY}"
    ))
}
